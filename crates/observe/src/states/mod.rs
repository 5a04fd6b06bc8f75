//! What the workers of a server do, several times a second: running, waiting for work, or waiting for what.
//!
//! A thread of its own looks (`sampler`): at who is there and what each does (`look`), by the call into the kernel it
//! waits in (`call`, `memory`), what that counts as (`classify`, or `wchan` with fewer rights) and who is at the other end
//! of a socket (`peers`). Samples are added up by pool of workers (`program`, `fold`) and fetched once a second.

mod call;
mod classify;
mod fold;
mod look;
mod memory;
mod peers;
mod program;
mod sampler;
mod wchan;

pub(crate) use look::Tree;
pub(crate) use sampler::StateSampler;
