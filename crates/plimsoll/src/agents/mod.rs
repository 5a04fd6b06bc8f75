//! Load from other machines, and the server's machine observed: agents started through ssh, and what an agent itself does.
//!
//! The protocol is the crate `agent`; here are its streams. `ssh` starts an agent on a host (`host`) with a line for its shell
//! (`script`), `pump` carries all streams of a `protocol` on a thread of its own, and `remote` puts one load after the other on them. `serve` is
//! an agent, whose load waits at a `gate` for the instant agreed on, or who observes a server (`observing`); two agents may
//! probe the `bandwidth` between them. Both ends are the same program (`identity`).

pub(crate) mod bandwidth;
pub(crate) mod gate;
pub(crate) mod host;
pub(crate) mod identity;
pub(crate) mod observing;
pub(crate) mod protocol;
pub(crate) mod pump;
pub(crate) mod remote;
pub(crate) mod script;
pub(crate) mod serve;
pub(crate) mod ssh;
