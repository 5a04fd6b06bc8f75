//! Looks at the machine, the server's processes, the own threads and the sockets between them, beside a load.
//!
//! Responsibilities: CPU of the machine (`machine`), a line of every process (`processes`), the processes behind a port
//! (`server`, found by `listener` and `holders`) and those that were asked for (`wanted`, `companion`, `control_group`;
//! `choice` looks beforehand whether they are there), each a `group` whose CPU time is kept by `ledger`, with its `threads` and `holdings`; all `others`; the load threads (`generator`), sockets by state
//! (`sockets`), and what the kernel counts (`kernel`, a table of parts). What machine and server are is read once
//! (`fingerprint`, a table of sections); apart from the looks, samples say where CPU time goes ([`profile`]) and what the
//! workers wait for (`states`). It knows no HTTP and no clock: [`Observer`] is told `now`. What cannot be read is none, with a reason, never zero.

mod choice;
mod companion;
mod control_group;
mod disturbance;
mod files;
mod fingerprint;
mod generator;
mod group;
mod holders;
mod holdings;
mod kernel;
mod ledger;
mod listener;
mod machine;
mod observer;
mod others;
mod processes;
pub mod profile;
mod server;
mod sockets;
mod states;
pub mod status;
mod threads;
mod wanted;

pub use choice::choose;
pub use disturbance::{LoadClock, Publish};
pub use fingerprint::{TakenFingerprint, fingerprint, sha256};
pub use observer::Observer;
pub use states::Clocks;
pub use wanted::{Parent, ParseWantedError, Unmet, Wanted};
