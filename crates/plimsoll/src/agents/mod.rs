//! Load from other machines, and the server's machine observed, or a server started there, by agents that are started there.
//!
//! The protocol is the crate `agent`; here are its streams. A `launcher` gives one for each agent: `ssh_launcher` starts agents
//! on hosts (`host`) through `ssh` with a line for their shell (`script`), `connect` waits for those that others start, such as
//! `slurm`, and `kubernetes` reaches those in the pods of a Job. `pump` carries all streams of a `protocol` on a thread of its
//! own, and `remote` puts one load after the other on them, from where a `source` says. Two agents may
//! probe the `bandwidth` between them. Both ends are the same program (`identity`); what an agent does is in `agent_side`.

pub(crate) mod bandwidth;
pub(crate) mod connect;
pub(crate) mod host;
pub(crate) mod identity;
pub(crate) mod kubernetes;
pub(crate) mod launcher;
pub(crate) mod protocol;
pub(crate) mod pump;
pub(crate) mod remote;
mod said;
pub(crate) mod script;
pub(crate) mod server_place;
pub(crate) mod slurm;
pub(crate) mod source;
pub(crate) mod ssh;
pub(crate) mod ssh_launcher;
