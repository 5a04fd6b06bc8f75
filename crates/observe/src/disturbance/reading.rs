//! The figures of a moment: CPU times, and what the own threads and the server's processes had of them.

use crate::files::Files;
use crate::kernel::CpuGroup;
use crate::machine::{Machine, ticks_ns};
use crate::processes::{short, stat};
use clock::cpu_ns_of;
use model::MachineCpu;
use procfs::FromRead;
use procfs::process::Schedstat;
use std::collections::{BTreeMap, BTreeSet};

/// Processes of the server that are read each time; of more of them it is not known what others used.
const PROCESSES_MAX: usize = 64;
/// Threads of a process that are read one by one.
const THREADS_MAX: i64 = 8;
/// Quotas are looked for once in so many readings, and read each time where there is one.
const QUOTA_EVERY: u64 = 10;

/// The processes that are no strangers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    /// Of the server and of companions.
    pub(crate) pids: Vec<i32>,
    /// One of the server's; none while it has none.
    pub(crate) server: Option<i32>,
    /// Those of them whose descendants are strangers all the same.
    pub(crate) alone: BTreeSet<i32>,
    /// Processes of which it is not shown whether they belong to them: no strangers either.
    pub(crate) undecided: BTreeSet<i32>,
}

/// What is read.
#[derive(Debug)]
pub(super) struct Reader {
    files: Files,
    machine: Machine,
    /// Threads that carry the load.
    load_threads: Vec<i32>,
    /// Threads of this process that work on other CPUs for another load.
    elsewhere: Vec<i32>,
    process_cpu_ns: fn() -> u64,
    /// What was counted of each process of the server.
    processes: BTreeMap<i32, u64>,
    /// For how long each thread of theirs that is read has waited for a CPU in all; ns.
    waited_ns: BTreeMap<(i32, i32), u64>,
    client_quota: QuotaReader,
    server_quota: QuotaReader,
    readings: u64,
}

/// Growth since the reading before, but for instants and quotas; ns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reading {
    /// When, since the clock of the run started.
    pub(super) at_ns: u64,
    pub(super) machine: MachineCpu,
    /// CPU time of the own process, without that of another load.
    pub(super) own_ns: u64,
    /// CPU time of the server's and companions' processes; none where there are too many.
    pub(super) server_ns: Option<u64>,
    /// For how long one of their threads was ready without a CPU: of those that are read one by one the one that waited most.
    pub(super) server_waited_ns: u64,
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
    seen: Option<Throttled>,
}

/// For how long a control group has been stopped.
#[derive(Debug)]
struct Throttled {
    /// Its directory.
    place: String,
    /// In all.
    ns: u64,
    /// When that was seen first; ns.
    since_ns: u64,
}

