//! Limiter input: one saturated load, facts of the machine, and the shape of the curve there.

use crate::facts::curve::fit_points;
use crate::facts::kernel::own_drops_share;
use crate::facts::kinds::{Kinds, kinds};
use crate::facts::saturation::is_flat;
use crate::facts::{OCCUPIED, Placement, client_cpus, placement};
use model::{
    CpuShares, Evidence, GeneratorObserved, LimiterContext, Load, NS_PER_S, Observed, OtherObserved, PoolObserved,
    ServerObserved, ServerThreadObserved, SweepEvidence, SweepPoint,
};
use stats::fit_pool;
use std::collections::{BTreeMap, BTreeSet};

/// Shape of goodput and time up to the load; none without a curve.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Shape {
    /// More load bought no more goodput.
    pub(super) flat: Option<bool>,
    /// True if more connections were measured as well, which got no more.
    pub(super) is_passed: bool,
    /// Response times grew about as the load did.
    pub(super) grows: Option<bool>,
    /// The pool that the whole curve fits.
    pub(super) pool: Option<PoolShape>,
    /// The server's accept queue dropped connections at the first load of the plateau already.
    pub(super) dropped_early: Option<bool>,
    /// The two kinds of service times at the first load, and at this one; none where they are of one kind at either.
    pub(super) kinds: Option<[Kinds; 2]>,
    /// Goodput of all loads; none of rates, and of fewer loads than show that it does not depend on them.
    pub(super) constant: Option<ConstantRate>,
}

/// Goodput over all loads of a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ConstantRate {
    /// Mean; responses per second.
    pub(super) rate_per_s: f64,
    /// Between the highest and the lowest load, as a share of the mean.
    pub(super) spread: f64,
}

/// Fewer loads do not show that goodput is the same at all of them.
const LOADS_MIN: usize = 4;

/// An accept queue that drops more than this share of the attempts to connect overflows (rule NE-01).
pub(super) const OVERFLOWN: f64 = 0.0001;
/// A fit of the pool model that is off by less explains the bend.
const FIT_ERROR: f64 = 0.1;

/// A pool as a curve shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PoolShape {
    /// Connections at the knee.
    pub(super) knee: f64,
    /// Responses per second beyond it.
    pub(super) plateau_per_s: f64,
    /// Largest relative error of the fit.
    pub(super) error_max: f64,
}

/// A smaller exponent of time by load is no queue that grows with the load.
const GROWTH: f64 = 0.5;
/// Loads that are nearer to each other say nothing about growth.
const APART: f64 = 1.4;
/// A point with this share of the goodput is on the same plateau.
const PLATEAU: f64 = 0.9;
/// A rate of which this share is answered well is held; of arrivals at random a window has a few percent more or fewer.
const HELD: f64 = 0.95;
/// A thread is alone when the next of its name has less than this share of its CPU time.
const ALONE: f64 = 0.7;

/// A resource in use to this share is nearly full.
const NEARLY_FULL: f64 = 0.85;

/// A resource in use to this share may be full for some of the time.
pub(super) const PERHAPS_FULL: f64 = 0.7;

/// A hypervisor that leaves less than this is counted as if it left so much: nothing can be said of the server then.
const GRANTED_MIN: f64 = 0.1;
/// The same for time that is set aside: where more of it is, the result is a bound in any case.
const UNDISTURBED_MIN: f64 = 0.5;

/// The CPUs that a server may use; shares of the time in which it could use them. A CPU that is stolen for a tenth of the time and
/// busy for the rest has nothing to give any more; nor has one that another program took for a tenth, whose time is set aside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cpus {
    /// Share in which they were busy, with whatever.
    pub(super) busy: f64,
    /// Share that the load costs: server, companions and interrupts, the load generator where it runs on them too, and what
    /// may work for the server.
    pub(super) used: f64,
    /// The part of it that programs had of which it cannot be seen whether they work for the server.
    pub(super) undecided: f64,
    /// Where the time went; `steal` in parts of all time.
    pub(super) shares: CpuShares,
    /// Share of the time in which the server could use them.
    pub(super) granted: f64,
    /// Number of CPUs.
    pub(super) count: f64,
}

