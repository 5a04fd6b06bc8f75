//! The threads of a set of processes: time on a CPU and waiting for one, and how often they stopped.

use crate::machine::ticks_ns;
use crate::processes::{long, short, stat};
use model::{ServerThread, ThreadsUse};
use procfs::process::{Schedstat, Status};
use procfs::{FromBufRead, FromRead};
use std::collections::{BTreeMap, BTreeSet};

/// Threads that are looked at each second. Each costs 50 to 100 µs of CPU time, so that more of them are looked at
/// only every few seconds.
const EACH_SECOND_MAX: usize = 20;

/// The threads at the sample before.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    /// By thread number.
    before: BTreeMap<i32, Seen>,
    looked_ns: Option<u64>,
    /// Looks to leave out, after one at very many threads.
    resting: usize,
    /// CPUs on which those that ran may run, by the last look; by the first, all of them.
    cpus: BTreeSet<u32>,
}

/// A thread at a sample.
#[derive(Debug)]
struct Seen {
    /// Its begin, as the kernel counts it.
    began: u64,
    totals: ServerThread,
    /// First and last of the CPUs that it may run on, range by range.
    cpus: Vec<(u32, u32)>,
}

impl Threads {
    /// What the threads of `pids` used since the sample before; none at the first sample, and no thread at samples that are left
    /// out: a short load may have no other.
    pub(crate) fn sample(&mut self, pids: &[i32], now_ns: u64) -> Option<ThreadsUse> {
        if self.resting > 0 {
            self.resting -= 1;
            return Some(ThreadsUse {
                from_ns: now_ns,
                threads: Vec::new(),
                cpus: self.cpus.iter().copied().collect(),
            });
        }
        let now: BTreeMap<i32, Seen> = pids.iter().flat_map(|pid| threads(*pid)).collect();
        self.resting = now.len() / EACH_SECOND_MAX;
        let before = std::mem::replace(&mut self.before, now);
        self.cpus.clear();
        let is_first = self.looked_ns.is_none();
        let threads = self.before.values().map(|seen| {
            // A number that was given to another thread is another thread, which has used all of its time since.
            let same = before.get(&seen.totals.tid).filter(|theirs| theirs.began == seen.began);
            let used = same.map_or_else(|| seen.totals.clone(), |before| since(&before.totals, &seen.totals));
            if is_first || used.user_ns + used.system_ns > 0 {
                self.cpus.extend(seen.cpus.iter().flat_map(|(first, last)| *first..=*last));
            }
            used
        });
        let threads = threads.collect();
        let from_ns = self.looked_ns.replace(now_ns)?;
        Some(ThreadsUse { from_ns, threads, cpus: self.cpus.iter().copied().collect() })
    }

    /// Begins again: the next sample is the first.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }
}

fn since(before: &ServerThread, now: &ServerThread) -> ServerThread {
    ServerThread {
        user_ns: now.user_ns.saturating_sub(before.user_ns),
        system_ns: now.system_ns.saturating_sub(before.system_ns),
        wait_ns: now.wait_ns.zip(before.wait_ns).map(|(now, before)| now.saturating_sub(before)),
        voluntary_switches: now.voluntary_switches.saturating_sub(before.voluntary_switches),
        involuntary_switches: now.involuntary_switches.saturating_sub(before.involuntary_switches),
        ..now.clone()
    }
}

/// CPUs that some thread of `pids` may run on now; none when one of the threads does not show them.
pub(crate) fn allowed_cpus(pids: &[i32]) -> Option<BTreeSet<u32>> {
    let mut cpus = BTreeSet::new();
    for (pid, tid) in pids.iter().flat_map(|pid| tids(*pid).map(move |tid| (*pid, tid))) {
        // A thread that has ended since it was listed runs nowhere.
        let Some(text) = long(&format!("/proc/{pid}/task/{tid}/status")) else { continue };
        let ranges = status(&text)?.cpus_allowed_list?;
        cpus.extend(ranges.iter().flat_map(|(first, last)| *first..=*last));
    }
    Some(cpus)
}

/// What a file `status` says. The name in it may be any bytes: the kernel cuts it within a letter too.
pub(crate) fn status(text: &[u8]) -> Option<Status> {
    Status::from_buf_read(String::from_utf8_lossy(text).as_bytes()).ok()
}

/// The threads of a process.
fn threads(pid: i32) -> Vec<(i32, Seen)> {
    tids(pid).filter_map(|tid| Some((tid, thread(pid, tid)?))).collect()
}

