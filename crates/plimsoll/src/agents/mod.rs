//! Load from other machines: agents started through ssh, and what an agent itself does.
//!
//! The protocol is the crate `agent`; here are its streams. `ssh` starts an agent on a host (`host`) with a line for its shell
//! (`script`), `pump` carries all streams on a thread of its own, and `remote` puts one load after the other on them. `serve` is
//! an agent, whose load waits at a `gate` for the instant agreed on. Both ends are the same program (`identity`).

pub(crate) mod gate;
pub(crate) mod host;
pub(crate) mod identity;
pub(crate) mod pump;
pub(crate) mod remote;
pub(crate) mod script;
pub(crate) mod serve;
pub(crate) mod ssh;