impl Shape {
    /// The shape of a sweep up to its point `at`.
    pub(super) fn of(sweep: &SweepEvidence, at: usize) -> Self {
        let points = &sweep.points[..=at];
        let last = &points[at];
        let flat = (points.len() > 1).then(|| is_flat(points, sweep.over_rate));
        let first = points.iter().find(|point| point.goodput_per_s >= PLATEAU * last.goodput_per_s);
        let dropped_early = first.and_then(|first| Some(own_drops_share(&first.evidence)? > OVERFLOWN));
        let first = first.filter(|first| last.load / first.load >= APART && !sweep.over_rate);
        let grows = first.and_then(|first| {
            let times = [first, last].map(|point| point.evidence.latency.response.mean_ns);
            (times[0] > 0.0).then(|| (times[1] / times[0]).ln() / (last.load / first.load).ln() >= GROWTH)
        });
        let fit = fit_pool(&fit_points(sweep)).filter(|fit| !sweep.over_rate && fit.fit.error_max <= FIT_ERROR);
        let pool = fit.map(|fit| PoolShape {
            knee: fit.knee,
            plateau_per_s: fit.fit.plateau_per_s,
            error_max: fit.fit.error_max,
        });
        let kinds = |point: &SweepPoint| kinds(&point.evidence.service_bins);
        let kinds = points.first().and_then(kinds).zip(kinds(last)).map(|(first, last)| [first, last]);
        let constant = constant(points).filter(|_| !sweep.over_rate);
        let is_passed = points.len() < sweep.points.len() && !sweep.over_rate;
        Self { flat, is_passed, grows, pool, dropped_early, kinds, constant }
    }
}

fn constant(points: &[SweepPoint]) -> Option<ConstantRate> {
    let all = || points.iter().map(|point| point.goodput_per_s);
    let rate_per_s = all().sum::<f64>() / points.len().max(1) as f64;
    let spread = (all().fold(0.0, f64::max) - all().fold(f64::INFINITY, f64::min)) / rate_per_s;
    (points.len() >= LOADS_MIN && rate_per_s > 0.0).then_some(ConstantRate { rate_per_s, spread })
}

/// One load as the detectors see it.
pub(super) struct LimiterInput<'a> {
    pub(super) evidence: &'a Evidence,
    pub(super) context: &'a LimiterContext,
    pub(super) shape: Shape,
    /// Good responses per second of the whole window, as CPU time is.
    pub(super) per_s: f64,
    /// Good responses per second of undisturbed time, as what workers do is.
    pub(super) clean_per_s: f64,
    /// Share from which on a worker pool or a thread is full.
    pub(super) full: f64,
}

impl<'a> LimiterInput<'a> {
    /// CPUs that the quota of the server's control group amounts to.
    pub(super) fn quota_cpus(&self) -> Option<f64> {
        let gauge = self.observed()?.gauges.get(OF_SERVER)?.get("cpu_quota_ns_per_s")?;
        (gauge.mean > 0.0).then(|| gauge.mean / NS_PER_S as f64)
    }

    /// Share of the quota that the server uses; a group may have more in it, which is not known.
    pub(super) fn quota_used(&self) -> Option<f64> {
        Some(self.observed()?.server.as_ref()?.cpu_cores / self.quota_cpus()?)
    }

    pub(super) fn new(evidence: &'a Evidence, context: &'a LimiterContext, shape: Shape) -> Self {
        let input = Self { evidence, context, shape, per_s: 0.0, clean_per_s: 0.0, full: OCCUPIED };
        let clean_per_s = evidence::goodput(evidence).value;
        Self { per_s: evidence.flow.good as f64 / input.seconds(), clean_per_s, ..input }
    }

    /// The same where a resource counts as full that is nearly so: a client on the same CPUs keeps a full one from being used up
    /// to the last.
    pub(super) fn with_nearly_full(&self) -> Self {
        Self { full: NEARLY_FULL, ..*self }
    }

    /// The same where a resource counts as full that may be: it is used more than a server with room uses it.
    pub(super) fn with_perhaps_full(&self) -> Self {
        Self { full: PERHAPS_FULL, ..*self }
    }

    /// Length of the measured windows.
    pub(super) fn seconds(&self) -> f64 {
        self.evidence.measured_ns.max(1) as f64 / NS_PER_S as f64
    }

