//! Worker pools, from process states, status pages, and threads that never rest.

use super::input::{LimiterInput, kind};
use super::laws;
use super::signal::{Relief, Wait};
use model::{PoolObserved, Setting, StatusRecord};
use std::collections::BTreeMap;

/// Threads of one name that are busier than this never rest: they are a pool that is occupied, whatever else is known.
const NEVER_RESTS: f64 = 0.95;

/// Times that a pool is put on a CPU for each response of the server; of several pools each may have a part of the load.
const WAKES: f64 = 0.1;
/// Workers that run for this share of the time may serve many requests without a wait.
const RUNS: f64 = 0.2;

/// Names of disk waits: the state, and the calls that do nothing else.
const DISK_WAITS: [&str; 3] = ["disk", "fsync", "fdatasync"];

/// Workers that spend less of their occupied time on what may hide a wait for a CPU are known well enough.
const HIDDEN_MAX: f64 = 0.2;
/// Waits behind which another thread may wait for a CPU, as it holds what they wait for.
const BEHIND_THREADS: [&str; 2] = ["lock", "condition"];
/// Workers that run for this share of their occupied time are bound by a CPU.
const ONLY_RUNS: f64 = 0.9;
/// Threads of one process that are less occupied may be of several kinds, of which one is full and the others rest.
const ALIKE: f64 = 0.5;
/// Workers for each process from which on they are its threads.
const THREADED: f64 = 1.5;

/// Looks are a sample, and CPU time is counted in steps: shares that differ by less are the same.
const COARSE: f64 = 0.1;

/// Programs with a thread or a process for each connection: how many there are is up to those who connect.
const PER_CONNECTION: [&str; 3] = ["mariadbd", "mysqld", "postgres"];

/// The built-in server: its pool as its status names it, and the beginning of the names of its threads; its program; and what
/// these threads are called.
const BUILT_IN_POOL: &str = "target";
const BUILT_IN_PROGRAM: &str = "plimsoll";
pub(super) const BUILT_IN_THREADS: &str = "threads of the built-in server";

