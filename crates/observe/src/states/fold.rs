//! Samples of workers, added up by pool until they are fetched.

use super::classify::State;
use model::{PoolUse, Scheduled, StatesUse, Wait};
use std::collections::{BTreeMap, BTreeSet};

/// Pools that are told apart; further ones are one together.
const POOLS_MAX: usize = 64;
/// What workers wait for that is told apart; the rest is `other`.
const NAMES_MAX: usize = 256;
const OTHER: &str = "other";

/// Sums since they were fetched last.
#[derive(Debug, Default)]
pub(super) struct Fold {
    looks: u64,
    cpu_ns: u64,
    cpu_ns_max: u64,
    pools: BTreeMap<String, Sums>,
    /// Names of what workers waited for so far, and of pools.
    names: BTreeSet<String>,
    pool_names: BTreeSet<String>,
}

#[derive(Debug, Default)]
struct Sums {
    program: String,
    workers: u64,
    /// In this sample.
    now: u32,
    workers_max: u32,
    running: u64,
    scheduled: Scheduled,
    /// True if the times of the scheduler were not told of one of them.
    unscheduled: bool,
    idle: u64,
    waits: BTreeMap<[String; 4], u64>,
    /// Samples of which it cannot be told whether they were idle.
    open: u64,
    begun: u64,
    ended: u64,
}

/// One sample.
pub(super) enum Sample {
    Running,
    Idle,
    /// By thread, letter, call, and what for.
    Waiting([String; 4]),
    /// It cannot be told.
    Open,
}

impl Fold {
    /// A sample has ended, in which there were so many workers of each pool.
    pub(super) fn sampled(&mut self, cpu_ns: u64) {
        self.looks += 1;
        self.cpu_ns += cpu_ns;
        self.cpu_ns_max = self.cpu_ns_max.max(cpu_ns);
        for sums in self.pools.values_mut() {
            let now = std::mem::take(&mut sums.now);
            sums.workers += u64::from(now);
            sums.workers_max = sums.workers_max.max(now);
        }
    }

    /// One more worker is there.
    pub(super) fn present(&mut self, pool: &str, program: &str) {
        self.of(pool, program).now += 1;
    }

    pub(super) fn begun(&mut self, pool: &str, program: &str) {
        self.of(pool, program).begun += 1;
    }

    pub(super) fn ended(&mut self, pool: &str, program: &str) {
        self.of(pool, program).ended += 1;
    }

    /// The times of a worker since it was looked at before, if the scheduler tells them.
    pub(super) fn scheduled(&mut self, pool: &str, program: &str, times: Option<Scheduled>) {
        let sums = self.of(pool, program);
        match times {
            Some(Scheduled { span_ns, ran_ns, waited_ns, runs }) => {
                sums.scheduled.span_ns += span_ns;
                sums.scheduled.ran_ns += ran_ns;
                sums.scheduled.waited_ns += waited_ns;
                sums.scheduled.runs = runs.map(|more| sums.scheduled.runs.unwrap_or(0) + more);
            }
            None => sums.unscheduled = true,
        }
    }

    pub(super) fn add(&mut self, pool: &str, program: &str, sample: Sample) {
        if let Sample::Waiting([_, _, _, on]) = &sample
            && self.names.len() < NAMES_MAX
        {
            self.names.insert(on.clone());
        }
        let is_told = |on: &String| self.names.contains(on);
        let sample = match sample {
            Sample::Waiting([thread, letter, call, on]) if !is_told(&on) => {
                Sample::Waiting([thread, letter, call, OTHER.to_owned()])
            }
            sample => sample,
        };
        let sums = self.of(pool, program);
        match sample {
            Sample::Running => sums.running += 1,
            Sample::Idle => sums.idle += 1,
            Sample::Waiting(kind) => *sums.waits.entry(kind).or_default() += 1,
            Sample::Open => sums.open += 1,
        }
    }

    fn of(&mut self, pool: &str, program: &str) -> &mut Sums {
        if self.pool_names.len() < POOLS_MAX {
            self.pool_names.insert(pool.to_owned());
        }
        let name = if self.pool_names.contains(pool) { pool } else { OTHER };
        self.pools.entry(name.to_owned()).or_insert_with(|| Sums { program: program.to_owned(), ..Sums::default() })
    }

