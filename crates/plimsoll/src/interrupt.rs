//! ^C, or the terminal going away: the first ends the load and keeps what was measured, the second ends the program.

use crate::exit::{CommandError, Exit};
use procfs::process::Process;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag that SIGINT, SIGTERM and SIGHUP set. The last is left alone for whoever wants it ignored: `nohup` is for runs that
/// outlive their terminal.
pub(crate) fn watch() -> Result<Arc<AtomicBool>, CommandError> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| *signal != SIGHUP || !is_ignored(SIGHUP)) {
        // Registered first, so that it sees the flag only from the second signal on.
        flag::register_conditional_shutdown(signal, i32::from(Exit::Interrupted.code()), Arc::clone(&stop))
            .and_then(|_| flag::register(signal, Arc::clone(&stop)))
            .map_err(|error| CommandError::usage(format!("cannot watch for signal {signal}: {error}")))?;
    }
    Ok(stop)
}

/// True if the program was started with the signal ignored; false where the kernel does not tell.
fn is_ignored(signal: i32) -> bool {
    let status = Process::myself().and_then(|own| own.status());
    status.is_ok_and(|status| status.sigign & (1 << (signal - 1)) != 0)
}
