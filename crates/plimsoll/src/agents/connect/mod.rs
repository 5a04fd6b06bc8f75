//! Byte streams by TLS between a coordinator and agents that are not reached through ssh.
//!
//! Agents that others start connect to the coordinator (`plimsoll agent --connect`). Both ends make the same two keys and
//! certificates of the `token` (`certificate`), one for each side, and take no other from their peer: whoever has not got the token
//! can be neither. `launcher` waits for these agents, and `caller` is the agent's end.
//!
//! Agents in a cluster wait for the coordinator (`plimsoll agent --listen`, which is `waiting`). Their certificates are new, and
//! each end has been told the `fingerprint` of the other.
//!
//! `tls` makes the stream, and `gathering` lets peers in and strangers out.

pub(crate) mod caller;
pub(crate) mod certificate;
pub(crate) mod fingerprint;
mod gathering;
pub(crate) mod launcher;
mod tls;
pub(crate) mod token;
pub(crate) mod waiting;
