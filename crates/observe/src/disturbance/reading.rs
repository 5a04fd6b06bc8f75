//! The figures of a moment: CPU times, and what the own threads and the server's processes had of them.

use crate::files::Files;
use crate::kernel;
use crate::machine::{Machine, ticks_ns};
use crate::processes::short;
use model::CpuTimes;
use procfs::FromRead;
use procfs::process::{Schedstat, Stat};
use std::collections::BTreeMap;

/// Processes of the server that are read each time; of more of them it is not known what others used.
const PROCESSES_MAX: usize = 64;
/// Threads of a process that are read one by one.
const THREADS_MAX: i64 = 8;
/// Quotas are looked for once in so many readings, and read each time where there is one.
const QUOTA_EVERY: u64 = 10;

/// What is read.
#[derive(Debug)]
pub(super) struct Reader {
    machine: Machine,
    /// Threads that carry the load.
    load_threads: Vec<i32>,
    /// Threads of this process that work on other CPUs for another load.
    elsewhere: Vec<i32>,
    process_cpu_ns: fn() -> u64,
    /// What was counted of each process of the server.
    processes: BTreeMap<i32, u64>,
    client_quota: QuotaReader,
    server_quota: QuotaReader,
    readings: u64,
}

/// Growth since the reading before, but for instants and quotas; ns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reading {
    /// When, since the clock of the run started.
    pub(super) at_ns: u64,
    /// By CPU.
    pub(super) cpus: Vec<CpuTimes>,
    /// CPU time of the own process, without that of another load.
    pub(super) own_ns: u64,
    /// CPU time of the server's and companions' processes; none where there are too many.
    pub(super) server_ns: Option<u64>,
    /// Of each load thread: time it was ready without a CPU, and times it was put on one.
    pub(super) load: Vec<(u64, u64)>,
    /// Time in which the reading thread itself was ready without a CPU.
    pub(super) reader_waited_ns: u64,
    pub(super) client_throttled_ns: u64,
    pub(super) server_throttled_ns: u64,
    /// CPU time that the server may use each second; none without a quota.
    pub(super) server_quota_ns: Option<u64>,
}

/// Quota and stops of a process's control group.
#[derive(Debug, Default)]
struct QuotaReader {
    quota_ns: Option<u64>,
    throttled_ns: Option<u64>,
}

impl Reader {
    pub(super) fn new(load_threads: Vec<i32>, process_cpu_ns: fn() -> u64) -> Self {
        Self {
            machine: Machine::default(),
            load_threads,
            elsewhere: Vec::new(),
            process_cpu_ns,
            processes: BTreeMap::new(),
            client_quota: QuotaReader::default(),
            server_quota: QuotaReader::default(),
            readings: 0,
        }
    }

    /// The same without the CPU time of the threads of another load.
    pub(super) fn without(self, elsewhere: Vec<i32>) -> Self {
        Self { elsewhere, ..self }
    }

    /// Reads everything, with totals in the place of growth where nothing was read before.
    pub(super) fn read(&mut self, at_ns: u64, pids: &[i32], totals: &mut Totals) -> Reading {
        let looks_for_quota = self.readings.is_multiple_of(QUOTA_EVERY);
        self.readings += 1;
        let cpus = self.machine.sample().map(|machine| machine.cpus).unwrap_or_default();
        let own_ns = grown(&mut totals.own_ns, (self.process_cpu_ns)());
        let elsewhere = self.elsewhere.iter().filter_map(|tid| schedstat(&format!("/proc/self/task/{tid}")));
        let elsewhere_ns = grown(&mut totals.elsewhere_ns, elsewhere.map(|told| told.sum_exec_runtime).sum());
        let server_ns = self.server(pids);
        let load = self.load_threads.iter().map(|tid| totals.load(*tid, schedstat(&format!("/proc/self/task/{tid}"))));
        let load = load.collect();
        let waited_ns = schedstat("/proc/thread-self").map_or(0, |told| told.run_delay);
        let files = Files::below("/");
        let client_throttled_ns = self.client_quota.read(&files, "self", looks_for_quota);
        let first = pids.first().map(i32::to_string);
        let server_throttled_ns = first.map_or(0, |pid| self.server_quota.read(&files, &pid, looks_for_quota));
        Reading {
            at_ns,
            cpus,
            own_ns: own_ns.saturating_sub(elsewhere_ns),
            server_ns,
            load,
            reader_waited_ns: grown(&mut totals.waited_ns, waited_ns),
            client_throttled_ns,
            server_throttled_ns,
            server_quota_ns: self.server_quota.quota_ns,
        }
    }

    /// What the processes used since they were read before; those that are new count from now on.
    fn server(&mut self, pids: &[i32]) -> Option<u64> {
        if pids.len() > PROCESSES_MAX {
            return None;
        }
        let mut used_ns = 0;
        let mut now = BTreeMap::new();
        for pid in pids {
            let Some(cpu_ns) = process_ns(*pid) else { continue };
            used_ns += self.processes.get(pid).map_or(0, |before| cpu_ns.saturating_sub(*before));
            now.insert(*pid, cpu_ns);
        }
        self.processes = now;
        Some(used_ns)
    }
}

/// What was read last; ns.
#[derive(Debug, Default)]
pub(super) struct Totals {
    own_ns: Option<u64>,
    elsewhere_ns: Option<u64>,
    waited_ns: Option<u64>,
    load: BTreeMap<i32, (u64, u64)>,
}

impl Totals {
    /// Growth of a load thread's wait and runs.
    fn load(&mut self, tid: i32, told: Option<Schedstat>) -> (u64, u64) {
        let Some(told) = told else { return (0, 0) };
        let now = (told.run_delay, told.pcount);
        let before = self.load.insert(tid, now).unwrap_or(now);
        (now.0.saturating_sub(before.0), now.1.saturating_sub(before.1))
    }
}

