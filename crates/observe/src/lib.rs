//! Sampler of the machine, the server's processes, the load threads and the sockets between them, beside a load.
//!
//! Responsibilities: CPU of the machine (`machine`), a line of every process (`processes`), the processes behind a port
//! (`server`, found by `listener` and `socket_owners`, or `identified`) and selected ones (`selector`, `companion`, `control_group`; `choice`
//! checks beforehand whether they are there), those behind the server (`backends`), each a `group` whose CPU time is kept by `cpu_accounting`, with its `threads`
//! and `resource_usage`; all `others`; the load threads (`generator`), sockets by state (`sockets`), and what the kernel
//! counts (`kernel`, a table of parts). What machine and server are is read once (`fingerprint`, a table of sections); apart
//! from these, stack samples say where CPU time goes ([`profile`]) and what the workers wait for (`states`). It knows no HTTP
//! and no clock: [`Observer`] is told `now`. What cannot be read is none, with a reason, never zero.

mod backends;
mod choice;
mod companion;
mod control_group;
mod cpu_accounting;
mod disturbance;
mod files;
mod fingerprint;
mod generator;
mod group;
mod identified;
mod kernel;
mod listener;
mod listening;
mod machine;
mod netlink;
mod observer;
mod others;
mod processes;
pub mod profile;
mod resource_usage;
mod selector;
mod server;
#[cfg(test)]
mod silent_port;
mod socket_owners;
mod sockets;
mod states;
pub mod status;
pub mod testing;
mod threads;

pub use backends::Backends;
pub use choice::select;
pub use disturbance::{LoadClock, Publish};
pub use fingerprint::{TakenFingerprint, fingerprint, is_own_address, link_to, sha256};
pub use observer::Observer;
pub use selector::{Parent, ParseSelectorError, ProcessSelector, SelectError};
pub use states::Clocks;
