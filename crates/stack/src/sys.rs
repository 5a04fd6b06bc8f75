//! All `unsafe` of this crate: what a child does between `fork` and `exec`.

#![allow(unsafe_code, reason = "`pre_exec` and `from_raw_fd` are unsafe by their contracts; see the blocks")]

use rustix::io::dup2;
use rustix::process::{Pid, Resource, Rlimit, Signal, getppid, set_parent_process_death_signal, setrlimit, setsid};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Descriptors that a child reads from and writes to as its 3 and 4. Both are above 4 themselves, and while they are open 3 and
/// 4 are not free, so that no descriptor of std's own is replaced between `fork` and `exec`.
pub(crate) struct Pipes {
    pub(crate) reads: OwnedFd,
    pub(crate) writes: OwnedFd,
}

/// Makes `command` start in a session of its own, on `cpus` (all when none), with `pipes` when there are any, without core
/// dumps, and with a signal of the kernel to end it when this process ends.
///
/// std changes the user before it calls this, and the kernel forgets the death signal at a change of user: so the order
/// is right.
pub(crate) fn prepare(command: &mut Command, cpus: Option<CpuSet>, pipes: Option<Pipes>) {
    let parent = rustix::process::getpid();
    // SAFETY: the closure makes system calls only (setsid, prctl, setrlimit, sched_setaffinity, dup2, getppid), which
    // are async-signal-safe; it allocates nothing, takes no lock and touches no memory but its own copies.
    unsafe {
        command.pre_exec(move || in_child(parent, cpus.as_ref(), pipes.as_ref()));
    }
}

fn in_child(parent: Pid, cpus: Option<&CpuSet>, pipes: Option<&Pipes>) -> io::Result<()> {
    setsid()?;
    if let Some(Pipes { reads, writes }) = pipes {
        for (from, to) in [(reads, 3), (writes, 4)] {
            // SAFETY: whatever the number stood for in this child is replaced by `dup2`, and nothing here uses that; it is
            // never closed by this value.
            let mut to = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(to) });
            dup2(from, &mut to)?;
        }
    }
    if let Some(cpus) = cpus {
        sched_setaffinity(None, cpus)?;
    }
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    set_parent_process_death_signal(Some(Signal::TERM))?;
    // The parent may have ended before the kernel knew.
    if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
}