/// True if a thread of this name serves the requests of the built-in server.
pub(super) fn is_built_in_thread(name: &str) -> bool {
    let number = name.strip_prefix(BUILT_IN_POOL).and_then(|rest| rest.strip_prefix('-'));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A pool of workers at the load.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Pool {
    /// Program of its workers, such as `php-fpm`.
    pub(super) program: String,
    /// Number of workers.
    pub(super) workers: f64,
    /// Share of their time in which they work on a request, 0 to 1.
    pub(super) occupancy: f64,
    /// Share of their time in which they run or could run; none when that is not known.
    pub(super) running: Option<f64>,
    /// Share of their time in which they could run, but no CPU is free; none when that is not known.
    pub(super) runnable: Option<f64>,
    /// Share of their time in which they wait, by what for.
    pub(super) blocked: BTreeMap<String, f64>,
    /// Requests in its own queue at every sample; none when unknown.
    pub(super) queue_min: Option<f64>,
}

impl Pool {
    /// Its name among the resources. The program of the built-in server is the load generator too, which is not meant.
    pub(super) fn resource(&self) -> String {
        match self.program.as_str() {
            BUILT_IN_POOL if self.queue_min.is_some() => "pool workers of the built-in server".to_owned(),
            BUILT_IN_POOL | BUILT_IN_PROGRAM => BUILT_IN_THREADS.to_owned(),
            program => format!("{program} workers"),
        }
    }

    /// True if its number of workers depends on the connections to it.
    pub(super) fn is_per_connection(&self) -> bool {
        PER_CONNECTION.contains(&self.program.as_str())
    }

    /// True if it is a single worker.
    pub(super) fn is_alone(&self) -> bool {
        self.workers < 1.5
    }

    /// True if its workers do nothing but run, or wait for a CPU, while they are occupied.
    pub(super) fn only_runs(&self) -> bool {
        self.running.is_some_and(|runs| runs >= ONLY_RUNS * self.occupancy)
    }

    /// Main wait of its workers, and its share of their occupied time.
    pub(super) fn waits_for(&self) -> Option<(&str, f64)> {
        let most = self.blocked.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
        Some((most.0, most.1 / self.occupancy.max(f64::MIN_POSITIVE)))
    }

    /// Share of their occupied time in which they wait for a disk.
    pub(super) fn waits_for_disk(&self) -> f64 {
        let waits = DISK_WAITS.iter().filter_map(|on| self.blocked.get(*on));
        waits.sum::<f64>() / self.occupancy.max(f64::MIN_POSITIVE)
    }

    /// Time that each response occupies a worker; ns.
    pub(super) fn occupied_ns(&self, per_s: f64) -> Option<f64> {
        laws::occupied_ns(self.workers, self.occupancy, per_s)
    }

    /// Share of the time in which its workers would still be occupied by as many responses were `relief` granted; none where
    /// that is not known.
    pub(super) fn occupancy_after(&self, relief: &Relief, input: &LimiterInput<'_>) -> Option<f64> {
        let left = match relief {
            Relief::Nothing => self.occupancy,
            Relief::Unknown => return None,
            Relief::Cpu => self.occupancy - self.waits_for_cpu(input)?,
            Relief::Waits(waits) => {
                let ended = waits.iter().map(|wait| self.ends_with(wait, input.clean_per_s)).sum::<Option<f64>>()?;
                self.occupancy - ended
            }
        };
        Some(left.clamp(0.0, self.occupancy))
    }

    /// Share of the time in which its workers could run; none where others that they wait for may want a CPU as well.
    fn waits_for_cpu(&self, input: &LimiterInput<'_>) -> Option<f64> {
        let runs_here = |on: &str| input.programs().any(|program| is_program(program, on));
        let may_hide = |on: &str| BEHIND_THREADS.contains(&on) || runs_here(on);
        let hidden: f64 = self.blocked.iter().filter(|(on, _)| may_hide(on)).map(|(_, share)| share).sum();
        self.runnable.filter(|_| hidden < HIDDEN_MAX * self.occupancy)
    }

    /// Share of the time in which its workers queue for something, and not while it works for them; none where that is not
    /// known of a wait that they have.
    fn ends_with(&self, wait: &Wait, per_s: f64) -> Option<f64> {
        let is_meant = wait.of.as_ref().is_none_or(|program| *program == self.program);
        let waits = self.blocked.iter().filter(|(on, _)| is_meant && is_program(on, &wait.on));
        let share: f64 = waits.map(|(_, share)| share).sum();
        if share <= 0.0 {
            return Some(0.0);
        }
        let service = wait.service_ns? * per_s / 1e9 / self.workers;
        Some((share - service).max(0.0))
    }

    /// False where its workers are threads of one process that are hardly occupied: of several kinds one may be full. Processes of
    /// one program, and threads that are occupied together, are alike.
    pub(super) fn are_alike(&self, input: &LimiterInput<'_>) -> bool {
        let all = input.groups().flat_map(|(_, group)| &group.processes);
        let processes: u64 =
            all.filter(|process| process.name == self.program).map(|process| u64::from(process.count)).sum();
        self.occupancy >= ALIKE || processes == 0 || self.workers < THREADED * processes as f64
    }

    /// The setting that says how many workers there are.
    pub(super) fn setting<'a>(&self, settings: &'a [Setting]) -> Option<&'a Setting> {
        let of_this = |setting: &&Setting| self.program.starts_with(&setting.limits);
        // One that names the program before one that is for anything.
        settings.iter().filter(of_this).max_by_key(|setting| setting.limits.len())
    }
}

/// True if two names are of one program: that of a companion may be shorter than that of its process.
pub(super) fn is_program(name: &str, other: &str) -> bool {
    !name.is_empty() && !other.is_empty() && (name.starts_with(other) || other.starts_with(name))
}

