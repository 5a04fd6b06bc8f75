//! How long a server may take to say something of itself.

use std::time::Duration;

/// One that takes longer says nothing this time.
pub(super) const TIMEOUT: Duration = Duration::from_millis(900);

/// That it took longer.
pub(super) fn late() -> String {
    format!("it does not answer within {} ms", TIMEOUT.as_millis())
}
