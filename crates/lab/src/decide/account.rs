//! Disturbance of a measurement: CPU time that others took during it.

use crate::usage::Ticks;
use procfs::process::{Stat, all_processes};
use procfs::{CurrentSI, KernelStats};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// Part of the machine's CPU time that others may take before a measurement counts as disturbed.
pub const QUIET: f64 = 0.02;

/// Stretch of a watched measurement of which the worst counts.
const STRETCH: Duration = Duration::from_secs(2);

/// Least CPU time of the machine in the last stretch; ticks of 10 ms.
const TICKS_MIN: u64 = 100;

/// First process, and the one whose children are threads of the kernel.
const INIT: i32 = 1;
const KTHREADD: i32 = 2;

/// How much of the machine's CPU time others took, and who.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Disturbance {
    /// Of the CPU time of the machine, 0 to 1.
    pub share: f64,
    /// Who took most of it.
    pub cause: String,
}

impl Disturbance {
    /// So much, by that cause.
    pub fn new(share: f64, cause: impl Into<String>) -> Self {
        Self { share, cause: cause.into() }
    }

    /// The larger one.
    fn or(self, other: Self) -> Self {
        if other.share > self.share { other } else { self }
    }
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cause = if self.cause.is_empty() { "others" } else { &self.cause };
        write!(f, "{:.1} % of the CPU time taken by {cause}", self.share * 100.0)
    }
}

/// A measurement that knows how disturbed it was.
pub trait Account {
    /// How disturbed it was.
    fn disturbance(&self) -> Disturbance;
}

/// A record of plimsoll: the worst part of it, such as a point of a sweep.
impl Account for Value {
    fn disturbance(&self) -> Disturbance {
        let parts: Vec<&Self> = match self {
            Self::Object(map) => map.values().collect(),
            Self::Array(list) => list.iter().collect(),
            _ => return Disturbance::default(),
        };
        parts.into_iter().map(Account::disturbance).fold(own_account(self), Disturbance::or)
    }
}

/// What a run says itself of disturbance, or a trial of several of the part that was set aside; without that, what a run
/// observed of the machine.
fn own_account(run: &Value) -> Disturbance {
    if let Some(clean_share) = run["clean_share"].as_f64() {
        return Disturbance::new(1.0 - clean_share, "others in a trial, part of which was set aside");
    }
    let account = &run["disturbance"];
    if let Some(share) = account["taken_share"].as_f64() {
        return Disturbance::new(share, account["cause"].as_str().unwrap_or_default());
    }
    let machine = &run["observed"]["machine"];
    let others = &run["observed"]["others"];
    let steal = Disturbance::new(machine["steal_max"].as_f64().unwrap_or(0.0), "steal in the worst second");
    let cpus = machine["cpus"].as_f64().unwrap_or(1.0).max(1.0);
    steal.or(Disturbance::new(others["cpu_cores"].as_f64().unwrap_or(0.0) / cpus, "other programs"))
}

/// A measurement that checks itself: one that has ended is right.
impl Account for () {
    fn disturbance(&self) -> Disturbance {
        Disturbance::default()
    }
}

impl<T> Account for (Value, T) {
    fn disturbance(&self) -> Disturbance {
        self.0.disturbance()
    }
}

/// What was measured while [`watch`] looked at the machine.
pub struct Watched<T> {
    /// What was measured.
    pub value: T,
    disturbance: Disturbance,
}

impl<T> Watched<T> {
    /// What was measured, made into something else.
    pub fn map<U>(self, into: impl FnOnce(T) -> U) -> Watched<U> {
        Watched { value: into(self.value), disturbance: self.disturbance }
    }
}

impl<T> Account for Watched<T> {
    fn disturbance(&self) -> Disturbance {
        self.disturbance.clone()
    }
}

/// For what has no record, or makes a disturbance itself: steal, and the CPU time of processes that this one has not started, in
/// the worst stretch of it. A short burst can decide a long measurement, so that its mean says too little.
pub fn watch<T>(measure: impl FnOnce() -> T) -> Watched<T> {
    let (ended, end) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let worst = scope.spawn(move || worst_stretch(&end));
        let value = measure();
        drop(ended);
        Watched { value, disturbance: worst.join().expect("/proc can be read") }
    })
}

/// Until the other end of `end` is dropped.
fn worst_stretch(end: &Receiver<()>) -> Disturbance {
    let mut worst = Disturbance::default();
    let mut begin = Snapshot::take();
    loop {
        let is_over = end.recv_timeout(STRETCH) == Err(RecvTimeoutError::Disconnected);
        let now = Snapshot::take();
        // A rest of some milliseconds has too few ticks to be a share of anything.
        if !is_over || now.total - begin.total >= TICKS_MIN || worst.cause.is_empty() {
            worst = worst.or(begin.until(&now));
        }
        if is_over {
            return worst;
        }
        begin = now;
    }
}

/// CPU times since the start of the machine; ticks.
struct Snapshot {
    steal: u64,
    /// Of all CPUs, idle time too.
    total: u64,
    /// By name, of each process that belongs to others: its own and that of ended children it has waited for.
    foreign: BTreeMap<String, u64>,
}

impl Snapshot {
    fn take() -> Self {
        let Ticks { steal, total, .. } = Ticks::from(&KernelStats::current().expect("/proc/stat").total);
        // Processes may end while they are read.
        let processes: Vec<Stat> =
            all_processes().expect("/proc").filter_map(|process| process.ok()?.stat().ok()).collect();
        let mut foreign = BTreeMap::new();
        for (name, ticks) in foreign_times(&processes, std::process::id().cast_signed()) {
            *foreign.entry(name.to_owned()).or_insert(0) += ticks;
        }
        Self { steal, total, foreign }
    }

    fn until(&self, later: &Self) -> Disturbance {
        let total = later.total.saturating_sub(self.total).max(1) as f64;
        let grown = |name: &str, ticks: u64| ticks.saturating_sub(self.foreign.get(name).copied().unwrap_or(0));
        let others: u64 = later.foreign.iter().map(|(name, ticks)| grown(name, *ticks)).sum();
        let most = later.foreign.iter().max_by_key(|(name, ticks)| grown(name, **ticks));
        let by = most.map_or("other programs", |(name, _)| name);
        let steal = Disturbance::new(later.steal.saturating_sub(self.steal) as f64 / total, "steal");
        let share = steal.share + others as f64 / total;
        Disturbance { share, cause: steal.or(Disturbance::new(others as f64 / total, by)).cause }
    }
}

/// CPU times of processes that are neither `own`, nor descend from it, nor are threads of the kernel.
fn foreign_times(processes: &[Stat], own: i32) -> impl Iterator<Item = (&str, u64)> {
    let parents: BTreeMap<i32, i32> = processes.iter().map(|stat| (stat.pid, stat.ppid)).collect();
    let is_foreign = move |pid: i32| {
        let mut lineage = std::iter::successors(Some(pid), |pid| parents.get(pid).copied());
        lineage.all(|pid| pid != own && pid != KTHREADD)
    };
    let foreign = processes.iter().filter(move |stat| is_foreign(stat.pid));
    foreign.map(|stat| {
        // What init waits for are orphans, of tests too.
        let waited = if stat.pid == INIT { 0 } else { stat.cutime + stat.cstime };
        (stat.comm.as_str(), stat.utime + stat.stime + waited.cast_unsigned())
    })
}