/// All pools; of what two sources tell, the states of the processes count, and the queue of the status page.
pub(super) fn pools(input: &LimiterInput<'_>) -> Vec<Pool> {
    let by_states = input.observed_pools().filter(|pool| serves(pool, input.clean_per_s));
    let mut pools: Vec<Pool> = by_states.filter_map(|pool| of_states(pool, input)).collect();
    for told in input.evidence.status.iter().filter_map(of_status) {
        match pools.iter_mut().find(|pool| pool.program.starts_with(&told.program)) {
            Some(pool) => pool.queue_min = told.queue_min,
            None => pools.push(told),
        }
    }
    for busy in restless(input) {
        if !pools.iter().any(|pool| pool.program.starts_with(&busy.program)) {
            pools.push(busy);
        }
    }
    pools
}

/// True if a pool can be what serves the `per_s` responses: who waits for something in each of them is put on a CPU again
/// afterwards. A master that waits on a pipe, a thread that sleeps and looks, an idle helper are occupied with nothing.
fn serves(observed: &PoolObserved, per_s: f64) -> bool {
    let wakes = observed.runs_per_s.is_none_or(|runs_per_s| runs_per_s >= WAKES * per_s);
    wakes || observed.running + observed.runnable.unwrap_or(0.0) >= RUNS
}

fn of_states(observed: &PoolObserved, input: &LimiterInput<'_>) -> Option<Pool> {
    let runnable = observed.runnable.or_else(|| beyond_cpu_time(observed, input));
    (observed.samples > 0 && observed.workers_mean > 0.0).then(|| Pool {
        program: observed.program.clone(),
        workers: observed.workers_mean,
        occupancy: observed.occupancy,
        running: Some(observed.running + observed.runnable.unwrap_or(0.0)),
        runnable,
        blocked: observed.blocked.clone(),
        queue_min: None,
    })
}

/// Share of the time in which workers wait for a CPU, of those whose scheduler this user cannot look at: a process that could run
/// looks like one that runs, and all of them together ran for no longer than their CPU time. None where that explains them.
fn beyond_cpu_time(observed: &PoolObserved, input: &LimiterInput<'_>) -> Option<f64> {
    let all = input.groups().flat_map(|(_, group)| &group.processes);
    let cores: Vec<f64> =
        all.filter(|process| process.name == observed.program).map(|process| process.cpu_cores).collect();
    let ran = cores.iter().sum::<f64>() / observed.workers_mean;
    (!cores.is_empty() && observed.running > COARSE + ran).then_some(observed.running - ran)
}

/// A pool as its status page has it: names of the figures of those that have one.
fn of_status(status: &StatusRecord) -> Option<Pool> {
    let program = status.server.as_deref()?;
    let mean = |name: &str| status.figures.get(name).map(|figure| figure.mean);
    let (busy, workers) = match program {
        "php-fpm" => (mean("processes_active")?, mean("processes")?),
        "apache" => (mean("workers_busy")?, mean("workers_busy")? + mean("workers_idle")?),
        BUILT_IN_POOL => (mean("pool_busy")?, mean("pool_workers")?),
        _ => return None,
    };
    let queue = ["listen_queue", "pool_waiting"].into_iter().find_map(|name| status.figures.get(name));
    (workers > 0.0).then(|| Pool {
        program: program.to_owned(),
        workers,
        occupancy: busy / workers,
        queue_min: queue.map(|queue| queue.min),
        ..Pool::default()
    })
}

/// Threads of one name, two or more, that never rest.
fn restless(input: &LimiterInput<'_>) -> Vec<Pool> {
    let mut by_name: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for thread in input.groups().flat_map(|(_, group)| &group.threads) {
        by_name.entry(kind(&thread.name)).or_default().push(input.wanted(thread));
    }
    let pools = by_name.into_iter().filter_map(|(program, shares)| {
        let busy: Vec<f64> = shares.into_iter().filter(|share| *share >= NEVER_RESTS).collect();
        let workers = busy.len() as f64;
        let occupancy = (busy.iter().sum::<f64>() / workers).min(1.0);
        (busy.len() > 1).then(|| Pool {
            program: program.to_owned(),
            workers,
            occupancy,
            running: Some(occupancy),
            ..Pool::default()
        })
    });
    pools.collect()
}
