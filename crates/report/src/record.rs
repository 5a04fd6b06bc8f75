//! Records from evidence: pure conversion, no judgement.

mod experiment;
mod layers;

pub use experiment::{STEPS_FOLDER, experiment_record, step_result};

use model::{
    AgentLoss, AgentRecord, Bytes, CapacityRecord, CompareRecord, Environment, Estimate, Evidence, ExperimentRecord,
    FORMAT_RUN, FORMAT_SWEEPS, Generator, LatencyRecord, LostAgent, MixCount, MixRecord, Observed, ObservedSecond,
    Peak, PointSummary, RenderRecord, Request, Requests, RunRecord, Second, SweepRecord, SweepsRecord, Verdict,
    VerdictState,
};
use std::collections::{BTreeMap, BTreeSet};

/// Characters of a label in the name of its directory.
const ARM_NAME_MAX: usize = 60;

/// Why nothing is known of the server where nobody looked.
const NOT_LOOKED_AT: &str = "the server was not observed";

/// A result of any kind.
#[derive(Clone, Copy, Debug)]
pub enum AnyRecord<'a> {
    /// One load.
    Run(&'a RunRecord),
    /// Rising load.
    Sweep(&'a SweepRecord),
    /// Rising load on several arms, one after the other.
    Sweeps(&'a SweepsRecord),
    /// Highest load that meets a goal.
    Capacity(&'a CapacityRecord),
    /// Variants against a baseline.
    Compare(&'a CompareRecord),
    /// Steps of any other kind.
    Experiment(&'a ExperimentRecord),
    /// Pages in a browser.
    Render(&'a RenderRecord),
}

impl<'a> AnyRecord<'a> {
    /// The sweeps in it: one, those of several arms, or none of a run, a capacity or a comparison.
    #[must_use]
    pub fn sweeps(self) -> &'a [SweepRecord] {
        match self {
            Self::Run(_) | Self::Capacity(_) | Self::Compare(_) | Self::Experiment(_) | Self::Render(_) => &[],
            Self::Sweep(record) => std::slice::from_ref(record),
            Self::Sweeps(record) => &record.sweeps,
        }
    }

    /// Objective of the response time, of a run and of a sweep; none without one. ns
    #[must_use]
    pub fn slo_ns(self) -> Option<u64> {
        match self {
            Self::Run(record) => record.plan.slo_ns,
            Self::Sweep(record) => record.points.first()?.plan.slo_ns,
            Self::Sweeps(_) | Self::Capacity(_) | Self::Compare(_) | Self::Experiment(_) | Self::Render(_) => None,
        }
    }

    /// True if it was stopped before the plan was done.
    #[must_use]
    pub const fn is_interrupted(self) -> bool {
        match self {
            Self::Run(record) => record.interrupted,
            Self::Sweep(record) => record.interrupted,
            Self::Sweeps(record) => record.interrupted,
            Self::Capacity(record) => record.interrupted,
            Self::Compare(record) => record.interrupted,
            Self::Experiment(record) => record.interrupted,
            Self::Render(record) => record.interrupted,
        }
    }
}

/// The record of one measured load. `started` is RFC 3339, UTC.
#[must_use]
pub fn run_record(
    evidence: &Evidence,
    verdict: Verdict,
    goodput: Estimate,
    environment: Environment,
    started: String,
) -> RunRecord {
    let (flow, latency) = (&evidence.flow, &evidence.latency);
    RunRecord {
        format: FORMAT_RUN.to_owned(),
        verdict,
        thresholds: Vec::new(),
        goodput_per_s: goodput,
        throughput_per_s: evidence::throughput_per_s(evidence),
        server_cpu_ns_per_request: server_cpu(evidence),
        server_cpu_unavailable: server_cpu_unavailable(evidence),
        requests: Requests::new(&evidence.cohort, mix(evidence)),
        sent_in_all: evidence.sent_in_all,
        connections: evidence.connections,
        tls: evidence.tls.clone(),
        latency_ns: LatencyRecord {
            response: latency.response.clone().into(),
            service: latency.service.clone().into(),
            first_byte: latency.first_byte.clone().into(),
            slip_client: latency.slip_client.clone().into(),
            slip_blocked: latency.slip_blocked.clone().into(),
            handshake: latency.handshake.clone().into(),
        },
        bytes: Bytes { received: flow.bytes_received, sent: flow.bytes_sent },
        generator: generator(evidence),
        agents: evidence.agents.clone(),
        agent_lost: lost_first(&evidence.agents),
        seconds: evidence.seconds.clone(),
        observed: evidence.observed.clone(),
        client_machine: evidence.client_machine.clone(),
        disturbance: evidence.disturbance.clone(),
        status: evidence.status.clone(),
        profile: evidence.profile.clone(),
        profile_unavailable: None,
        limiter: None,
        probe: evidence.probe.clone(),
        plan: evidence.plan.clone(),
        environment,
        started,
        measured_ns: evidence.measured_ns,
        iterations: evidence.iterations,
        interrupted: evidence.interrupted,
        aborted: None,
    }
}

/// The one that was lost first.
fn lost_first(agents: &[AgentRecord]) -> Option<LostAgent> {
    let lost = agents.iter().filter_map(|agent| Some((&agent.name, agent.lost.as_ref()?)));
    let (name, AgentLoss { at_ns, why }) = lost.min_by_key(|(_, loss)| loss.at_ns)?;
    Some(LostAgent { name: name.clone(), at_ns: Some(*at_ns), why: why.clone() })
}

/// CPU time per complete response of the server and its companions; the interval is that of its seconds.
fn server_cpu(evidence: &Evidence) -> Option<Estimate> {
    let observed = evidence.observed.as_ref()?;
    let value = observed.server_cpu_ns_per_request()?;
    let seconds = observed.seconds.iter().zip(&evidence.seconds);
    let costs: Option<Vec<f64>> = match observed.seconds.len() == evidence.seconds.len() && evidence.iterations == 1 {
        true => seconds.map(|(seen, second)| cost_ns(seen, second)).collect(),
        false => None,
    };
    let series = stats::mean_of_series(&costs.unwrap_or_default());
    let shift = value - series.value;
    Some(Estimate {
        value,
        low: series.low.map(|low| low + shift),
        high: series.high.map(|high| high + shift),
        n: series.n,
    })
}

/// Why the CPU time per response is not known; none where it is.
fn server_cpu_unavailable(evidence: &Evidence) -> Option<String> {
    let Some(observed) = &evidence.observed else { return Some(NOT_LOOKED_AT.to_owned()) };
    let is_known = observed.server_cpu_ns_per_request().is_some();
    let why = match observed.server {
        None => observed.unavailable.get(Observed::SERVER).map_or(NOT_LOOKED_AT, String::as_str),
        Some(_) if evidence.flow.completed == 0 => "there was no complete response",
        Some(_) => "the server used less CPU time than the kernel counts",
    };
    (!is_known).then(|| why.to_owned())
}

fn cost_ns(seen: &ObservedSecond, second: &Second) -> Option<f64> {
    let per_ns = ratio(second.completed as f64, second.length_ns as f64);
    seen.server_cpu_cores().filter(|_| per_ns > 0.0).map(|cores| cores / per_ns)
}

/// One point of a sweep's curve from its merged record, with the goodput of each of its iterations, per second.
/// `load` is connections or requests per second.
#[must_use]
pub fn point_summary(load: f64, iterations_per_s: Vec<f64>, record: &RunRecord) -> PointSummary {
    let requests = &record.requests;
    let failed: u64 = requests.failures.values().sum();
    let attempted = requests.counts.planned.max(requests.counts.good + failed);
    let observed = record.observed.as_ref();
    PointSummary {
        load,
        goodput_per_s: record.goodput_per_s.value,
        iterations_per_s,
        response_p50_ns: record.latency_ns.response.p50,
        response_p99_ns: record.latency_ns.response.p99,
        failed_share: ratio(failed as f64, attempted as f64),
        generator_busy_max: record.generator.busy_max,
        server_cpu_cores: observed.and_then(Observed::server_cpu_cores),
        machine_busy_mean: observed.and_then(|observed| Some(observed.machine.as_ref()?.busy_mean)),
        pools: observed.map(pools).unwrap_or_default(),
        clean_share: record.disturbance.as_ref().map(|seen| ratio(seen.clean_ns as f64, record.measured_ns as f64)),
        disturbed: false,
    }
}

/// Mean occupancy of each pool: of those that were sampled, and of those that servers tell of themselves.
fn pools(observed: &Observed) -> BTreeMap<String, f64> {
    let mut told: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (name, occupancy) in observed.seconds.iter().flat_map(|second| &second.pools) {
        let (sum, n) = told.entry(name).or_default();
        (*sum, *n) = (*sum + occupancy, *n + 1.0);
    }
    let told = told.into_iter().map(|(name, (sum, n))| (name.to_owned(), sum / n));
    // Those of all samples together are the better mean.
    told.chain(observed.pools.iter().map(|pool| (pool.name.clone(), pool.occupancy))).collect()
}

/// The peak of a curve, as [`stats::peak_index`] defines it: the least load within 1 % of the highest goodput, with its
/// own goodput. None for an empty curve.
#[must_use]
pub fn peak(curve: &[PointSummary]) -> Option<Peak> {
    let goodput: Vec<_> = curve.iter().map(|point| point.goodput_per_s).collect();
    let point = &curve[stats::peak_index(&goodput)?];
    Some(Peak { load: point.load, goodput_per_s: point.goodput_per_s, ..Peak::default() })
}

/// The merged measurements of a sweep's peak.
#[must_use]
pub fn peak_point(record: &SweepRecord) -> Option<&RunRecord> {
    let peak = record.peak?;
    let points = record.curve.iter().zip(&record.points);
    points.into_iter().find(|(point, _)| point.load == peak.load).map(|(_, run)| run)
}

/// Several arms as one record, from their labels and sweeps in the order measured. Of none it is invalid.
#[must_use]
pub fn sweeps_record(arms: Vec<(String, SweepRecord)>) -> SweepsRecord {
    let sweeps: Vec<SweepRecord> =
        arms.into_iter().map(|(label, sweep)| SweepRecord { arm: Some(label), ..sweep }).collect();
    let unchecked: BTreeSet<&String> = sweeps.iter().flat_map(|sweep| &sweep.verdict.unchecked).collect();
    let verdict = Verdict {
        state: sweeps.iter().map(|sweep| sweep.verdict.state).max().unwrap_or(VerdictState::Invalid),
        findings: Vec::new(),
        unchecked: unchecked.into_iter().cloned().collect(),
        unchecked_why: sweeps.iter().flat_map(|sweep| sweep.verdict.unchecked_why.clone()).collect(),
    };
    SweepsRecord {
        format: FORMAT_SWEEPS.to_owned(),
        verdict,
        started: sweeps.iter().map(|sweep| sweep.started.clone()).min().unwrap_or_default(),
        interrupted: sweeps.iter().any(|sweep| sweep.interrupted),
        sweeps,
    }
}

/// Directory of the profiles of a comparison, inside that of its result.
pub const PROFILES_FOLDER: &str = "profiles";

/// Name of the files of what changed from the profile of the baseline to that of the variant at `index`, from 1, without their
/// ends: `profiles/1-to-2`.
#[must_use]
pub fn difference_stem(index: usize) -> String {
    format!("{PROFILES_FOLDER}/1-to-{}", index + 1)
}

/// The same of PHP functions.
#[must_use]
pub fn php_difference_stem(index: usize) -> String {
    format!("{PROFILES_FOLDER}/php-1-to-{}", index + 1)
}

/// Directory of the arms of several, inside that of all.
pub const ARMS_FOLDER: &str = "arms";

/// Where the arm at `index`, from 0, is kept inside the directory of several: `arms/1-nginx-workers-4`.
#[must_use]
pub fn arm_folder(index: usize, label: &str) -> String {
    let words =
        label.split(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '_').filter(|word| !word.is_empty());
    let name: String = words.collect::<Vec<_>>().join("-").chars().take(ARM_NAME_MAX).collect();
    format!("{ARMS_FOLDER}/{}-{name}", index + 1).trim_end_matches('-').to_owned()
}

fn mix(evidence: &Evidence) -> Vec<MixRecord> {
    let counted = evidence.plan.requests.iter().zip(&evidence.cohort.mix);
    let record = |(request, count): (&Request, &MixCount)| MixRecord {
        method: request.method.clone(),
        path: request.path.clone(),
        weight: request.weight,
        completed: count.completed,
        good: count.good,
        response_mean_ns: count.response_ns / count.completed.max(1),
    };
    counted.map(record).collect()
}

fn generator(evidence: &Evidence) -> Generator {
    let cpu_ns: u64 = evidence.threads.iter().map(|thread| thread.cpu_ns).sum();
    Generator {
        threads: evidence.threads.len() as u32,
        cpu_ns_per_request: ratio(cpu_ns as f64, evidence.flow.completed as f64),
        busy_max: evidence.threads.iter().map(|thread| thread.busy_max).fold(0.0, f64::max),
    }
}

/// `a / b`, and 0 where there is nothing to divide by.
fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ServerObserved;

    fn point(load: f64, goodput_per_s: f64) -> PointSummary {
        PointSummary {
            load,
            goodput_per_s,
            iterations_per_s: vec![goodput_per_s],
            response_p50_ns: 0,
            response_p99_ns: 0,
            failed_share: 0.0,
            generator_busy_max: 0.0,
            server_cpu_cores: None,
            machine_busy_mean: None,
            pools: Default::default(),
            clean_share: None,
            disturbed: false,
        }
    }

    #[test]
    fn the_peak_is_where_the_plateau_begins_with_its_own_goodput() {
        let found = peak(&[point(1.0, 100.0), point(2.0, 199.0), point(4.0, 200.0), point(8.0, 190.0)]);
        assert_eq!(found, Some(Peak { load: 2.0, goodput_per_s: 199.0, ..Peak::default() }));
        assert_eq!(peak(&[]), None);
    }

    /// A page of WordPress that takes 100 ms of php-fpm cost 500 us, those of nginx.
    #[test]
    fn what_companions_use_for_a_response_is_in_its_cpu_time() {
        let used = |cpu_ns_per_request| ServerObserved { cpu_ns_per_request, ..ServerObserved::default() };
        let companions = [("php-fpm".to_owned(), used(Some(1e8))), ("redis".to_owned(), used(None))].into();
        let observed = Observed { server: Some(used(Some(5e5))), companions, ..Observed::default() };
        assert_eq!(observed.server_cpu_ns_per_request(), Some(100_500_000.0));
        let seen = ObservedSecond { server_cores: Some(0.005), ..ObservedSecond::default() };
        let second = Second { completed: 10, length_ns: 1_000_000_000, ..Second::default() };
        let rounded = |seen: &ObservedSecond| cost_ns(seen, &second).map(f64::round);
        assert_eq!(rounded(&seen), Some(500_000.0));
        let seen = ObservedSecond { companions_cores: Some(1.0), ..seen };
        assert_eq!(rounded(&seen), Some(100_500_000.0));
    }

    #[test]
    fn the_folder_of_an_arm_is_a_plain_name_inside() {
        assert_eq!(arm_folder(0, "nginx workers=4"), "arms/1-nginx-workers-4");
        assert_eq!(arm_folder(11, "../../etc/passwd"), "arms/12-..-..-etc-passwd");
        assert_eq!(arm_folder(1, "\u{e9} "), "arms/2");
        assert_eq!(arm_folder(0, &"x".repeat(500)).len(), "arms/1-".len() + ARM_NAME_MAX);
    }

    #[test]
    fn nothing_measured_is_zero_not_a_missing_number() {
        assert_eq!((ratio(1.0, 0.0), ratio(3.0, 2.0)), (0.0, 1.5));
    }
}