impl Reader {
    pub(super) fn new(load_threads: Vec<i32>, process_cpu_ns: fn() -> u64) -> Self {
        Self {
            files: Files::default(),
            machine: Machine::default(),
            load_threads,
            elsewhere: Vec::new(),
            process_cpu_ns,
            processes: BTreeMap::new(),
            waited_ns: BTreeMap::new(),
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
    pub(super) fn read(&mut self, at_ns: u64, watched: &Watched, totals: &mut Totals) -> Reading {
        let looks_for_quota = self.readings.is_multiple_of(QUOTA_EVERY);
        self.readings += 1;
        let machine = self.machine.sample().unwrap_or_default();
        let own_ns = grown(&mut totals.own_ns, (self.process_cpu_ns)());
        let elsewhere = self.elsewhere.iter().filter_map(|tid| schedstat(&format!("/proc/self/task/{tid}")));
        let elsewhere_ns = grown(&mut totals.elsewhere_ns, elsewhere.map(|told| told.sum_exec_runtime).sum());
        let (server_ns, server_waited_ns) = self.server(&watched.pids);
        let load = self.load_threads.iter().map(|tid| totals.load(*tid, schedstat(&format!("/proc/self/task/{tid}"))));
        let load = load.collect();
        let waited_ns = schedstat("/proc/thread-self").map_or(0, |told| told.run_delay);
        let client_throttled_ns = self.client_quota.read(&self.files, "self", looks_for_quota, at_ns);
        // A companion has quotas of its own.
        let server = watched.server.map(|pid| pid.to_string());
        let server_throttled_ns =
            server.map_or(0, |pid| self.server_quota.read(&self.files, &pid, looks_for_quota, at_ns));
        Reading {
            at_ns,
            machine,
            own_ns: own_ns.saturating_sub(elsewhere_ns),
            server_ns,
            server_waited_ns,
            load,
            reader_waited_ns: grown(&mut totals.waited_ns, waited_ns),
            client_throttled_ns,
            server_throttled_ns,
            server_quota_ns: self.server_quota.quota_ns,
        }
    }

    /// What the processes used since they were read before, and how long one of their threads waited for a CPU; those that are
    /// new count from now on.
    fn server(&mut self, pids: &[i32]) -> (Option<u64>, u64) {
        if pids.len() > PROCESSES_MAX {
            return (None, 0);
        }
        let (mut used_ns, mut most_ns) = (0, 0);
        let (mut now, mut waited) = (BTreeMap::new(), BTreeMap::new());
        for pid in pids {
            let Some(had) = process_had(*pid) else { continue };
            used_ns += self.processes.get(pid).map_or(0, |before| had.cpu_ns.saturating_sub(*before));
            now.insert(*pid, had.cpu_ns);
            for (tid, waited_ns) in had.waited_ns {
                let before = self.waited_ns.get(&(*pid, tid)).copied().unwrap_or(waited_ns);
                most_ns = most_ns.max(waited_ns.saturating_sub(before));
                waited.insert((*pid, tid), waited_ns);
            }
        }
        (self.processes, self.waited_ns) = (now, waited);
        (Some(used_ns), most_ns)
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
    fn read(&mut self, files: &Files, of: &str, looks_for_quota: bool, at_ns: u64) -> u64 {
        if !looks_for_quota && self.quota_ns.is_none() {
            return 0;
        }
        let Some(group) = CpuGroup::of(files, of) else { return 0 };
        self.quota_ns = group.quota_ns_per_s;
        let ns = group.throttled_ns();
        // What another group was stopped for is nothing that has happened now.
        let before = self.seen.take().filter(|seen| seen.place == group.place);
        let has_grown = before.as_ref().is_none_or(|before| before.ns != ns);
        let since_ns = before.as_ref().filter(|_| !has_grown).map_or(at_ns, |before| before.since_ns);
        self.seen = Some(Throttled { place: group.place, ns, since_ns });
        // The kernel adds up the stops on each CPU, and tells them when they are over: all of them have been since the last.
        before.map_or(0, |before| ns.saturating_sub(before.ns).min(at_ns.saturating_sub(before.since_ns)))
    }
}

/// Growth since the value before; none the first time.
fn grown(before: &mut Option<u64>, now: u64) -> u64 {
    before.replace(now).map_or(0, |before| now.saturating_sub(before))
}

fn schedstat(of: &str) -> Option<Schedstat> {
    Schedstat::from_read(&short(&format!("{of}/schedstat"))?[..]).ok()
}

/// What a process had of the CPUs so far.
struct Had {
    cpu_ns: u64,
    /// Time that each thread was ready without a CPU; none where it has too many to read.
    waited_ns: Vec<(i32, u64)>,
}

/// CPU time of a process, and the waits of its threads.
fn process_had(pid: i32) -> Option<Had> {
    let stat = stat(&short(&format!("/proc/{pid}/stat"))?)?;
    let threads = match stat.num_threads {
        1 => schedstat(&format!("/proc/{pid}")).map(|told| vec![(pid, told)]),
        2..=THREADS_MAX => threads(pid),
        _ => None,
    };
    let waits = threads.into_iter().flatten().map(|(tid, told)| (tid, told.run_delay));
    let cpu_ns = cpu_ns_of(pid).unwrap_or_else(|| ticks_ns(stat.utime.saturating_add(stat.stime)));
    Some(Had { cpu_ns, waited_ns: waits.collect() })
}

/// What the threads that a process has now had of the CPUs.
fn threads(pid: i32) -> Option<Vec<(i32, Schedstat)>> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    let told = threads.map(|thread| {
        let tid = thread.file_name().to_str()?.parse().ok()?;
        Some((tid, schedstat(thread.path().to_str()?)?))
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::super::foreign::ForeignUse;
    use super::super::taken::{Places, Taking};
    use super::*;
    use model::{Cause, NS_PER_S, SLICE_NS};
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::mpsc;

    /// `/proc/stat` after so many slices of 100 ms, in which each CPU was half busy; of each its number and how many ticks of
    /// 10 ms of it went to others.
    fn stat(slices: u64, stolen: &[(u32, u64)]) -> String {
        let line = |name: &str, stolen: u64| {
            let (user, idle) = (5 * slices, 5 * slices - stolen);
            format!("{name} {user} 0 0 {idle} 0 0 0 {stolen} 0 0\n")
        };
        let all = line("cpu ", stolen.iter().map(|(_, ticks)| ticks).sum());
        let each: String = stolen.iter().map(|(number, ticks)| line(&format!("cpu{number}"), *ticks)).collect();
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
        reader.read(0, &Watched::default(), &mut totals);
        to_it.send(()).unwrap();
        its_number.recv().unwrap();
        let own_ns = reader.read(1, &Watched::default(), &mut totals).own_ns;
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
            std::fs::write(&file, stat(20 + slices as u64, &[(0, stolen[0]), (1, stolen[1])])).unwrap();
            // Of many processes it is not known what others used: this test's own are none of its business.
            let reading = reader.read(slices as u64 * SLICE_NS, &Watched::default(), &mut totals);
            let reading = Reading { server_ns: None, ..reading };
            if slices > 0 {
                told.extend(taking.next(&reading, ForeignUse::default));
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

    /// The server restarts while mariadbd, which is watched beside it, was stopped for two hours in its life.
    #[test]
    fn the_quota_of_a_companion_is_none_of_the_servers() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let place = root.path().join(path);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, text).unwrap();
        };
        let group = |name: &str, max: &str, throttled_us: u64| {
            put(&format!("sys/fs/cgroup/{name}/cpu.max"), max);
            put(&format!("sys/fs/cgroup/{name}/cpu.stat"), &format!("throttled_usec {throttled_us}\n"));
        };
        put("sys/fs/cgroup/cgroup.procs", "");
        for (pid, name) in [(7, "web"), (8, "db"), (9, "web")] {
            put(&format!("proc/{pid}/cgroup"), &format!("0::/{name}\n"));
        }
        group("web", "50000 100000\n", 1_000);
        group("db", "90000 100000\n", 7_200_000_000);
        let mut reader = Reader { files: Files::below(root.path()), ..Reader::new(Vec::new(), || 0) };
        let mut totals = Totals::default();
        let mut slice = 0;
        let mut read = |pids: &[i32], server| {
            slice += 1;
            let reading = reader.read(
                slice * SLICE_NS,
                &Watched { pids: pids.to_vec(), server, ..Watched::default() },
                &mut totals,
            );
            (reading.server_throttled_ns, reading.server_quota_ns)
        };
        let half = Some(NS_PER_S / 2);
        assert_eq!(read(&[7, 8], Some(7)), (0, half));
        assert_eq!(read(&[8], None), (0, half), "nobody is the server now");
        group("web", "50000 100000\n", 21_000);
        assert_eq!(read(&[9, 8], Some(9)), (20_000_000, half), "another process of the same group");
        // Stopped on four CPUs at a time.
        group("web", "50000 100000\n", 421_000);
        assert_eq!(read(&[9, 8], Some(9)), (SLICE_NS, half));
        put("proc/9/cgroup", "0::/db\n");
        assert_eq!(read(&[9, 8], Some(9)), (0, Some(NS_PER_S * 9 / 10)), "of another group nothing was seen before");
    }

    /// Position 2 is CPU 3, and of CPU 3 by position nothing is known.
    #[test]
    fn a_cpu_that_is_offline_moves_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("stat");
        for (number, cause) in [(2, Cause::ServerSteal), (3, Cause::ClientSteal)] {
            let places = Places { client: vec![3], server: vec![2], threads: 1, quota_at_begin_ns: None };
            let (mut taking, mut totals) = (Taking::new(places, 0), Totals::default());
            let mut reader = Reader { machine: Machine::of_file(file.clone()), ..Reader::new(Vec::new(), || 0) };
            std::fs::write(&file, stat(20, &[(0, 0), (2, 0), (3, 0)])).unwrap();
            reader.read(0, &Watched::default(), &mut totals);
            let stolen: Vec<(u32, u64)> = [0, 2, 3].map(|cpu| (cpu, if cpu == number { 6 } else { 0 })).into();
            std::fs::write(&file, stat(21, &stolen)).unwrap();
            let reading = reader.read(SLICE_NS, &Watched::default(), &mut totals);
            let told = taking.next(&Reading { server_ns: None, ..reading }, ForeignUse::default);
            assert_eq!(told[0].taken_ns, [(cause, 60_000_000)].into(), "{told:?}");
        }
    }
}
