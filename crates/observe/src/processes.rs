//! All processes of the machine, a line of `/proc/PID/stat` each.

use crate::cpu_accounting::Seen;
use crate::machine::ticks_ns;
use clock::cpu_ns_of;
use model::ProcessFigures;
use procfs::FromRead;
use procfs::process::Stat;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};

/// Processes that may all be looked at each second. A line of each costs 10 to 20 µs of CPU time, so that of more of
/// them other processes are looked at only every few seconds.
const EACH_SECOND_MAX: usize = 100;

/// Samples that have all processes however many there are: a short load has no later ones.
const COMPLETE_FIRST: u32 = 5;

/// Longer than most files of a process or thread that are read here.
const SHORT_BYTES: usize = 4096;
/// Longer than any: a process may be in 65,536 groups, of which `status` has the numbers.
const LONG_MAX_BYTES: u64 = 1 << 20;

/// The processes at the sample before.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    known: BTreeSet<i32>,
    /// Processes and threads that had ever begun on this machine, when the numbers were listed last.
    begun_ever: Option<u64>,
    /// Looks to leave other processes out of.
    resting: usize,
    /// Samples so far, up to [`COMPLETE_FIRST`].
    samples: u32,
}

/// The processes of now.
#[derive(Debug, Default)]
pub(crate) struct Present {
    /// By number.
    pub(crate) all: BTreeMap<i32, Seen>,
    /// Those that were not there at the sample before.
    pub(crate) begun: BTreeSet<i32>,
    /// True if these are all there are.
    pub(crate) is_complete: bool,
}

impl Processes {
    /// Looks at all, or, when there are very many and not `all` are wanted, at `members` and those that are new.
    /// `begun_ever` is how many processes and threads have ever begun on this machine, if that is known: while it stays the
    /// same nobody is new, and the list of all, which costs as much as 50 processes, need not be read again.
    pub(crate) fn sample(&mut self, members: &BTreeSet<i32>, all: bool, begun_ever: Option<u64>) -> Present {
        let is_listed = !all && begun_ever.is_some() && begun_ever == self.begun_ever;
        self.begun_ever = begun_ever;
        let pids = if is_listed { self.known.clone() } else { pids() };
        let is_complete = all || self.resting == 0 || self.samples < COMPLETE_FIRST;
        self.samples = (self.samples + 1).min(COMPLETE_FIRST);
        self.resting = if is_complete { pids.len() / EACH_SECOND_MAX } else { self.resting - 1 };
        let is_wanted = |pid: &&i32| is_complete || members.contains(pid) || !self.known.contains(pid);
        let all: BTreeMap<i32, Seen> =
            pids.iter().filter(is_wanted).filter_map(|pid| Some((*pid, seen(*pid)?))).collect();
        // At the first sample all are new to us, and none has begun since.
        let begun =
            if self.known.is_empty() { BTreeSet::new() } else { pids.difference(&self.known).copied().collect() };
        // Those that have ended leave the list here, as it is not read.
        self.known = if is_complete { all.keys().copied().collect() } else { pids };
        Present { all, begun, is_complete }
    }
}

impl Present {
    /// True if a process is new, and not only new to us: it has used all of its time since the sample before.
    pub(crate) fn has_begun(&self, pid: i32) -> bool {
        self.begun.contains(&pid)
    }
}

/// The numbers of all processes.
fn pids() -> BTreeSet<i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A file of `/proc` that is short, read at once: most of the cost of a sample are calls into the kernel.
pub(crate) fn short(path: &str) -> Option<Vec<u8>> {
    read_short(path).ok()
}

/// The same with the reason when it cannot be read.
pub(crate) fn read_short(path: &str) -> io::Result<Vec<u8>> {
    first_part(&mut File::open(path)?)
}

/// A file of `/proc` that is short with most processes, to its end.
pub(crate) fn long(path: &str) -> Option<Vec<u8>> {
    let mut file = File::open(path).ok()?;
    let mut text = first_part(&mut file).ok()?;
    if text.len() == SHORT_BYTES {
        file.take(LONG_MAX_BYTES).read_to_end(&mut text).ok()?;
    }
    Some(text)
}

fn first_part(file: &mut File) -> io::Result<Vec<u8>> {
    let mut text = vec![0; SHORT_BYTES];
    let n = file.read(&mut text)?;
    text.truncate(n);
    Ok(text)
}

/// What the file `stat` of a process or a thread says; none of what is no such text, on which the reader itself would panic.
pub(crate) fn stat(text: &[u8]) -> Option<Stat> {
    let text = text.trim_ascii();
    // The name may have any signs in it, parentheses too.
    let begin = text.iter().position(|byte| *byte == b'(')?;
    let end = text.iter().rposition(|byte| *byte == b')')?;
    let has_number = begin > 1 && text[0].is_ascii_digit() && text[begin - 1] == b' ';
    let has_state = text.get(end + 1) == Some(&b' ') && text.get(end + 2).is_some_and(u8::is_ascii_alphabetic);
    (has_number && has_state && begin < end).then(|| Stat::from_read(text).ok()).flatten()
}

