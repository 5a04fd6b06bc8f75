//! Looks at the machine, the server's processes, the own threads and the sockets between them, beside a load.
//!
//! Responsibilities: CPU of the machine (`machine`), the processes behind a port (`server`, found by `listener`, their
//! CPU time kept by `ledger`), the load threads (`generator`), sockets by state (`sockets`), and apart from these looks
//! samples of where CPU time goes ([`profile`]). It knows no HTTP and no
//! clock: [`Observer`] is told `now`. What cannot be read is none, with a reason, never zero.

mod generator;
mod ledger;
mod listener;
mod machine;
mod observer;
pub mod profile;
mod server;
mod sockets;

pub use observer::Observer;
