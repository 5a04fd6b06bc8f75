//! CPU of the own process and of its load threads.

use crate::machine::ticks_ns;
use model::{GeneratorUse, ThreadRun};
use procfs::ProcError;
use procfs::process::Process;
use std::collections::BTreeSet;

/// Load threads are named by the engine.
const LOAD_THREAD: &str = "load-";

/// The own process at the sample before.
#[derive(Debug, Default)]
pub(crate) struct Generator {
    cpu_ns: u64,
    major_faults: u64,
    threads: Vec<Thread>,
    /// CPUs that the load threads may run on.
    cpus: Vec<u32>,
}

#[derive(Debug)]
struct Thread {
    tid: i32,
    /// Totals at the sample before.
    seen: ThreadRun,
}

impl Generator {
    /// Finds the load threads that run now.
    pub(crate) fn find_threads(&mut self) {
        let tasks = Process::myself().and_then(|own| own.tasks());
        let named = tasks.into_iter().flatten().flatten().filter_map(|task| Some((task.stat().ok()?.comm, task)));
        self.threads = named
            .filter(|(name, _)| name.starts_with(LOAD_THREAD))
            .map(|(name, task)| Thread { tid: task.tid, seen: ThreadRun { name, ..ThreadRun::default() } })
            .collect();
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

    /// CPU time since the sample before. Threads that have ended, or of which the kernel tells nothing, are left out.
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
