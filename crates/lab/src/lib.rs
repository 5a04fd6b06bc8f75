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
mod child;
pub mod comparisons;
pub mod containers;
pub mod decide;
pub mod examined;
pub mod first_verdict;
pub mod hosts;
pub mod injections;
mod install;
pub mod kubernetes;
pub mod ladder;
mod loopback;
pub mod manners;
mod markdown;
pub mod misleading;
pub mod noise;
pub mod null_server;
pub mod outputs;
pub mod peers;
mod progress;
mod record;
pub mod sampler;
pub mod samples;
pub mod servers;
#[cfg(test)]
mod testing;
mod usage;
pub mod zoo;

use anyhow::Context;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::path::PathBuf;
use xtask::workspace;

/// Lets this program and all that it starts have as many files open as the hard limit says, which not even root may raise
/// everywhere; returns how many that are, none if there is no limit.
fn raise_file_limit() -> anyhow::Result<Option<u64>> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).context("raising the limit of open files")?;
    Ok(maximum)
}

/// True if a thing of this name is wanted: one of `only`, or any where nothing is in it.
fn is_wanted(only: &[String], name: &str) -> bool {
    only.is_empty() || only.iter().any(|one| one == name)
}

/// Makes the debug build of plimsoll, for what is not about speed, and says where it is.
fn build_debug_plimsoll() -> anyhow::Result<PathBuf> {
    workspace::run(&mut workspace::cargo(&["build", "--quiet", "--package", "plimsoll"]))?;
    Ok(workspace::target().join("debug/plimsoll"))
}

/// CPUs of this machine and its load, for a page.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    format!("{cores} cores with a load average of {} at the end", load.split_whitespace().next().unwrap_or("?"))
}
