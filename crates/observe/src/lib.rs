//! Looks at the machine, the server's processes, the own threads and the sockets between them, beside a load.
//!
//! Responsibilities: CPU of the machine (`machine`), the processes behind a port (`server`, found by `listener`, their
//! CPU time kept by `ledger`), the load threads (`generator`), sockets by state (`sockets`). It knows no HTTP and no
//! clock: [`Observer`] is told `now`. What cannot be read is none, with a reason, never zero.

mod generator;
mod ledger;
mod listener;
mod machine;
mod observer;
mod server;
mod sockets;
pub mod status;

pub use observer::Observer;
