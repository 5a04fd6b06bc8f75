//! Worker states, sampled several times a second: running, waiting for work, or waiting for what.
//!
//! A thread of its own (`sampler`) samples who is there and what each does (`look`), by the call into the kernel it
//! waits in (`call`, `memory`), what that counts as (`classify`, or `wchan` with fewer rights) and who is at the other end
//! of a socket (`peers`). Samples are added up by pool of workers (`program`, `fold`) and fetched once a second.
//!
//! How long they ran and waited for a CPU the scheduler has accounted, and that is taken too: where all CPUs are busy, who
//! looks gets one just when a worker has gone to sleep, and never sees it run.
//!
//! Each sample is at a random moment of its tenth of a second: at even intervals it would meet an even load in the
//! same moment of each request. Ends of sockets come from `sock_diag`; duplicated descriptors would keep the server's
//! connections open.

mod call;
mod classify;
mod fold;
mod memory;
mod peers;
mod poll;
mod program;
mod sampler;
mod wchan;

pub(crate) use poll::Tree;
pub(crate) use sampler::StateSampler;

/// The clocks of those who look: this crate has none of its own.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    /// CPU time of the thread that calls it; ns.
    pub thread_cpu_ns: fn() -> u64,
    /// CPU time of the own process; ns.
    pub process_cpu_ns: fn() -> u64,
    /// Time that passes; ns.
    pub monotonic_ns: fn() -> u64,
}
