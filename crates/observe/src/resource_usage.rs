//! Resource usage that is expensive to read: memory with shared pages in parts, and descriptors. At each sample some of
//! the processes are asked for descriptors, and fewer for memory: each once in ten samples, or more seldom when there are very
//! many.

use model::ProcessFigures;
use procfs::process::{LimitValue, Process};
use std::collections::BTreeMap;

/// Looks in which each process is asked for its memory once.
const LOOKS_FOR_ALL: usize = 10;
/// Processes that are asked in one sample.
const ASKED_MAX: usize = 4;

/// What each process held when it was asked last.
#[derive(Debug, Default)]
pub(crate) struct ResourceUsage {
    /// By number. Only the figures that are expensive to read are known.
    held: BTreeMap<i32, ProcessFigures>,
    /// The process asked last for its memory, and that for its descriptors.
    weighed: i32,
    counted: i32,
    looks: usize,
}

impl ResourceUsage {
    /// Asks those whose turn it is, and those that have never been asked.
    pub(crate) fn sample(&mut self, pids: &[i32]) {
        self.held.retain(|pid, _| pids.contains(pid));
        let due = |looks: usize| looks * pids.len() / LOOKS_FOR_ALL;
        let asked = (due(self.looks + 1) - due(self.looks)).min(ASKED_MAX);
        self.looks = (self.looks + 1) % LOOKS_FOR_ALL;
        let new: Vec<i32> = pids.iter().filter(|pid| !self.held.contains_key(*pid)).take(ASKED_MAX).copied().collect();
        for pid in new.iter().copied().chain(turn(pids, &mut self.weighed, asked)) {
            weigh(self.held.entry(pid).or_default(), pid);
        }
        for pid in new.iter().copied().chain(turn(pids, &mut self.counted, ASKED_MAX)) {
            count(self.held.entry(pid).or_default(), pid);
        }
    }

    /// Asks all of them.
    pub(crate) fn sample_all(&mut self, pids: &[i32]) {
        self.held = pids.iter().map(|pid| (*pid, held(*pid))).collect();
    }

    /// The figures of a process with those that it was asked for.
    pub(crate) fn complete(&self, pid: i32, figures: &ProcessFigures) -> ProcessFigures {
        self.held.get(&pid).map_or(*figures, |held| figures.or(held))
    }
}

/// The next so many after `last`, each at most once; `last` is then the last of them.
fn turn(pids: &[i32], last: &mut i32, asked: usize) -> Vec<i32> {
    let after = pids.iter().filter(|pid| **pid > *last);
    let turn: Vec<i32> = after.chain(pids).take(asked.min(pids.len())).copied().collect();
    *last = turn.last().copied().unwrap_or(*last);
    turn
}

fn held(pid: i32) -> ProcessFigures {
    let mut held = ProcessFigures::default();
    weigh(&mut held, pid);
    count(&mut held, pid);
    held
}

/// Takes the memory, which the kernel adds up page by page.
fn weigh(held: &mut ProcessFigures, pid: i32) {
    let rollup = Process::new(pid).and_then(|process| process.smaps_rollup()).ok();
    let all = rollup.and_then(|rollup| rollup.memory_map_rollup.into_iter().next());
    held.pss_bytes = all.and_then(|all| all.extension.map.get("Pss").copied());
}

/// Takes the descriptors, which kernels before 6.2 list one by one.
fn count(held: &mut ProcessFigures, pid: i32) {
    let process = Process::new(pid).ok();
    held.fds = process.as_ref().and_then(|process| process.fd_count().ok()).map(|n| n as u64);
    let limits = process.and_then(|process| process.limits().ok());
    held.fds_limit = limits.map(|limits| match limits.max_open_files.soft_limit {
        LimitValue::Unlimited => u64::MAX,
        LimitValue::Value(n) => n,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

    /// Says that it runs; opens files, and says so, at each line that it reads. What it holds no other test changes.
    const OPENS: &str = "echo; while read -r _; do exec 4</dev/null 5</dev/null 6</dev/null 7</dev/null; echo; done";
    /// How many that are.
    const FILES: u64 = 4;

    struct Opener(Child, ChildStdin, BufReader<ChildStdout>);

    impl Opener {
        fn start() -> Self {
            let mut command = Command::new("sh");
            let mut child = command.args(["-c", OPENS]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
            let mut output = BufReader::new(output);
            // A program that is just being loaded has its libraries open.
            output.read_line(&mut String::new()).unwrap();
            Self(child, input, output)
        }

        fn pid(&self) -> i32 {
            self.0.id().cast_signed()
        }

        fn open(&mut self) {
            self.1.write_all(b"\n").unwrap();
            self.2.read_line(&mut String::new()).unwrap();
        }
    }

    impl Drop for Opener {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn what_a_process_holds_is_what_its_files_say() {
        let mut opener = Opener::start();
        let before = held(opener.pid()).fds.unwrap();
        opener.open();
        let after = held(opener.pid());
        assert_eq!(after.fds, Some(before + FILES));
        let rollup = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", opener.pid())).unwrap();
        let pss = rollup.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap();
        let pss_bytes = 1024 * pss.trim().trim_end_matches(" kB").parse::<u64>().unwrap();
        let told = after.pss_bytes.unwrap();
        assert!(told.abs_diff(pss_bytes) < pss_bytes / 2, "{told} of {pss_bytes}");
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        assert_eq!(after.fds_limit, Some(limit.unwrap_or(u64::MAX)));
        assert_eq!(held(i32::MAX), ProcessFigures::default());
    }

    #[test]
    fn each_of_many_is_asked_in_its_turn() {
        let pids: Vec<i32> = (i32::MAX - 100..i32::MAX).collect();
        let mut resource_usage = ResourceUsage::default();
        for looks in 1..=25 {
            resource_usage.sample(&pids);
            assert!(resource_usage.held.len() <= looks * ASKED_MAX * 2, "{} after {looks}", resource_usage.held.len());
        }
        assert_eq!(resource_usage.held.len(), 100);
        resource_usage.sample(&pids[..1]);
        assert_eq!(resource_usage.held.len(), 1, "those that have ended are forgotten");
    }

    #[test]
    fn descriptors_of_a_server_that_fills_up_within_seconds_are_seen() {
        let mut opener = Opener::start();
        let pids = [opener.pid()];
        let fds = |usage: &ResourceUsage| usage.complete(pids[0], &ProcessFigures::default()).fds.unwrap();
        let mut resource_usage = ResourceUsage::default();
        resource_usage.sample_all(&pids);
        let before = fds(&resource_usage);
        opener.open();
        resource_usage.sample(&pids);
        assert_eq!(fds(&resource_usage), before + FILES);
    }
}