    /// The sums, and the pools of which they cannot be told; counts again.
    pub(super) fn fetch(&mut self) -> (StatesUse, Vec<String>) {
        let pools = std::mem::take(&mut self.pools);
        let (open, told): (Vec<_>, Vec<_>) = pools.into_iter().partition(|(_, sums)| sums.open > 0);
        let states = StatesUse {
            looks: std::mem::take(&mut self.looks),
            cpu_ns: std::mem::take(&mut self.cpu_ns),
            cpu_ns_max: std::mem::take(&mut self.cpu_ns_max),
            pools: told.into_iter().map(|(name, sums)| sums.told(name)).collect(),
        };
        (states, open.into_iter().map(|(name, _)| name).collect())
    }
}

impl Sums {
    fn told(self, name: String) -> PoolUse {
        let wait =
            |([thread, state, syscall, on], samples): ([String; 4], u64)| Wait { thread, state, syscall, on, samples };
        PoolUse {
            name,
            program: self.program,
            workers: self.workers,
            workers_max: self.workers_max,
            running: self.running,
            scheduled: (!self.unscheduled).then_some(self.scheduled),
            idle: self.idle,
            waits: self.waits.into_iter().map(wait).collect(),
            begun: self.begun,
            ended: self.ended,
        }
    }
}

impl Sample {
    /// What a thread of that name counts as that waits in `call`.
    pub(super) fn of(state: State, thread: &str, letter: char, call: &str) -> Self {
        match state {
            State::Idle => Self::Idle,
            State::Blocked(on) => Self::Waiting([thread.to_owned(), letter.to_string(), call.to_owned(), on]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(on: &str) -> Sample {
        Sample::of(State::Blocked(on.to_owned()), "w", 'S', "read")
    }

    #[test]
    fn samples_are_counts_and_the_schedulers_times_are_summed() {
        let mut fold = Fold::default();
        let times = Scheduled { span_ns: 100, ran_ns: 30, waited_ns: 10, runs: Some(3) };
        for sample in [Sample::Running, Sample::Running, Sample::Idle, waiting("db")] {
            fold.present("p", "w");
            fold.scheduled("p", "w", Some(times));
            fold.add("p", "w", sample);
        }
        fold.begun("p", "w");
        fold.sampled(70);
        fold.present("p", "w");
        fold.sampled(30);
        let (states, open) = fold.fetch();
        assert_eq!((states.looks, states.cpu_ns, states.cpu_ns_max, open.len()), (2, 100, 70, 0));
        let pool = &states.pools[0];
        assert_eq!((pool.workers, pool.workers_max, pool.running, pool.idle, pool.begun), (5, 4, 2, 1, 1));
        assert_eq!((pool.waits[0].on.as_str(), pool.waits[0].samples), ("db", 1));
        assert_eq!(pool.scheduled, Some(Scheduled { span_ns: 400, ran_ns: 120, waited_ns: 40, runs: Some(12) }));
        assert_eq!(fold.fetch().0, StatesUse::default(), "counted once");
    }

    #[test]
    fn a_pool_with_samples_that_cannot_be_told_is_left_out_with_its_name() {
        let mut fold = Fold::default();
        fold.add("p", "w", Sample::Idle);
        fold.add("p", "w", Sample::Open);
        fold.add("q", "w", Sample::Running);
        fold.scheduled("q", "w", Some(Scheduled::default()));
        fold.scheduled("q", "w", None);
        let (states, open) = fold.fetch();
        assert_eq!(open, ["p"]);
        assert_eq!((states.pools[0].name.as_str(), states.pools[0].scheduled), ("q", None));
    }

    #[test]
    fn names_are_bounded_for_the_whole_run() {
        let mut fold = Fold::default();
        for n in 0..2 * NAMES_MAX {
            fold.add(&format!("pool {}", n % (2 * POOLS_MAX)), "w", waiting(&format!("10.0.0.{n}:80")));
            if n == NAMES_MAX / 2 {
                fold.fetch();
            }
        }
        let pools = fold.fetch().0.pools;
        assert_eq!(pools.len(), POOLS_MAX + 1);
        assert!(pools.iter().flat_map(|pool| &pool.waits).any(|wait| wait.on == OTHER));
    }
}