    pub(super) fn observed(&self) -> Option<&'a Observed> {
        self.evidence.observed.as_ref()
    }

    /// All pools whose workers were looked at, idle helpers too.
    pub(super) fn observed_pools(&self) -> impl Iterator<Item = &'a PoolObserved> {
        self.observed().into_iter().flat_map(|observed| &observed.pools)
    }

    /// Growth of a counter of the kernel; none where its part is not there.
    pub(super) fn counter(&self, part: &str, name: &str) -> Option<f64> {
        self.observed()?.counters.get(part)?.get(name).map(|n| *n as f64)
    }

    /// Growth of a counter of ns as a share of the window.
    pub(super) fn share_of_time(&self, part: &str, name: &str) -> Option<f64> {
        Some(self.counter(part, name)? / self.evidence.measured_ns.max(1) as f64)
    }

    /// Parts of a kind, such as `disk`, by name, with their counters.
    pub(super) fn parts(&self, kind: &str) -> impl Iterator<Item = (&'a str, &'a BTreeMap<String, u64>)> {
        let all = self.observed().into_iter().flat_map(|observed| &observed.counters);
        let of_kind = all.filter_map(move |(part, counters)| {
            let name = part.strip_prefix(kind)?.strip_prefix('/')?;
            Some((name, counters))
        });
        of_kind.collect::<Vec<_>>().into_iter()
    }

    /// True if the server gives all that is asked of it: an open loop whose rate it holds, or a load beyond which goodput
    /// still rises.
    pub(super) fn is_served(&self) -> bool {
        let holds = match self.evidence.plan.load {
            Load::Open { rate_per_s, .. } => self.per_s >= HELD * rate_per_s,
            Load::Closed { .. } => false,
        };
        self.shape.flat.map_or(holds, |flat| !flat)
    }

    /// True if the server's processes are visible: they run on this machine.
    pub(super) fn sees_server(&self) -> bool {
        self.observed().is_some_and(|observed| observed.server.is_some())
    }

    /// The CPUs that the server may use; none when it runs elsewhere.
    pub(super) fn server_cpus(&self) -> Option<Cpus> {
        let machine = self.observed()?.machine.as_ref().filter(|_| self.sees_server())?;
        // What is allowed and not there is offline, and no CPU to be had.
        let of = |cpu: &u32| Some((machine.busy_of(*cpu)?, *machine.shares_of(*cpu)?));
        let all: Vec<(f64, CpuShares)> = self.allowed_cpus().iter().filter_map(of).collect();
        let (busy, shares, count) = match all.is_empty() {
            false => {
                let mean = |of: fn(&(f64, CpuShares)) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
                let shares = CpuShares {
                    user: mean(|(_, cpu)| cpu.user),
                    system: mean(|(_, cpu)| cpu.system),
                    softirq: mean(|(_, cpu)| cpu.softirq),
                    steal: mean(|(_, cpu)| cpu.steal),
                    ..CpuShares::default()
                };
                (mean(|(busy, _)| *busy), shares, all.len() as f64)
            }
            true => {
                let (user, system, softirq) = (machine.user_mean, machine.system_mean, machine.softirq_mean);
                let shares = CpuShares { user, system, softirq, steal: machine.steal_mean, ..CpuShares::default() };
                (machine.busy_mean, shares, f64::from(machine.cpus).max(1.0))
            }
        };
        let own_cores: f64 = self.groups().map(|(_, group)| group.cpu_cores).sum();
        let generator = self.generator_beside().map_or(0.0, |generator| generator.cpu_cores);
        // On which CPUs they ran is not known.
        let is_whole = count >= f64::from(machine.cpus);
        let undecided_cores: f64 = self.undecided().filter(|_| is_whole).map(|other| other.cpu_cores).sum();
        let named = ((own_cores + generator) / count + shares.softirq).min(busy);
        let used = (named + undecided_cores / count).min(busy);
        let left = (1.0 - shares.steal).max(GRANTED_MIN);
        let CpuShares { user, system, softirq, .. } = shares;
        let [busy, user, system, softirq] = [busy, user, system, softirq].map(|share| share / left);
        // A response costs as much CPU time in undisturbed time as in all of it, and there are more of them.
        let granted = left.min(self.undisturbed());
        let [used, undecided] = [used, used - named].map(|share| (share / granted).min(used.max(1.0)));
        let shares = CpuShares { user, system, softirq, ..shares };
        Some(Cpus { busy: busy.max(used), used, undecided, shares, granted, count })
    }

    /// Responses per second of the whole window as a share of those of its undisturbed time: of the other responses others have
    /// kept the server, or the load generator, for that long.
    fn undisturbed(&self) -> f64 {
        let share = self.per_s / self.clean_per_s;
        if share.is_finite() { share.clamp(UNDISTURBED_MIN, 1.0) } else { 1.0 }
    }

    /// Programs of which it cannot be seen whether they work for the server.
    pub(super) fn undecided(&self) -> impl Iterator<Item = &'a OtherObserved> {
        let others = self.observed().and_then(|seen| seen.others.as_ref());
        others.into_iter().flat_map(|others| &others.undecided)
    }

    /// Share of the time in which a thread ran or waited for a CPU, of all the time in which it could have run. What it waited
    /// for programs whose time is set aside is in no part of that twice.
    pub(super) fn wanted(&self, thread: &ServerThreadObserved) -> f64 {
        let wanted = wanted(thread) / self.granted();
        wanted.min(1.0_f64.max(self::wanted(thread)))
    }

    /// Share of the time in which a thread ran, of all the time in which it could have run.
    pub(super) fn ran(&self, thread: &ServerThreadObserved) -> f64 {
        (thread.user_mean + thread.system_mean) / self.granted()
    }

    fn granted(&self) -> f64 {
        self.server_cpus().map_or(1.0, |cpus| cpus.granted)
    }

    /// Program of a process: the name of its first thread, or, where that is not told, the program of its group that uses most.
    pub(super) fn program_of(&self, pid: i32) -> &'a str {
        let group = self.groups().map(|(_, group)| group).find(|group| group.threads.iter().any(|it| it.pid == pid));
        let first = group.and_then(|group| group.threads.iter().find(|it| it.pid == pid && it.tid == pid));
        let largest = || group.and_then(|group| group.processes.first()).map(|process| process.name.as_str());
        first.map(|thread| thread.name.as_str()).or_else(largest).unwrap_or_default()
    }

    /// Names of the programs that are observed.
    pub(super) fn programs(&self) -> impl Iterator<Item = &'a str> {
        self.groups().flat_map(|(_, group)| &group.processes).map(|process| process.name.as_str())
    }

    /// CPUs that the server may use: those it was given, or those that it and its companions are seen to be allowed.
    /// Empty: all of the machine, or not known.
    pub(super) fn allowed_cpus(&self) -> BTreeSet<u32> {
        match self.context.server_cpus.as_slice() {
            [] => self.observed().map_or_else(BTreeSet::new, Observed::allowed_cpus),
            given => given.iter().copied().collect(),
        }
    }

    /// The load generator, where it has no CPUs of its own.
    pub(super) fn generator_beside(&self) -> Option<&'a GeneratorObserved> {
        self.generator_on(&self.allowed_cpus())
    }

    /// The load generator, where it may run on these CPUs.
    fn generator_on(&self, cpus: &BTreeSet<u32>) -> Option<&'a GeneratorObserved> {
        let mine = client_cpus(self.evidence);
        let apart = !mine.is_empty() && !cpus.is_empty() && mine.iter().all(|cpu| !cpus.contains(cpu));
        self.observed()?.generator.as_ref().filter(|_| !apart && placement(self.evidence) != Placement::Remote)
    }

    /// Share in use of the CPUs of the server and its companions together, where these have others than the server; all that work
    /// for it have no more than these, whatever is changed in one of them.
    pub(super) fn shared_cpus_used(&self) -> Option<f64> {
        let servers = self.allowed_cpus();
        let all: BTreeSet<u32> = self.observed()?.allowed_cpus().union(&servers).copied().collect();
        if servers.is_empty() || all.len() == servers.len() {
            return None;
        }
        let own_cores: f64 = self.groups().map(|(_, group)| group.cpu_cores).sum();
        let generator = self.generator_on(&all).map_or(0.0, |generator| generator.cpu_cores);
        Some((own_cores + generator) / all.len() as f64)
    }

    /// Server and companions with their names.
    pub(super) fn groups(&self) -> impl Iterator<Item = (&'a str, &'a ServerObserved)> {
        self.observed().into_iter().flat_map(Observed::named_groups)
    }

    /// The threads that are the only busy one of their name: an event loop, a lock holder, a single process.
    pub(super) fn lone_threads(&self) -> Vec<&'a ServerThreadObserved> {
        let all: Vec<_> = self.groups().flat_map(|(_, group)| &group.threads).collect();
        let is_lone = |thread: &&ServerThreadObserved| {
            let others = all.iter().filter(|other| kind(&other.name) == kind(&thread.name) && other.tid != thread.tid);
            others.map(|other| wanted(other)).all(|other| other < ALONE * wanted(thread))
        };
        all.iter().copied().filter(is_lone).collect()
    }
}

/// Names of resources that more than one place speaks of.
pub(super) const CPUS: &str = "server CPUs";
/// See [`CPUS`].
pub(super) const SHARED_CPUS: &str = "CPUs of the server and its companions";
/// See [`CPUS`]; the name of the disk follows.
pub(super) const DISK: &str = "disk ";
/// See [`CPUS`].
/// Control group of the server, among the parts of the kernel.
pub(super) const OF_SERVER: &str = "cgroup/server";
pub(super) const QUOTA: &str = "CPU quota";

/// The name of a thread without the number at its end.
pub(super) fn kind(name: &str) -> &str {
    let named = name.trim_end_matches(|c: char| c.is_ascii_digit() || "-_/:#.".contains(c));
    if named.is_empty() { name } else { named }
}

/// Share of the time in which a thread ran or waited for a CPU.
fn wanted(thread: &ServerThreadObserved) -> f64 {
    thread.user_mean + thread.system_mean + thread.wait_mean.unwrap_or(0.0)
}