/// The numbers of its threads.
fn tids(pid: i32) -> impl Iterator<Item = i32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn thread(pid: i32, tid: i32) -> Option<Seen> {
    let place = |file: &str| format!("/proc/{pid}/task/{tid}/{file}");
    let stat = stat(&short(&place("stat"))?)?;
    let status = status(&long(&place("status"))?)?;
    let wait_ns =
        short(&place("schedstat")).and_then(|text| Schedstat::from_read(&text[..]).ok()).map(|times| times.run_delay);
    let totals = ServerThread {
        pid,
        tid,
        name: stat.comm,
        user_ns: ticks_ns(stat.utime),
        system_ns: ticks_ns(stat.stime),
        wait_ns,
        voluntary_switches: status.voluntary_ctxt_switches?,
        involuntary_switches: status.nonvoluntary_ctxt_switches?,
    };
    Some(Seen { began: stat.starttime, totals, cpus: status.cpus_allowed_list.unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn a_thread_that_stops_often_and_one_that_never_stops_are_told_apart() {
        let own = [std::process::id().cast_signed()];
        let mut threads = Threads::default();
        assert_eq!(threads.sample(&own, 5), None, "there is nothing to count from yet");
        let (to_sleeper, for_sleeper) = mpsc::channel::<()>();
        let (to_us, for_us) = mpsc::channel::<()>();
        let sleeper = std::thread::Builder::new().name("obs-sleeper".into());
        let sleeper = sleeper.spawn(move || {
            // Stops of its own: one that waits for a message may be awake still, or be put off its CPU instead.
            (0..50).for_each(|_| std::thread::sleep(Duration::from_micros(200)));
            to_us.send(()).unwrap();
            let _ = for_sleeper.recv();
        });
        let sleeper = sleeper.unwrap();
        for_us.recv().unwrap();
        let used = threads.sample(&own, 9).unwrap();
        assert_eq!(used.from_ns, 5);
        let found = used.threads.iter().find(|thread| thread.name == "obs-sleeper").unwrap();
        // A machine that stands still lets the time of a sleep pass before it begins, but not of nearly all of them.
        assert!(found.voluntary_switches > 20 && found.wait_ns.is_some(), "{found:?}");
        let still = threads.sample(&own, 12).unwrap();
        let still = still.threads.iter().find(|thread| thread.name == "obs-sleeper").unwrap();
        assert!(still.voluntary_switches <= 1, "{still:?}");
        drop(to_sleeper);
        sleeper.join().unwrap();
    }

    #[test]
    fn a_thread_with_a_name_cut_in_a_letter_is_seen() {
        let own = std::process::id().cast_signed();
        let (to_named, for_named) = mpsc::channel::<()>();
        let (to_us, for_us) = mpsc::channel();
        let named = std::thread::spawn(move || {
            rustix::thread::set_name(c"obs-\xd0\xbf\xd0").unwrap();
            to_us.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            let _ = for_named.recv();
        });
        let tid = for_us.recv().unwrap();
        let seen = thread(own, tid).expect("it is there");
        assert!(allowed_cpus(&[own]).is_some_and(|cpus| !cpus.is_empty()));
        assert_eq!(seen.totals.name, "obs-п\u{fffd}");
        drop(to_named);
        named.join().unwrap();
    }

    #[test]
    fn a_process_may_run_where_any_of_its_threads_may() {
        let own = std::process::id().cast_signed();
        let all = allowed_cpus(&[own]).unwrap();
        let last = *all.last().unwrap();
        let (to_pinned, for_pinned) = mpsc::channel::<()>();
        let (to_us, for_us) = mpsc::channel();
        let pinned = std::thread::spawn(move || {
            let mut set = rustix::thread::CpuSet::new();
            set.set(last as usize);
            rustix::thread::sched_setaffinity(None, &set).unwrap();
            to_us.send(()).unwrap();
            let _ = for_pinned.recv();
        });
        for_us.recv().unwrap();
        assert_eq!(allowed_cpus(&[own]).unwrap(), all, "its other threads may run anywhere");
        assert_eq!(allowed_cpus(&[]).unwrap(), BTreeSet::new());
        drop(to_pinned);
        pinned.join().unwrap();
    }

    /// Apache and Varnish on one of two CPUs were "70 % busy": of their many threads none was looked at in a window of 2 s.
    #[test]
    fn very_many_threads_are_followed_by_rests_in_which_their_cpus_are_told() {
        let own = [std::process::id().cast_signed()];
        let mut threads = Threads::default();
        assert_eq!(threads.sample(&own, 1), None);
        threads.resting = 1;
        let cpus: Vec<u32> = allowed_cpus(&own).unwrap().into_iter().collect();
        assert_eq!(threads.sample(&own, 2), Some(ThreadsUse { from_ns: 2, threads: Vec::new(), cpus }));
        assert_eq!(threads.sample(&own, 3).unwrap().from_ns, 1, "the look before");
    }
}