/// A process as it is now; none when it has ended.
pub(crate) fn seen(pid: i32) -> Option<Seen> {
    let seen = seen_in(pid, &short(&format!("/proc/{pid}/stat"))?)?;
    Some(Seen { exact_ns: cpu_ns_of(pid), ..seen })
}

/// The same of the text of its file `stat`; none of what is no such text.
pub(crate) fn seen_in(pid: i32, text: &[u8]) -> Option<Seen> {
    let stat = stat(text)?;
    Some(Seen {
        pid,
        ppid: stat.ppid,
        began: stat.starttime,
        waited_ns: ticks_ns(stat.cutime.saturating_add(stat.cstime).max(0).cast_unsigned()),
        exact_ns: None,
        cpu: stat.processor.and_then(|cpu| u32::try_from(cpu).ok()).unwrap_or(0),
        name: stat.comm,
        figures: ProcessFigures {
            count: 1,
            cpu_ns: ticks_ns(stat.utime.saturating_add(stat.stime)),
            rss_bytes: stat.rss.saturating_mul(procfs::page_size()),
            vms_bytes: stat.vsize,
            threads: stat.num_threads.max(0).cast_unsigned(),
            // These are expensive to read: `resource_usage` knows them of the members of a group.
            pss_bytes: None,
            fds: None,
            fds_limit: None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_told_apart_from_those_that_begin_later() {
        let mut processes = Processes::default();
        let own = std::process::id().cast_signed();
        let first = processes.sample(&BTreeSet::new(), true, None);
        assert!(first.is_complete && !first.has_begun(own));
        let vms = std::fs::read_to_string("/proc/self/status").unwrap();
        let vms = vms.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap().trim_end_matches("kB").trim();
        let vms_bytes = vms.parse::<u64>().unwrap() * 1024;
        let seen = first.all[&own].figures.vms_bytes;
        assert!(seen.abs_diff(vms_bytes) < vms_bytes / 2, "{seen} of {vms_bytes}");

        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id().cast_signed();
        let second = processes.sample(&BTreeSet::new(), true, None);
        assert!(second.has_begun(pid) && second.all[&pid].ppid == own);
        assert!(!processes.sample(&BTreeSet::new(), true, None).has_begun(pid));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn what_is_no_line_of_a_process_is_none_and_no_panic() {
        let numbers = " 0".repeat(48);
        let read = |text: &str| stat(text.as_bytes()).map(|stat| (stat.pid, stat.comm, stat.state));
        let names = ["php", "a) R 1 (", "", ")", "\u{fffd}"];
        for name in names {
            assert_eq!(read(&format!("7 ({name}) S{numbers}\n")), Some((7, name.to_owned(), 'S')), "{name}");
        }
        for text in ["", "(", ")", "7", ")(", "(a) R", " (a) R", "7(a) R", "7 (a)", "7 (a) ", "7 (a)R", "7 (a) \u{a0}"]
        {
            assert_eq!((read(text), read(&format!("{text}{numbers}"))), (None, None), "{text:?}");
        }
        assert_eq!(read(&format!("\u{a0} (a) R{numbers}")), None);
    }

    #[test]
    fn a_status_with_very_many_groups_is_read_to_its_end() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        for text in ["Name:\tweb\n".to_owned(), format!("Groups:\t{}\nCpus_allowed_list:\t0-3\n", "4711 ".repeat(3000))]
        {
            std::fs::write(path, &text).unwrap();
            assert!(long(path) == Some(text.into_bytes()), "not to its end");
        }
    }

    #[test]
    fn the_list_is_read_anew_only_when_somebody_has_begun() {
        let (mut processes, nobody) = (Processes::default(), BTreeSet::new());
        let mut ending = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        processes.sample(&nobody, true, Some(7));
        ending.kill().unwrap();
        ending.wait().unwrap();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let (gone, pid) = (ending.id().cast_signed(), child.id().cast_signed());
        // As if that had not been counted: so the list was not read.
        let same = processes.sample(&nobody, false, Some(7));
        processes.resting = 0;
        let next = processes.sample(&nobody, false, Some(8));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!same.all.contains_key(&pid) && !same.all.contains_key(&gone), "those that have ended are not there");
        assert!(next.has_begun(pid) && next.all.contains_key(&pid) && !next.all.contains_key(&gone));
    }

    #[test]
    fn strangers_are_left_out_of_the_looks_after_one_at_very_many() {
        let own = std::process::id().cast_signed();
        let mut processes = Processes { resting: 1, samples: COMPLETE_FIRST, ..Processes::default() };
        processes.known = pids();
        let rest = processes.sample(&[own].into(), false, None);
        assert!(!rest.is_complete && rest.all.contains_key(&own) && !rest.all.contains_key(&1));
        assert!(processes.sample(&BTreeSet::new(), false, None).is_complete, "the rest is over");
    }

    #[test]
    fn a_short_load_beside_very_many_sees_all_of_them() {
        let mut processes = Processes::default();
        processes.sample(&BTreeSet::new(), true, None);
        for _ in 1..COMPLETE_FIRST {
            processes.resting = 9;
            assert!(processes.sample(&BTreeSet::new(), false, None).is_complete);
        }
        processes.resting = 9;
        assert!(!processes.sample(&BTreeSet::new(), false, None).is_complete);
    }
}
