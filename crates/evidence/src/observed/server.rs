//! The server's processes and threads over a window.

use super::ratio;
use model::{
    NS_PER_S, ProcessFigures, ProcessObserved, ProcessUse, ServerObserved, ServerThread, ServerThreadObserved,
    ServerUse, ThreadsUse,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Threads that are told by themselves: those that kept a CPU busiest.
const THREADS_TOLD_MAX: usize = 32;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ServerSum {
    wall_ns: u64,
    cores_max: f64,
    /// All processes together.
    figures: ProcessFigures,
    /// By name of the process; without threads.
    used: ServerUse,
    /// By process and thread.
    threads: BTreeMap<(i32, i32), ServerThread>,
    /// Length of the samples that looked at threads. One that lived for a part of them was idle in the others.
    threads_wall_ns: u64,
    cpus: BTreeSet<u32>,
}

impl ServerSum {
    /// Adds a sample that ends at `to_ns`, in which all processes together had these `figures`.
    pub(super) fn add(&mut self, server: &ServerUse, figures: &ProcessFigures, to_ns: u64, length_ns: u64, cores: f64) {
        self.wall_ns += length_ns;
        self.cores_max = self.cores_max.max(cores);
        self.figures.add_sample(figures);
        self.used.add_sample(server);
        if let Some(used) = &server.threads {
            self.add_threads(used, to_ns.saturating_sub(used.from_ns));
        }
    }

    fn add_threads(&mut self, used: &ThreadsUse, length_ns: u64) {
        self.cpus.extend(&used.cpus);
        self.threads_wall_ns += length_ns;
        for thread in &used.threads {
            self.add_thread(thread);
        }
    }

    fn add_thread(&mut self, thread: &ServerThread) {
        let ServerThread { pid, tid, name, user_ns, system_ns, wait_ns, voluntary_switches, involuntary_switches } =
            thread;
        let (pid, tid) = (*pid, *tid);
        let new = || ServerThread { pid, tid, wait_ns: Some(0), ..ServerThread::default() };
        let sum = self.threads.entry((pid, tid)).or_insert_with(new);
        // The last of its names: what begins under that of its parent is soon given its own.
        sum.name.clone_from(name);
        sum.user_ns += user_ns;
        sum.system_ns += system_ns;
        sum.wait_ns = sum.wait_ns.zip(*wait_ns).map(|(sum, more)| sum + more);
        sum.voluntary_switches += voluntary_switches;
        sum.involuntary_switches += involuntary_switches;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        let Self { wall_ns, cores_max, figures, used, threads, threads_wall_ns, cpus } = other;
        self.wall_ns += wall_ns;
        self.cores_max = self.cores_max.max(*cores_max);
        self.figures.add_sample(figures);
        self.used.add_sample(used);
        self.cpus.extend(cpus);
        self.threads_wall_ns += threads_wall_ns;
        for thread in threads.values() {
            self.add_thread(thread);
        }
    }

    pub(super) fn observed(&self, responses_per_s: f64) -> ServerObserved {
        // Rates of both, as the samples do not begin and end at the very instants of the window.
        // The kernel counts CPU time in ticks: none of them is no zero.
        let is_counted = |cores: f64| cores > 0.0 && responses_per_s > 0.0;
        let per_request = |cores: f64| is_counted(cores).then(|| cores * NS_PER_S as f64 / responses_per_s);
        let observed = |process: &ProcessUse| {
            let cpu_cores = ratio(process.figures.cpu_ns, self.wall_ns);
            ProcessObserved::new(process, cpu_cores, per_request(cpu_cores))
        };
        let mut processes: Vec<ProcessObserved> = self.used.processes.iter().map(observed).collect();
        processes.sort_by(|a, b| b.cpu_cores.total_cmp(&a.cpu_cores));
        let cpu_cores = processes.iter().map(|process| process.cpu_cores).sum();
        ServerObserved {
            cpu_cores,
            cpu_cores_max: self.cores_max,
            cpu_ns_per_request: per_request(cpu_cores),
            rss_bytes_max: self.figures.rss_bytes,
            processes,
            ended_unaccounted: self.used.ended_unaccounted,
            ended: self.used.ended.clone(),
            threads: self.busiest_threads(),
            threads_seen: self.threads.len() as u64,
            cpus: self.cpus.iter().copied().collect(),
        }
    }

    fn busiest_threads(&self) -> Vec<ServerThreadObserved> {
        let mut threads: Vec<_> = self.threads.values().collect();
        threads.sort_by_key(|thread| Reverse(thread.user_ns + thread.system_ns));
        let share = |ns: u64| ratio(ns, self.threads_wall_ns);
        let told = threads.into_iter().take(THREADS_TOLD_MAX).map(|thread| {
            let per_s = |n: u64| share(n) * NS_PER_S as f64;
            ServerThreadObserved {
                pid: thread.pid,
                tid: thread.tid,
                name: thread.name.clone(),
                user_mean: share(thread.user_ns),
                system_mean: share(thread.system_ns),
                wait_mean: thread.wait_ns.map(share),
                voluntary_switches_per_s: per_s(thread.voluntary_switches),
                involuntary_switches_per_s: per_s(thread.involuntary_switches),
            }
        });
        told.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(from_ns: u64, switches: u64, fds: u64) -> ServerUse {
        let thread = |tid, user_ns| ServerThread {
            pid: 7,
            tid,
            user_ns,
            wait_ns: Some(from_ns),
            voluntary_switches: switches,
            name: format!("t{tid}"),
            ..ServerThread::default()
        };
        let (fds, fds_limit, pss_bytes) = (Some(fds), Some(100), Some(fds));
        let figures = ProcessFigures { count: 1, fds, fds_limit, pss_bytes, ..ProcessFigures::default() };
        let process = ProcessUse { name: "t".into(), figures };
        let threads = ThreadsUse { from_ns, threads: vec![thread(7, 10), thread(8, 500)], cpus: vec![1, 3] };
        ServerUse {
            processes: vec![process],
            ended: [("t".to_owned(), switches)].into(),
            threads: Some(threads),
            ..ServerUse::default()
        }
    }

    #[test]
    fn threads_are_told_by_their_time_and_over_the_looks_that_had_them() {
        let add = |sum: &mut ServerSum, used: &ServerUse, to_ns, length_ns| {
            sum.add(used, &ProcessFigures::of(&used.processes), to_ns, length_ns, 0.1);
        };
        let mut sum = ServerSum::default();
        add(&mut sum, &sample(1_000, 3, 20), 2_000, 100);
        add(&mut sum, &ServerUse::default(), 3_000, 1_000);
        add(&mut sum, &sample(2_000, 4, 10), 4_000, 1_000);
        let seen = sum.observed(0.0);
        let told: Vec<_> = seen.threads.iter().map(|thread| (thread.name.as_str(), thread.user_mean)).collect();
        assert_eq!(told, [("t8", 1000.0 / 3000.0), ("t7", 20.0 / 3000.0)]);
        assert_eq!((seen.threads[0].wait_mean, seen.threads_seen), (Some(1.0), 2));
        assert_eq!(seen.cpus, [1, 3]);
        assert!((seen.threads[0].voluntary_switches_per_s - 7e9 / 3000.0).abs() < 1e-3);
        let process = &seen.processes[0];
        assert_eq!(seen.ended["t"], 7);
        assert_eq!((process.fds_max, process.fds_limit, process.pss_bytes_max), (Some(20), Some(100), Some(20)));
    }
}
