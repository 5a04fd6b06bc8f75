//! The one `unsafe` of this crate: what a child does between `fork` and `exec`.

#![allow(unsafe_code, reason = "`pre_exec` is unsafe by its contract; see the block")]

use rustix::process::{Pid, Resource, Rlimit, Signal, getppid, set_parent_process_death_signal, setrlimit, setsid};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes `command` start in a session of its own, on `cpus` (all when none), without core dumps, and with a signal of
/// the kernel to end it when this process ends.
///
/// std changes the user before it calls this, and the kernel forgets the death signal at a change of user: so the order
/// is right.
pub(crate) fn prepare(command: &mut Command, cpus: Option<CpuSet>) {
    let parent = rustix::process::getpid();
    // SAFETY: the closure makes system calls only (setsid, prctl, setrlimit, sched_setaffinity, getppid), which are
    // async-signal-safe; it allocates nothing, takes no lock and touches no memory but its own copies.
    unsafe {
        command.pre_exec(move || in_child(parent, cpus.as_ref()));
    }
}

fn in_child(parent: Pid, cpus: Option<&CpuSet>) -> io::Result<()> {
    setsid()?;
    if let Some(cpus) = cpus {
        sched_setaffinity(None, cpus)?;
    }
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    set_parent_process_death_signal(Some(Signal::TERM))?;
    // The parent may have ended before the kernel knew.
    if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
}
