//! All `unsafe` of this crate: what a child does between `fork` and `exec`, and the descriptors that it was started with.

#![allow(unsafe_code, reason = "`pre_exec` and `from_raw_fd` are unsafe by their contracts; see the blocks")]

use rustix::io::{dup2, write};
use rustix::process::{Pid, Resource, Rlimit, Signal, getppid, set_parent_process_death_signal, setrlimit, setsid};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The numbers of the descriptors that a process is started with besides those of all.
const HANDED_OVER: [i32; 2] = [3, 4];

/// Makes `command` start with `pipes` as its descriptors 3 and 4. They are above 4 themselves, and while they are open 3 and 4 are
/// not free, so that no descriptor of std's own is replaced between `fork` and `exec`.
pub(crate) fn hand_over(command: &mut Command, pipes: [OwnedFd; 2]) {
    let replace = move || {
        for (from, to) in pipes.iter().zip(HANDED_OVER) {
            // SAFETY: whatever the number stood for in this child is replaced by `dup2`, and nothing here uses that; it is
            // never closed by this value.
            let mut to = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(to) });
            dup2(from, &mut to)?;
        }
        Ok(())
    };
    // SAFETY: the closure makes one system call only (dup2), which is async-signal-safe; it allocates nothing, takes no lock
    // and touches no memory but its own copies.
    unsafe {
        command.pre_exec(replace);
    }
}

/// The descriptors 3 and 4 of a process that was started with them ([`hand_over`]). They pass to all that it starts until they are
/// dropped; to be called once.
pub(crate) fn handed_over() -> [OwnedFd; 2] {
    // SAFETY: who has started this process says that it has opened them for it, and nothing else of this process knows them:
    // std gives out free numbers only.
    HANDED_OVER.map(|number| unsafe { OwnedFd::from_raw_fd(number) })
}

/// Makes `command` start in a session of its own, on `cpus` (all when none), without core dumps,
/// in the control group whose `cgroup.procs` is `group`, and with a signal of the kernel to end it when this process ends.
///
/// std changes the user before it calls this, and the kernel forgets the death signal at a change of user: so the order
/// is right.
pub(crate) fn prepare(command: &mut Command, cpus: Option<CpuSet>, group: Option<OwnedFd>) {
    let parent = rustix::process::getpid();
    // SAFETY: the closure makes system calls only (setsid, prctl, setrlimit, sched_setaffinity, write, getppid),
    // which are async-signal-safe; it allocates nothing, takes no lock and touches no memory but its own copies.
    unsafe {
        command.pre_exec(move || in_child(parent, cpus.as_ref(), group.as_ref()));
    }
}

fn in_child(parent: Pid, cpus: Option<&CpuSet>, group: Option<&OwnedFd>) -> io::Result<()> {
    setsid()?;
    if let Some(group) = group {
        // Without it the supervisor finds what it has started as where there are no groups.
        let _ = write(group, b"0");
    }
    if let Some(cpus) = cpus {
        sched_setaffinity(None, cpus)?;
    }
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    set_parent_process_death_signal(Some(Signal::TERM))?;
    // The parent may have ended before the kernel knew.
    if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
}
