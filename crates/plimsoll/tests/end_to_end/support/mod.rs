//! What the tests stand on: the binary in a directory of its own, servers good and bad, bounded waits.

mod broken_server;
mod certificate;
mod closed_port;
mod counting_server;
mod program;
mod record;
mod servers;
#[path = "../../shared/mod.rs"]
mod shared;
mod target;

pub(crate) use self::target::Target;
pub(crate) use broken_server::{BrokenServer, Peer};
pub(crate) use certificate::Certificate;
pub(crate) use closed_port::ClosedPort;
pub(crate) use counting_server::CountingServer;
pub(crate) use lab::decide::account::Watched;
pub(crate) use lab::decide::{Decider, decide, decide_watched, skip};
pub(crate) use program::{Ended, Program, Started, mounting, plimsoll, shell};
pub(crate) use record::{Findings, close_to, count, number, text};
pub(crate) use servers::{Kind, Logged, Nginx, SOCKET, Server, Site};
pub(crate) use shared::{Answer, Endpoint, Stacks, address, exchange, installed, list, now, serve, wait_for};
