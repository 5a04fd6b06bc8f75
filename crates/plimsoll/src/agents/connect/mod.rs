//! Agents that connect to the coordinator (`plimsoll agent --connect`): a byte stream by TLS between two ends that know one token.
//!
//! Both ends make the same two keys and certificates of the `token` (`certificate`), one for each side, and take no other from
//! their peer: whoever has not got the token can be neither. `tls` makes the stream, `gathering` lets agents in and strangers
//! out, `launcher` waits for them, and `caller` is the agent's end.

pub(crate) mod caller;
mod certificate;
mod gathering;
pub(crate) mod launcher;
mod tls;
pub(crate) mod token;
