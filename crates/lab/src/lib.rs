//! Programs that measure plimsoll itself: beside other load generators, beside noise, against faults that are made, the
//! cost of its own sampling, and its statistics in simulation. Each prints a table, and can write its page of `docs/`.
//!
//! Measuring tests use its faults, its killed servers, and its judgement of what noise can change as well.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "these programs talk to a developer's terminal")]
#![expect(clippy::disallowed_methods, reason = "they time whole processes and may not depend on engine's clock")]

pub mod aa;
mod accepting;
pub mod attacks;
pub mod calibrate;
pub mod chaos;
pub mod containers;
pub mod decide;
pub mod examined;
pub mod first_verdict;
pub mod hosts;
pub mod injections;
mod install;
pub mod kubernetes;
pub mod ladder;
pub mod manners;
mod markdown;
pub mod noise;
pub mod null_server;
pub mod outputs;
pub mod peers;
mod progress;
pub mod sampler;
pub mod servers;
#[cfg(test)]
mod testing;
pub mod zoo;

/// CPUs of this machine and its load, for a page.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    format!("{cores} cores with a load average of {} at the end", load.split_whitespace().next().unwrap_or("?"))
}
