//! What the tests stand on: the binary in a directory of its own, servers good and bad, bounded waits.

mod broken_server;
mod certificate;
mod program;
mod record;
mod servers;
#[path = "../../shared/mod.rs"]
mod shared;
mod target;

pub(crate) use broken_server::{BrokenServer, Peer};
pub(crate) use certificate::Certificate;
pub(crate) use program::{Ended, Program, Started, plimsoll, shell};
pub(crate) use record::{Findings, close_to, count, number, text};
pub(crate) use servers::{Kind, Logged, Nginx, SOCKET, Server, Site};
pub(crate) use shared::{Answer, Door, address, exchange, installed, list, now, serve, wait_for};
pub(crate) use target::Target;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held by every test that puts a load on something: two loads at once would measure each other.
pub(crate) fn load_alone() -> MutexGuard<'static, ()> {
    static LOAD: Mutex<()> = Mutex::new(());
    // A test that failed with it has left nothing behind.
    LOAD.lock().unwrap_or_else(PoisonError::into_inner)
}
