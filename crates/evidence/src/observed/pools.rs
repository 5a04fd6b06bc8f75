//! Worker pools of the server over a window.

use super::bounded::kept;
use super::{SamplerSum, ratio};
use model::{NS_PER_S, PoolObserved, PoolUse, SamplerObserved, Scheduled, StatesUse, Wait, WaitObserved};
use std::collections::BTreeMap;

/// Pools that are told: those that were occupied most.
const POOLS_TOLD_MAX: usize = 24;
/// Pools, and kinds of waiting of each, that are kept: no machine has more, and one that makes names up takes no memory.
const NAMES_MAX: usize = 1024;
/// Fewer samples say little of how workers spend their time.
const LOOKS_MIN: u64 = 8;
/// Kinds of waiting that are told of each pool: the longest.
const WAITS_TOLD_MAX: usize = 32;
/// What a process waits for that has started another to do the work.
const CHILD: &str = "child";

/// Sums over all samples of workers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PoolsSum {
    /// By name.
    pools: BTreeMap<String, PoolSum>,
    sampler: SamplerSum,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct PoolSum {
    program: String,
    workers: u64,
    workers_max: u32,
    running: u64,
    /// None once the scheduler did not tell.
    scheduled: Option<Scheduled>,
    /// Time of the workers' span in which their CPUs may have been stolen.
    stolen_ns: u64,
    idle: u64,
    /// By thread, state, syscall and what for.
    waits: BTreeMap<[String; 4], u64>,
    begun: u64,
    ended: u64,
    occupancy_max: f64,
}

/// Shares of the workers' time.
struct Shares {
    running: f64,
    /// None when it is part of `running`.
    runnable: Option<f64>,
    idle: f64,
    /// What one sample of a sleeping worker stands for.
    of_sample: f64,
}

/// Of a second, which is kept, as many as are told.
fn most_occupied(occupancies: BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    if occupancies.len() <= POOLS_TOLD_MAX {
        return occupancies;
    }
    let mut all: Vec<_> = occupancies.into_iter().collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all.truncate(POOLS_TOLD_MAX);
    all.into_iter().collect()
}

impl PoolsSum {
    /// Adds what a sample saw of workers, while `stolen_share` of the CPU that lost most was stolen; returns the occupancy of
    /// each pool. It counts for the highest when the sample `is_long`.
    pub(super) fn add(
        &mut self,
        states: &StatesUse,
        length_ns: u64,
        is_long: bool,
        stolen_share: f64,
    ) -> BTreeMap<String, f64> {
        let StatesUse { looks, cpu_ns, cpu_ns_max, .. } = *states;
        self.sampler.merge(&SamplerSum { looks, cpu_ns, cpu_ns_max, wall_ns: length_ns });
        let mut occupancies = BTreeMap::new();
        for pool in &states.pools {
            let one = PoolSum::of(pool, stolen_share);
            let occupancy = one.occupancy();
            if one.samples() > 0 {
                occupancies.insert(pool.name.clone(), occupancy);
            }
            let occupancy_max = if is_long { occupancy } else { 0.0 };
            self.take(&pool.name, &PoolSum { occupancy_max, ..one });
        }
        most_occupied(occupancies)
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.sampler.merge(&other.sampler);
        for (name, pool) in &other.pools {
            self.take(name, pool);
        }
    }

    fn take(&mut self, name: &str, more: &PoolSum) {
        let has_room = self.pools.len() < NAMES_MAX;
        match self.pools.get_mut(name) {
            Some(pool) => pool.merge(more),
            None if has_room => {
                self.pools.insert(name.to_owned(), more.clone());
            }
            None => {}
        }
    }

    /// The pools, the one that was occupied most first.
    pub(super) fn observed(&self) -> Vec<PoolObserved> {
        let looks = self.sampler.looks;
        let told = self.pools.iter().filter(|(_, pool)| pool.samples() > 0 && !pool.only_watches());
        let mut pools: Vec<_> = told.map(|(name, pool)| pool.observed(name, looks)).collect();
        pools.sort_by(|a, b| b.occupancy.total_cmp(&a.occupancy));
        pools.truncate(POOLS_TOLD_MAX);
        pools
    }

    /// The same with shares of undisturbed time alone, where `clean` has enough of it: workers whose CPUs are taken look idle,
    /// or occupied, and are neither. Who came and went is counted all the time.
    pub(super) fn observed_without(&self, clean: &Self) -> Vec<PoolObserved> {
        if clean.sampler.looks < LOOKS_MIN {
            return self.observed();
        }
        let mut pools = clean.observed();
        for pool in &mut pools {
            if let Some(all) = self.pools.get(&pool.name) {
                (pool.begun, pool.ended) = (all.begun, all.ended);
            }
        }
        pools
    }

