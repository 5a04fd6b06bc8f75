//! Transport trait of a worker core: connections that carry bytes.

use model::{FailureKind, FailurePhase};

/// Carries bytes for connections numbered from 0. Implemented by real sockets and by the virtual-time rig.
pub(crate) trait Transport {
    /// Begins to open connection `conn`, which is closed now.
    ///
    /// # Errors
    /// Why it cannot even begin.
    fn connect(&mut self, conn: usize) -> Result<Opening, FailureKind>;

    /// Hands `bytes` to an open connection; returns how many were taken, 0 when none can be taken now.
    ///
    /// # Errors
    /// Why the connection is broken; the caller then closes it, or reads what came before that.
    fn send(&mut self, conn: usize, bytes: &[u8]) -> Result<usize, FailureKind>;

    /// How far opening `conn` has come, for a failure that ends it.
    fn opening_phase(&self, _conn: usize) -> FailurePhase {
        FailurePhase::Connect
    }

    /// Closes connection `conn`; nothing that was on its way may be delivered afterwards.
    fn close(&mut self, conn: usize);
}

/// How far opening got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// Open; bytes may be sent.
    Done,
    /// Under way; the core is told when it is done.
    Pending,
}