impl QuotaReader {
    /// Time in which the group of process `of` was stopped since the reading before; ns.
    fn read(&mut self, files: &Files, of: &str, looks_for_quota: bool) -> u64 {
        if !looks_for_quota && self.quota_ns.is_none() {
            return 0;
        }
        let Ok(figured) = kernel::cgroup(files, of) else { return 0 };
        self.quota_ns = figured.gauges.get("cpu_quota_ns_per_s").copied();
        let throttled_ns = figured.counters.get("throttled_ns").copied().unwrap_or(0);
        grown(&mut self.throttled_ns, throttled_ns)
    }
}

/// Growth since the value before; none the first time.
fn grown(before: &mut Option<u64>, now: u64) -> u64 {
    before.replace(now).map_or(0, |before| now.saturating_sub(before))
}

fn schedstat(of: &str) -> Option<Schedstat> {
    Schedstat::from_read(&short(&format!("{of}/schedstat"))?[..]).ok()
}

/// CPU time of all threads of a process: exact where it has few, else in steps of 10 ms.
fn process_ns(pid: i32) -> Option<u64> {
    let stat = Stat::from_read(&short(&format!("/proc/{pid}/stat"))?[..]).ok()?;
    let in_steps = ticks_ns(stat.utime + stat.stime);
    let exact = match stat.num_threads {
        1 => schedstat(&format!("/proc/{pid}")).map(|told| told.sum_exec_runtime),
        2..=THREADS_MAX => threads_ns(pid),
        _ => None,
    };
    Some(exact.unwrap_or(in_steps))
}

/// CPU time of the threads that a process has now.
fn threads_ns(pid: i32) -> Option<u64> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    threads.map(|thread| schedstat(thread.path().to_str()?).map(|told| told.sum_exec_runtime)).sum()
}

#[cfg(test)]
mod tests {
    use super::super::taken::{Places, Taking};
    use super::*;
    use model::{Cause, NS_PER_S, SLICE_NS};
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::mpsc;

    /// `/proc/stat` of two CPUs after so many slices of 100 ms, each half busy, of which `stolen` ticks of 10 ms went to others.
    fn stat(slices: u64, stolen: [u64; 2]) -> String {
        let line = |name: &str, stolen: u64| {
            let (user, idle) = (5 * slices, 5 * slices - stolen);
            format!("{name} {user} 0 0 {idle} 0 0 0 {stolen} 0 0\n")
        };
        let all = line("cpu ", stolen[0] + stolen[1]);
        let each = line("cpu0", stolen[0]) + &line("cpu1", stolen[1]);
        format!(
            "{all}{each}intr 0\nctxt 0\nbtime 1700000000\nprocesses 7\nprocs_running 1\nprocs_blocked 0\nsoftirq 0\n"
        )
    }

    /// A second more at each reading.
    fn a_second_more() -> u64 {
        static READINGS: AtomicU64 = AtomicU64::new(0);
        READINGS.fetch_add(1, Ordering::Relaxed) * NS_PER_S
    }

    #[test]
    fn what_the_threads_of_another_load_use_is_not_the_own_time() {
        let (to_us, its_number) = mpsc::channel();
        let (to_it, go) = mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            to_us.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            let mut sum = 0_u64;
            while go.recv().is_ok() {
                (0..2_000_000).for_each(|n| sum = std::hint::black_box(sum.wrapping_add(n)));
                to_us.send(0).unwrap();
            }
        });
        let mut reader = Reader::new(Vec::new(), a_second_more).without(vec![its_number.recv().unwrap()]);
        let mut totals = Totals::default();
        reader.read(0, &[], &mut totals);
        to_it.send(()).unwrap();
        its_number.recv().unwrap();
        let own_ns = reader.read(1, &[], &mut totals).own_ns;
        drop(to_it);
        other.join().unwrap();
        assert!(own_ns < NS_PER_S, "{own_ns}");
    }

    #[test]
    fn steal_in_fixtures_of_proc_stat_is_told_by_slice_and_by_who_lost_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("stat");
        let mut reader = Reader { machine: Machine::of_file(file.clone()), ..Reader::new(Vec::new(), || 0) };
        let (mut totals, mut told) = (Totals::default(), Vec::new());
        let places = Places { client: vec![1], server: vec![0], threads: 1, quota_at_begin_ns: None };
        let mut taking = Taking::new(places, 0);
        // Stolen so far: the server loses 30 ms in slice 2, the client 10 ms in slice 3 and 60 ms in slice 5.
        for (slices, stolen) in [[0, 0], [0, 0], [0, 0], [3, 0], [3, 1], [3, 1], [3, 7]].into_iter().enumerate() {
            std::fs::write(&file, stat(20 + slices as u64, stolen)).unwrap();
            // Of many processes it is not known what others used: this test's own are none of its business.
            let reading = Reading { server_ns: None, ..reader.read(slices as u64 * SLICE_NS, &[], &mut totals) };
            if slices > 0 {
                told.extend(taking.next(&reading, || 0));
            }
        }
        let told: Vec<_> =
            told.iter().map(|slice| (slice.slice, slice.taken_ns.clone(), slice.worst().is_some())).collect();
        let ms = |cause, ms: u64| [(cause, ms * 1_000_000)].into();
        let expected = [
            (2, ms(Cause::ServerSteal, 30), true),
            (3, ms(Cause::ClientSteal, 10), false),
            (5, ms(Cause::ClientSteal, 60), true),
        ];
        assert_eq!(told, expected);
    }
}
