//! All processes of the machine, a line of `/proc/PID/stat` each.

use crate::ledger::Seen;
use crate::machine::ticks_ns;
use procfs::FromRead;
use procfs::process::Stat;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};

/// Processes that may all be looked at each second. A line of each costs 10 to 20 µs of CPU time, so that of more of
/// them the strangers are looked at only every few seconds.
const EACH_SECOND_MAX: usize = 150;

/// Longer than any file of a process or thread that is read here.
const SHORT_BYTES: usize = 4096;

/// The processes at the look before.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    known: BTreeSet<i32>,
    /// Looks to leave the strangers out of.
    resting: usize,
}

/// The processes of now.
#[derive(Debug, Default)]
pub(crate) struct Present {
    /// By number.
    pub(crate) all: BTreeMap<i32, Seen>,
    /// Those that were not there at the look before.
    pub(crate) begun: BTreeSet<i32>,
    /// Whether these are all there are.
    pub(crate) is_complete: bool,
}

impl Processes {
    /// Looks at all, or, when there are very many and not `all` are wanted, at `members` and those that are new.
    pub(crate) fn look(&mut self, members: &BTreeSet<i32>, all: bool) -> Present {
        let pids = pids();
        let is_complete = all || self.resting == 0;
        self.resting = if is_complete { pids.len() / EACH_SECOND_MAX } else { self.resting - 1 };
        let is_wanted = |pid: &&i32| is_complete || members.contains(pid) || !self.known.contains(pid);
        let all = pids.iter().filter(is_wanted).filter_map(|pid| Some((*pid, seen(*pid)?))).collect();
        // At the first look all are new to us, and none has begun since.
        let begun =
            if self.known.is_empty() { BTreeSet::new() } else { pids.difference(&self.known).copied().collect() };
        self.known = pids;
        Present { all, begun, is_complete }
    }
}

impl Present {
    /// Whether a process is new, and not only new to us: it has used all of its time since the look before.
    pub(crate) fn has_begun(&self, pid: i32) -> bool {
        self.begun.contains(&pid)
    }
}

/// The numbers of all processes.
fn pids() -> BTreeSet<i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A file of `/proc` that is short, read at once: most of the cost of looking are calls into the kernel.
pub(crate) fn short(path: &str) -> Option<Vec<u8>> {
    read_short(path).ok()
}

/// The same with the reason when it cannot be read.
pub(crate) fn read_short(path: &str) -> io::Result<Vec<u8>> {
    let mut text = vec![0; SHORT_BYTES];
    let n = File::open(path)?.read(&mut text)?;
    text.truncate(n);
    Ok(text)
}

/// A process as it is now; none when it has ended.
pub(crate) fn seen(pid: i32) -> Option<Seen> {
    let stat = Stat::from_read(&short(&format!("/proc/{pid}/stat"))?[..]).ok()?;
    Some(Seen {
        pid,
        ppid: stat.ppid,
        began: stat.starttime,
        own_ns: ticks_ns(stat.utime + stat.stime),
        waited_ns: ticks_ns((stat.cutime + stat.cstime).max(0).cast_unsigned()),
        rss_bytes: stat.rss * procfs::page_size(),
        vms_bytes: stat.vsize,
        threads: stat.num_threads.max(0).cast_unsigned(),
        name: stat.comm,
        held: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_told_apart_from_those_that_begin_later() {
        let mut processes = Processes::default();
        let own = std::process::id().cast_signed();
        let first = processes.look(&BTreeSet::new(), true);
        assert!(first.is_complete && !first.has_begun(own));
        let vms = std::fs::read_to_string("/proc/self/status").unwrap();
        let vms = vms.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap().trim_end_matches("kB").trim();
        let vms_bytes = vms.parse::<u64>().unwrap() * 1024;
        let seen = first.all[&own].vms_bytes;
        assert!(seen.abs_diff(vms_bytes) < vms_bytes / 2, "{seen} of {vms_bytes}");

        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id().cast_signed();
        let second = processes.look(&BTreeSet::new(), true);
        assert!(second.has_begun(pid) && second.all[&pid].ppid == own);
        assert!(!processes.look(&BTreeSet::new(), true).has_begun(pid));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn strangers_are_left_out_of_the_looks_after_one_at_very_many() {
        let own = std::process::id().cast_signed();
        let mut processes = Processes { resting: 1, ..Processes::default() };
        processes.known = pids();
        let rest = processes.look(&[own].into(), false);
        assert!(!rest.is_complete && rest.all.contains_key(&own) && !rest.all.contains_key(&1));
        assert!(processes.look(&BTreeSet::new(), false).is_complete, "the rest is over");
    }
}