    pub(super) fn sampler(&self) -> Option<SamplerObserved> {
        self.sampler.observed()
    }
}

impl PoolSum {
    fn of(pool: &PoolUse, stolen_share: f64) -> Self {
        let key = |wait: &Wait| [&wait.thread, &wait.state, &wait.syscall, &wait.on].map(Clone::clone);
        Self {
            program: pool.program.clone(),
            workers: pool.workers,
            workers_max: pool.workers_max,
            running: pool.running,
            scheduled: pool.scheduled,
            stolen_ns: (stolen_share * pool.scheduled.map_or(0, |times| times.span_ns) as f64) as u64,
            idle: pool.idle,
            waits: pool.waits.iter().take(NAMES_MAX).map(|wait| (key(wait), wait.samples)).collect(),
            begun: pool.begun,
            ended: pool.ended,
            occupancy_max: 0.0,
        }
    }

    fn merge(&mut self, other: &Self) {
        let Self {
            program: _,
            workers,
            workers_max,
            running,
            scheduled,
            stolen_ns,
            idle,
            waits,
            begun,
            ended,
            occupancy_max,
        } = other;
        self.workers += workers;
        self.workers_max = self.workers_max.max(*workers_max);
        self.running += running;
        self.scheduled = self.scheduled.zip(*scheduled).map(|(sum, more)| Scheduled {
            span_ns: sum.span_ns + more.span_ns,
            ran_ns: sum.ran_ns + more.ran_ns,
            waited_ns: sum.waited_ns + more.waited_ns,
            runs: sum.runs.zip(more.runs).map(|(sum, more)| sum + more),
        });
        self.stolen_ns += stolen_ns;
        self.idle += idle;
        for (wait, samples) in waits {
            if let Some(sum) = kept(&mut self.waits, wait, NAMES_MAX, 0) {
                *sum += samples;
            }
        }
        self.begun += begun;
        self.ended += ended;
        self.occupancy_max = self.occupancy_max.max(*occupancy_max);
    }

    /// Samples of workers that were found asleep.
    fn asleep(&self) -> u64 {
        self.idle + self.waits.values().sum::<u64>()
    }

    fn samples(&self) -> u64 {
        self.running + self.asleep()
    }

    fn occupancy(&self) -> f64 {
        if self.samples() == 0 { 0.0 } else { 1.0 - self.shares().idle }
    }

    /// How the workers' time is divided. How long they ran and waited for a CPU is what the scheduler has accounted: on a
    /// busy machine who looks gets a CPU just when a worker has gone to sleep, and never sees it run. What samples tell is
    /// how the rest is divided among reasons to sleep. That none was found asleep says little: short naps are missed.
    fn shares(&self) -> Shares {
        // A kernel without this account says 0 of everyone.
        let told = |times: &Scheduled| times.span_ns > 0 && (times.ran_ns > 0 || self.running == 0);
        let (running, runnable) = match self.scheduled.filter(told) {
            None => (ratio(self.running, self.samples()), None),
            Some(Scheduled { span_ns, ran_ns, waited_ns, .. }) => {
                // Stolen time is neither running nor waiting. Workers never found asleep are taken to have lost it while
                // they ran; otherwise it cannot be told from sleep.
                let stolen_ns = if self.asleep() == 0 { self.stolen_ns } else { 0 };
                let busy_ns = ran_ns + waited_ns;
                let of_ns = busy_ns.max(span_ns.saturating_sub(stolen_ns));
                (ratio(ran_ns, of_ns), Some(ratio(waited_ns, of_ns)))
            }
        };
        let asleep = (1.0 - running - runnable.unwrap_or(0.0)).max(0.0);
        if self.asleep() == 0 {
            // Naps that end before the sampler gets a CPU: nobody was seen to wait for anything but work.
            return Shares { running, runnable, idle: asleep, of_sample: 0.0 };
        }
        let of_sample = asleep / self.asleep() as f64;
        Shares { running, runnable, idle: of_sample * self.idle as f64, of_sample }
    }

    /// Times a second that one of `workers` was put on a CPU; none when the scheduler does not tell.
    fn runs_per_s(&self, workers: f64) -> Option<f64> {
        let Scheduled { span_ns, runs, .. } = self.scheduled.filter(|times| times.span_ns > 0)?;
        Some(ratio(runs?, span_ns) * NS_PER_S as f64 * workers)
    }

    /// True if these did nothing but wait for processes that they have started: a shell around a server.
    fn only_watches(&self) -> bool {
        self.samples() > 0 && self.running + self.idle == 0 && self.waits.keys().all(|[_, _, _, on]| on == CHILD)
    }

