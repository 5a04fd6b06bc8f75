//! CPU of the own process and of its load threads.

use crate::machine::ticks_ns;
use model::{GeneratorUse, ThreadRun, load_threads};
use procfs::ProcError;
use procfs::process::Process;
use std::collections::BTreeSet;

/// The load that runs at the same time as each part, of two.
const OTHER_PART: [Option<u32>; 3] = [None, Some(2), Some(1)];

/// The own process at the sample before.
#[derive(Debug, Default)]
pub(crate) struct Generator {
    cpu_ns: u64,
    major_faults: u64,
    threads: Vec<Thread>,
    /// CPUs that the load threads may run on.
    cpus: Vec<u32>,
    /// Which of several loads of this process it is; see [`load_threads`].
    part: u32,
    /// Numbers of the threads of the load that runs at the same time.
    others: Vec<i32>,
}

#[derive(Debug)]
struct Thread {
    tid: i32,
    /// Totals at the sample before.
    seen: ThreadRun,
}

impl Generator {
    /// Of the load `part` of two that run at the same time.
    pub(crate) fn of_part(part: u32) -> Self {
        Self { part, ..Self::default() }
    }

    /// Finds the load threads that run now.
    pub(crate) fn find_threads(&mut self) {
        let tasks = Process::myself().and_then(|own| own.tasks());
        let named: Vec<(String, i32)> =
            tasks.into_iter().flatten().flatten().filter_map(|task| Some((task.stat().ok()?.comm, task.tid))).collect();
        let of_load = |part: u32| {
            let prefix = load_threads(part);
            named.iter().filter(move |(name, _)| name.starts_with(&prefix))
        };
        self.threads = of_load(self.part)
            .map(|(name, tid)| Thread { tid: *tid, seen: ThreadRun { name: name.clone(), ..ThreadRun::default() } })
            .collect();
        self.others = OTHER_PART
            .get(self.part as usize)
            .copied()
            .flatten()
            .map_or_else(Vec::new, |other| of_load(other).map(|(_, tid)| *tid).collect());
        self.threads.sort_by_key(|thread| thread.tid);
        self.cpus = cpus(&self.threads);
    }

    /// CPUs that the load threads may run on.
    pub(crate) fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    /// Numbers of the load threads.
    pub(crate) fn threads(&self) -> impl Iterator<Item = i32> + '_ {
        self.threads.iter().map(|thread| thread.tid)
    }

    /// Numbers of the threads of the load that runs at the same time.
    pub(crate) fn others(&self) -> &[i32] {
        &self.others
    }

    /// CPU time since the sample before; that of the process is of both loads where two run. Threads that have ended, or of
    /// which the kernel tells nothing, are left out.
    pub(crate) fn sample(&mut self) -> Result<GeneratorUse, ProcError> {
        let own = Process::myself()?;
        let stat = own.stat()?;
        let cpu_ns = ticks_ns(stat.utime + stat.stime);
        let before_ns = std::mem::replace(&mut self.cpu_ns, cpu_ns);
        let major_faults = stat.majflt - std::mem::replace(&mut self.major_faults, stat.majflt);
        let mut threads = Vec::with_capacity(self.threads.len());
        for thread in &mut self.threads {
            let Ok(told) = own.task_from_tid(thread.tid).and_then(|task| task.schedstat()) else { continue };
            let name = thread.seen.name.clone();
            let now = ThreadRun {
                name: name.clone(),
                cpu_ns: told.sum_exec_runtime,
                wait_ns: told.run_delay,
                runs: told.pcount,
            };
            let before = std::mem::replace(&mut thread.seen, now);
            threads.push(ThreadRun {
                name,
                cpu_ns: told.sum_exec_runtime - before.cpu_ns,
                wait_ns: told.run_delay - before.wait_ns,
                runs: told.pcount - before.runs,
            });
        }
        let (cpus, major_faults) = (self.cpus.clone(), Some(major_faults));
        Ok(GeneratorUse { cpu_ns: cpu_ns - before_ns, threads, cpus, major_faults })
    }
}

/// CPUs that any of these threads may run on.
fn cpus(threads: &[Thread]) -> Vec<u32> {
    let own = Process::myself();
    let of = |thread: &Thread| own.as_ref().ok()?.task_from_tid(thread.tid).ok()?.status().ok()?.cpus_allowed_list;
    let ranges = threads.iter().filter_map(of).flatten();
    let cpus: BTreeSet<u32> = ranges.flat_map(|(first, last)| first..=last).collect();
    cpus.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn threads_of_two_loads_at_once_are_told_apart() {
        let (started, done) = (Barrier::new(3), Barrier::new(3));
        std::thread::scope(|scope| {
            for name in ["load1-0", "load2-0"] {
                let wait = || {
                    started.wait();
                    done.wait();
                };
                std::thread::Builder::new().name(name.into()).spawn_scoped(scope, wait).unwrap();
            }
            started.wait();
            let found = [1, 2].map(|part| {
                let mut generator = Generator::of_part(part);
                generator.find_threads();
                let names: Vec<String> = generator.threads.iter().map(|thread| thread.seen.name.clone()).collect();
                (names, generator.threads().collect::<Vec<_>>(), generator.others().to_vec())
            });
            done.wait();
            let [(first, first_tids, beside_first), (second, second_tids, beside_second)] = found;
            assert_eq!((first, second), (vec!["load1-0".to_owned()], vec!["load2-0".to_owned()]));
            assert_eq!((beside_first, beside_second), (second_tids, first_tids));
        });
        let mut only = Generator::default();
        only.find_threads();
        assert!(only.others().is_empty());
    }
}
