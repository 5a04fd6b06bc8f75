//! Finding and ending processes by their session and their parents, as `/proc` tells them.

use crate::state::{Mark, stat};
use procfs::process::{Stat, all_processes};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use rustix::process::{WaitId, WaitIdOptions, WaitOptions, getpid, wait, waitid, waitpid};
use std::fs::DirEntry;
use std::time::Duration;

/// Time that killed processes are given to disappear; the kernel needs less unless one hangs in a device.
pub(super) const DISAPPEAR_NS: u64 = 3_000_000_000;
const LOOK_UP: Duration = Duration::from_millis(2);
/// Rounds in which what has ended is taken in; the rest comes with the next look.
const REAP_ROUNDS: usize = 100;
/// Children that are taken in before the next are killed.
const REAP_MAX: usize = 1000;

/// Processes of the session that `leader` began, alive. Empty when its number belongs to another process by now.
pub(crate) fn members(leader: Mark) -> Vec<Mark> {
    if stat(leader.pid).is_some_and(|stat| stat.starttime != leader.start) {
        return Vec::new();
    }
    alive().filter(|stat| stat.session == leader.pid && stat.starttime >= leader.start).map(mark).collect()
}

/// Kills all of a session until none is left.
pub(crate) fn end_session(leader: Mark, now_ns: fn() -> u64) {
    until_gone(|| members(leader), now_ns);
}

/// Kills these, as far as they still are the same.
pub(super) fn end(family: &[Mark], now_ns: fn() -> u64) {
    until_gone(|| family.iter().copied().filter(|mark| mark.is_alive()).collect(), now_ns);
}

/// Kills all that descends from this process, none of whose children is waited for by anybody else. Returns the numbers of
/// those that could not be ended.
///
/// This process is the subreaper of its descendants: whoever loses its parent becomes its child, before that parent can be
/// waited for. So it is enough to kill children again and again, and "there is no child" (ECHILD, wait(2)) is certain, where a
/// search through `/proc` misses those that are born meanwhile. Until it has been waited for, a child keeps its number.
pub(super) fn end_descendants(now_ns: fn() -> u64) -> Vec<i32> {
    let deadline_ns = now_ns() + DISAPPEAR_NS;
    let mut before = Vec::new();
    while !has_no_child() {
        let children = children();
        if now_ns() > deadline_ns {
            return children;
        }
        for pid in children.iter().copied().filter_map(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
        // Those that fork have to be met before they do so again: one rests only when nobody new has come.
        if children == before {
            std::thread::sleep(LOOK_UP);
        }
        before = children;
    }
    Vec::new()
}

/// Takes in children that have ended. True if there is none any more.
fn has_no_child() -> bool {
    for _ in 0..REAP_MAX {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return false,
            Err(_) => return true,
        }
    }
    false
}

/// The children of this process, as the kernel lists them where it was built to; else by a search.
fn children() -> Vec<i32> {
    let listed = |entry: DirEntry| std::fs::read_to_string(entry.path().join("children")).ok();
    let threads: Option<Vec<String>> =
        std::fs::read_dir("/proc/self/task").ok().and_then(|threads| threads.flatten().map(listed).collect());
    match threads {
        Some(lists) => {
            lists.iter().flat_map(|list| list.split_whitespace()).filter_map(|pid| pid.parse().ok()).collect()
        }
        None => {
            let own = getpid().as_raw_nonzero().get();
            alive().filter(|stat| stat.ppid == own).map(|stat| stat.pid).collect()
        }
    }
}

/// Children, their children, and so on.
pub(super) fn descendants(of: i32) -> Vec<Mark> {
    let all: Vec<Stat> = alive().collect();
    let mut found: Vec<Mark> = Vec::new();
    let mut parents = vec![of];
    while let Some(parent) = parents.pop() {
        for stat in all.iter().filter(|stat| stat.ppid == parent) {
            parents.push(stat.pid);
            found.push(Mark { pid: stat.pid, start: stat.starttime });
        }
    }
    found
}

/// Takes in what has ended of those that became ours when their parents ended; not `children`, who are waited for by
/// themselves.
pub(super) fn reap(children: &[i32]) {
    for _ in 0..REAP_ROUNDS {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let Ok(Some(_)) = waitid(WaitId::All, options) else { return };
        let zombies = all_processes().into_iter().flatten().flatten();
        let own = getpid().as_raw_nonzero().get();
        let strays: Vec<i32> = zombies
            .filter_map(|process| process.stat().ok())
            .filter(|stat| stat.ppid == own && stat.state == 'Z')
            .map(|stat| stat.pid)
            .filter(|pid| !children.contains(pid))
            .collect();
        if strays.is_empty() {
            return;
        }
        for pid in strays.into_iter().filter_map(Pid::from_raw) {
            let _ = waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
}

fn until_gone(find: impl Fn() -> Vec<Mark>, now_ns: fn() -> u64) {
    let deadline = now_ns() + DISAPPEAR_NS;
    loop {
        let found = find();
        if found.is_empty() || now_ns() > deadline {
            return;
        }
        for mark in found {
            send(mark, Signal::KILL);
            if let Some(pid) = Pid::from_raw(mark.pid) {
                // It may be another's child.
                let _ = waitpid(Some(pid), WaitOptions::NOHANG);
            }
        }
        std::thread::sleep(LOOK_UP);
    }
}

/// Sends a signal to a process, and to no other that has taken its number in the meantime.
pub(crate) fn send(mark: Mark, signal: Signal) {
    let Some(pid) = Pid::from_raw(mark.pid) else { return };
    // It may end by itself at any moment.
    let _ = match pidfd_open(pid, PidfdFlags::empty()) {
        // A descriptor stands for one process for good: for ours, if that still has the number.
        Ok(process) if mark.is_alive() => pidfd_send_signal(process, signal),
        // Before Linux 5.3, or forbidden here.
        Err(Errno::NOSYS | Errno::PERM) if mark.is_alive() => kill_process(pid, signal),
        Ok(_) => Ok(()),
        Err(error) => Err(error),
    };
}

/// All processes that are no zombies.
fn alive() -> impl Iterator<Item = Stat> {
    let all = all_processes().into_iter().flatten().flatten();
    all.filter_map(|process| process.stat().ok()).filter(|stat| stat.state != 'Z' && stat.state != 'X')
}

fn mark(stat: Stat) -> Mark {
    Mark { pid: stat.pid, start: stat.starttime }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_that_has_taken_the_number_of_another_is_left_alone() {
        let mut sleep = Command::new("sleep").arg("600").stdout(Stdio::null()).spawn().expect("it starts");
        let mark = Mark::of(sleep.id().cast_signed()).expect("it runs");
        send(Mark { start: mark.start + 1, ..mark }, Signal::KILL);
        assert!(mark.is_alive() && sleep.try_wait().expect("our own child").is_none());
        send(mark, Signal::KILL);
        assert!(!sleep.wait().expect("our own child").success());
        // Its number is free now.
        send(mark, Signal::KILL);
    }
}