    fn observed(&self, name: &str, looks: u64) -> PoolObserved {
        let samples = self.samples();
        let Shares { running, runnable, idle, of_sample } = self.shares();
        let mut blocked: BTreeMap<String, f64> = BTreeMap::new();
        for ([_, _, _, on], n) in &self.waits {
            *blocked.entry(on.clone()).or_default() += of_sample * *n as f64;
        }
        let mut waits: Vec<_> = self.waits.iter().collect();
        waits.sort_by(|a, b| b.1.cmp(a.1));
        let told = |([thread, state, syscall, on], n): (&[String; 4], &u64)| {
            let [thread, state, syscall, on] = [thread, state, syscall, on].map(Clone::clone);
            WaitObserved { thread, state, syscall, on, share: of_sample * *n as f64 }
        };
        PoolObserved {
            name: name.to_owned(),
            program: self.program.clone(),
            workers_mean: ratio(self.workers, looks),
            workers_max: self.workers_max,
            samples,
            occupancy: self.occupancy(),
            running,
            runnable,
            idle,
            blocked,
            occupancy_max: self.occupancy_max,
            begun: self.begun,
            ended: self.ended,
            runs_per_s: self.runs_per_s(ratio(self.workers, looks)),
            waits: waits.into_iter().take(WAITS_TOLD_MAX).map(told).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(on: &str, syscall: &str, samples: u64) -> Wait {
        let [thread, state] = ["php-fpm8.2", "S"].map(str::to_owned);
        Wait { thread, state, syscall: syscall.into(), on: on.into(), samples }
    }

    fn second(running: u64, scheduled: Option<Scheduled>, idle: u64, waits: Vec<Wait>) -> StatesUse {
        let name = "php-fpm: pool www".to_owned();
        let pool = PoolUse {
            name,
            program: "php-fpm8.2".into(),
            workers: 40,
            workers_max: 4,
            running,
            scheduled,
            idle,
            waits,
            begun: 1,
            ended: 2,
        };
        let watcher =
            PoolUse { name: "sh".into(), workers: 10, waits: vec![wait(CHILD, "wait4", 10)], ..PoolUse::default() };
        StatesUse { looks: 10, cpu_ns: 500, cpu_ns_max: 70, pools: vec![pool, watcher] }
    }

    const fn times(ran_ns: u64, waited_ns: u64, span_ns: u64) -> Option<Scheduled> {
        Some(Scheduled { span_ns, ran_ns, waited_ns, runs: None })
    }

    #[test]
    fn shares_are_of_all_samples_and_the_highest_of_one_long_second() {
        let mut sum = PoolsSum::default();
        // As often found running as the scheduler says.
        let occupied =
            sum.add(&second(8, times(6, 2, 40), 24, vec![wait("mariadbd", "poll", 8)]), 1_000_000, true, 0.0);
        assert!((occupied["php-fpm: pool www"] - 0.4).abs() < 1e-9);
        let waits = vec![wait("mariadbd", "recvfrom", 20), wait("sleep", "poll", 10)];
        sum.add(&second(0, times(0, 0, 40), 10, waits), 1, true, 0.0);
        sum.add(&second(1, times(1, 0, 1), 0, Vec::new()), 1, false, 0.0);
        let seen = sum.observed();
        assert_eq!(seen.len(), 1, "who only waits for those it has started is no worker: {seen:?}");
        let pool = &seen[0];
        assert_eq!((pool.samples, pool.occupancy_max), (81, 0.75));
        let shares = [pool.running, pool.runnable.unwrap(), pool.idle, pool.blocked["mariadbd"], pool.blocked["sleep"]];
        for (share, of_81) in shares.into_iter().zip([7.0, 2.0, 34.0, 28.0, 10.0]) {
            assert!((share - of_81 / 81.0).abs() < 1e-9, "{pool:?}");
        }
        assert!((pool.occupancy - 47.0 / 81.0).abs() < 1e-9, "{pool:?}");
        assert_eq!((pool.workers_mean, pool.workers_max, pool.begun, pool.ended), (4.0, 4, 3, 6));
        let waits: Vec<_> = pool.waits.iter().map(|wait| (wait.on.as_str(), wait.syscall.as_str())).collect();
        assert_eq!(waits, [("mariadbd", "recvfrom"), ("sleep", "poll"), ("mariadbd", "poll")]);
        let sampler = sum.sampler().unwrap();
        assert_eq!((sampler.looks, sampler.cpu_ns_per_look, sampler.cpu_ns_max), (30, 50.0, 70));
    }

    #[test]
    fn waiting_for_a_cpu_is_none_once_the_kernel_did_not_tell() {
        let mut sum = PoolsSum::default();
        sum.add(&second(5, times(25, 25, 100), 5, Vec::new()), 1, true, 0.0);
        let mut other = PoolsSum::default();
        other.add(&second(5, None, 5, Vec::new()), 1, true, 0.0);
        sum.merge(&other);
        let pool = &sum.observed()[0];
        assert_eq!((pool.runnable, pool.running, pool.occupancy), (None, 0.5, 0.5));
    }

    #[test]
    fn workers_seen_asleep_only_have_run_as_long_as_the_scheduler_says() {
        let mut sum = PoolsSum::default();
        let occupied = sum.add(&second(0, times(50, 20, 100), 15, vec![wait("mariadbd", "poll", 5)]), 1, true, 0.0);
        let pool = &sum.observed()[0];
        assert_eq!((pool.running, pool.runnable), (0.5, Some(0.2)));
        assert!((pool.idle - 0.225).abs() < 1e-9 && (pool.blocked["mariadbd"] - 0.075).abs() < 1e-9, "{pool:?}");
        assert!((occupied["php-fpm: pool www"] - 0.775).abs() < 1e-9 && (pool.occupancy - 0.775).abs() < 1e-9);
    }

    #[test]
    fn workers_never_seen_asleep_ran_while_their_cpus_were_stolen() {
        let mut sum = PoolsSum::default();
        sum.add(&second(9, times(60, 20, 100), 0, Vec::new()), 1, true, 0.2);
        let pool = &sum.observed()[0];
        assert_eq!((pool.running, pool.runnable, pool.occupancy), (0.75, Some(0.25), 1.0));
        // Nor does one that is told to have run longer than the time between two samples have slept.
        let mut sum = PoolsSum::default();
        sum.add(&second(9, times(100, 10, 100), 1, Vec::new()), 1, true, 0.0);
        assert!((sum.observed()[0].occupancy - 1.0).abs() < 1e-9);
    }

    /// 40 samples found two event loops running that slept for 23 % of the time, on a quiet machine.
    #[test]
    fn naps_that_no_sample_saw_are_idle_time() {
        let mut sum = PoolsSum::default();
        sum.add(&second(40, times(58, 18, 100), 0, Vec::new()), 1, true, 0.01);
        let pool = &sum.observed()[0];
        let shares = [pool.running, pool.runnable.unwrap(), pool.idle, pool.occupancy];
        for (share, of_99) in shares.into_iter().zip([58.0, 18.0, 23.0, 76.0]) {
            assert!((share - of_99 / 99.0).abs() < 1e-9, "{pool:?}");
        }
    }

    #[test]
    fn a_scheduler_that_says_nothing_of_those_that_ran_is_not_believed() {
        let mut sum = PoolsSum::default();
        sum.add(&second(6, times(0, 0, 100), 4, Vec::new()), 1, true, 0.0);
        let pool = &sum.observed()[0];
        assert_eq!((pool.running, pool.runnable, pool.occupancy), (0.6, None, 0.6));
    }

    /// Of two workers that are each put on a CPU 30 times in 100 ns, all together are 60 times.
    #[test]
    fn how_often_a_pool_is_put_on_a_cpu_is_told_of_all_its_workers() {
        let with = |runs| Some(Scheduled { span_ns: 400, ran_ns: 40, waited_ns: 0, runs });
        let mut sum = PoolsSum::default();
        sum.add(&second(0, with(Some(120)), 8, Vec::new()), 1, true, 0.0);
        let pool = &sum.observed()[0];
        let expected = 120.0 / 400.0 * 1e9 * pool.workers_mean;
        assert!((pool.runs_per_s.unwrap() - expected).abs() < 1e-3 * expected, "{pool:?}");
        sum.add(&second(0, with(None), 8, Vec::new()), 1, true, 0.0);
        assert_eq!(sum.observed()[0].runs_per_s, None, "it was not told all the time");
    }

    #[test]
    fn a_machine_that_makes_up_names_takes_bounded_memory() {
        let mut sum = PoolsSum::default();
        for sample in 0..3 {
            let pool = |n: usize| PoolUse {
                name: format!("{sample} {n}"),
                running: n as u64 + 1,
                idle: 100,
                waits: vec![wait(&format!("{sample} {n}"), "poll", 1)],
                ..PoolUse::default()
            };
            let one = PoolUse { name: "one".into(), waits: (0..900).flat_map(|n| pool(n).waits).collect(), ..pool(0) };
            let pools = std::iter::once(one).chain((0..900).map(pool)).collect();
            let kept = sum.add(&StatesUse { looks: 1, pools, ..StatesUse::default() }, 1, true, 0.0);
            assert!(kept.len() == POOLS_TOLD_MAX && kept.contains_key(&format!("{sample} 899")), "{kept:?}");
        }
        assert_eq!((sum.pools.len(), sum.pools["one"].waits.len()), (NAMES_MAX, NAMES_MAX));
    }

    #[test]
    fn nothing_is_told_of_workers_nobody_looked_at() {
        assert_eq!((PoolsSum::default().observed(), PoolsSum::default().sampler()), (Vec::new(), None));
    }
}
