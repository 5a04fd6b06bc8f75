//! Results as others read them: the JSON contract. Add freely, rename never.

use crate::{
    Aborted, AgentRecord, Connections, CurveModel, Disturbance, Environment, LatencySummary, Limiter, LostAgent,
    ModelAicc, Observed, Plan, Probe, Profiled, Quantile, Requests, Retrograde, Second, SentInAll, StatusRecord,
    ThresholdRecord, TlsSession, UslLaw, Verdict,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Result of one load: `run --json`, `run.json`, and each point of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// [`crate::FORMAT_RUN`].
    pub format: String,
    /// True if to believe it.
    pub verdict: Verdict,
    /// What came of `--fail-if`; omitted without it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<ThresholdRecord>,
    /// Responses per second that met the contract: the headline.
    pub goodput_per_s: Estimate,
    /// Complete responses per second, good or not.
    pub throughput_per_s: f64,
    /// CPU time of the server and its companions per complete response, with its interval over the seconds; null where the server
    /// is not observed. Time taken by the hypervisor or other programs is not in it; a lower clock frequency and colder caches
    /// are. ns
    #[serde(default)]
    pub server_cpu_ns_per_request: Option<Estimate>,
    /// Why that is not known; omitted where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_unavailable: Option<String>,
    /// What became of the requests.
    pub requests: Requests,
    /// All requests that were sent, also outside the measured windows; omitted where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_in_all: Option<SentInAll>,
    /// Connections asked for, open and reopened.
    pub connections: Connections,
    /// Version, cipher and resumed sessions; null without TLS.
    #[serde(default)]
    pub tls: Option<TlsSession>,
    /// Latency distributions.
    pub latency_ns: LatencyRecord,
    /// Traffic in the measured window.
    pub bytes: Bytes,
    /// The load generator itself.
    pub generator: Generator,
    /// The agents that generated the load on other machines; omitted of a load of this process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentRecord>,
    /// The agent that was lost first: the load ended with it, or went on without it. Omitted if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_lost: Option<LostAgent>,
    /// One entry a second of the measured window.
    pub seconds: Vec<Second>,
    /// Machine, server, generator and sockets over the measured window; null when nobody looked.
    #[serde(default)]
    pub observed: Option<Observed>,
    /// Machine of the load generator over the measured window, where the server's was observed by an agent (`--server-host`):
    /// `observed` is of that one then. Omitted otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_machine: Option<Observed>,
    /// What was taken from the CPUs of client and server by causes from outside, and what is left without it; null when
    /// that was not observed.
    #[serde(default)]
    pub disturbance: Option<Disturbance>,
    /// Status pages of the server under test, over the measured window.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<StatusRecord>,
    /// Where CPU time went in the measured window; omitted unless `--profile` has sampled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profiled>,
    /// Why `--profile` has sampled nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_unavailable: Option<String>,
    /// What stops the server; omitted when it is not at a limit that shows, and of a sweep's points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limiter: Option<Limiter>,
    /// What the target answered beforehand.
    pub probe: Option<Probe>,
    /// What was to be done.
    pub plan: Plan,
    /// Where it ran.
    pub environment: Environment,
    /// Wall-clock start, RFC 3339, UTC.
    pub started: String,
    /// Length of the measured windows, all iterations together; ns.
    pub measured_ns: u64,
    /// Iterations merged; 1 for a run.
    pub iterations: u32,
    /// True if it was stopped before its plan was done.
    pub interrupted: bool,
    /// The condition of `--abort-if` that has stopped it; omitted if none has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted: Option<Aborted>,
}

impl RunRecord {
    /// CPU time per response as far as it is known; earlier versions have written 0 where the kernel had counted none. ns
    #[must_use]
    pub fn known_server_cpu_ns(&self) -> Option<Estimate> {
        self.server_cpu_ns_per_request.filter(|cpu| cpu.value > 0.0)
    }
}

/// A figure with its uncertainty. `low` and `high` are null when no interval is honest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Best single value.
    pub value: f64,
    /// Lower end of the 95 % interval.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval.
    pub high: Option<f64>,
    /// Independent units behind it (runs, or batches of seconds).
    pub n: u64,
}

/// The latencies; ns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyRecord {
    /// Completion minus intended send.
    pub response: Quantiles,
    /// Completion minus actual send.
    pub service: Quantiles,
    /// First byte of the response minus actual send; without values in records from before it was stored.
    #[serde(default)]
    pub first_byte: Quantiles,
    /// Own lateness.
    pub slip_client: Quantiles,
    /// Waiting for a free connection.
    pub slip_blocked: Quantiles,
    /// TLS handshakes, over the whole run.
    #[serde(default)]
    pub handshake: Quantiles,
}

/// A distribution in a few figures, all but the number null where it is 0; ns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredQuantiles", into = "StoredQuantiles")]
pub struct Quantiles {
    /// Values recorded; where there are none, the others are 0 and say nothing.
    pub n: u64,
    /// Mean.
    pub mean: f64,
    /// Smallest.
    pub min: u64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 95th percentile; none in records from before it was stored, and without values.
    pub p95: Option<u64>,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p99_9: u64,
    /// Largest.
    pub max: u64,
    /// Those that were asked for beside these.
    pub others: BTreeMap<Quantile, u64>,
    /// 95 % intervals of quantiles; of response times alone, and none in records from before they were stored.
    pub ranges: BTreeMap<Quantile, [u64; 2]>,
}

/// [`Quantiles`] as they are written.
#[derive(Clone, Serialize, Deserialize)]
struct StoredQuantiles {
    n: u64,
    mean: Option<f64>,
    min: Option<u64>,
    p50: Option<u64>,
    p90: Option<u64>,
    p95: Option<u64>,
    p99: Option<u64>,
    p99_9: Option<u64>,
    max: Option<u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    others: BTreeMap<Quantile, u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    ranges: BTreeMap<Quantile, [u64; 2]>,
}

impl From<Quantiles> for StoredQuantiles {
    fn from(known: Quantiles) -> Self {
        let Quantiles { n, mean, min, p50, p90, p95, p99, p99_9, max, others, ranges } = known;
        let known = |ns: u64| (n > 0 || ns > 0).then_some(ns);
        let [min, p50, p90, p99, p99_9, max] = [min, p50, p90, p99, p99_9, max].map(known);
        Self { n, mean: (n > 0 || mean > 0.0).then_some(mean), min, p50, p90, p95, p99, p99_9, max, others, ranges }
    }
}

impl From<StoredQuantiles> for Quantiles {
    fn from(stored: StoredQuantiles) -> Self {
        let StoredQuantiles { n, mean, min, p50, p90, p95, p99, p99_9, max, others, ranges } = stored;
        let [min, p50, p90, p99, p99_9, max] = [min, p50, p90, p99, p99_9, max].map(Option::unwrap_or_default);
        Self { n, mean: mean.unwrap_or_default(), min, p50, p90, p95, p99, p99_9, max, others, ranges }
    }
}

/// Requests that must lie beyond a quantile for it to be shown (plimsoll default): rule LD-04.
pub const QUANTILE_TAIL_MIN: f64 = 100.0;

/// True if as many of `n` requests lie beyond the quantile `q`, 0 to 1.
#[must_use]
pub fn is_quantile_known(n: f64, q: f64) -> bool {
    // Half a request of slack: n(1 - q) is not exact in floating point.
    n * (1.0 - q) + 0.5 >= QUANTILE_TAIL_MIN
}

impl Quantiles {
    /// Of the values of both: number, mean and extremes exactly, and each quantile as an upper bound, the larger of both.
    #[must_use]
    pub fn bounds_with(&self, other: &Self) -> Self {
        match (self.n, other.n) {
            (_, 0) => return self.clone(),
            (0, _) => return other.clone(),
            _ => {}
        }
        let n = self.n + other.n;
        Self {
            n,
            mean: (self.mean * self.n as f64 + other.mean * other.n as f64) / n as f64,
            min: self.min.min(other.min),
            p50: self.p50.max(other.p50),
            p90: self.p90.max(other.p90),
            p95: self.p95.zip(other.p95).map(|(mine, theirs)| mine.max(theirs)),
            p99: self.p99.max(other.p99),
            p99_9: self.p99_9.max(other.p99_9),
            max: self.max.max(other.max),
            others: self.others.iter().filter_map(|(of, ns)| Some((*of, *other.others.get(of)?.max(ns)))).collect(),
            // Of two distributions that are not put together nothing is known between these bounds.
            ranges: BTreeMap::new(),
        }
    }
}

impl From<LatencySummary> for Quantiles {
    fn from(s: LatencySummary) -> Self {
        Self {
            n: s.n,
            mean: s.mean_ns,
            min: s.min_ns,
            p50: s.p50_ns,
            p90: s.p90_ns,
            p95: (s.n > 0).then_some(s.p95_ns),
            p99: s.p99_ns,
            p99_9: s.p99_9_ns,
            max: s.max_ns,
            others: s.others_ns,
            ranges: s.ranges_ns,
        }
    }
}

/// Traffic; bytes, heads included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes {
    /// From the server.
    pub received: u64,
    /// To the server.
    pub sent: u64,
}

/// The load generator itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Generator {
    /// Load threads.
    pub threads: u32,
    /// User and system CPU of the load threads per complete response; null without one. ns
    #[serde(with = "crate::unmeasured")]
    pub cpu_ns_per_request: f64,
    /// Largest busy share of any thread in any second, 0 to 1; null where none was long enough to tell.
    #[serde(with = "crate::unmeasured")]
    pub busy_max: f64,
}

/// Result of a sweep: `sweep --json`, and its `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepRecord {
    /// [`crate::FORMAT_SWEEP`].
    pub format: String,
    /// What was measured, among other arms of one measurement, such as `nginx workers=1`; omitted of a sweep by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// True if to believe it.
    pub verdict: Verdict,
    /// What came of `--fail-if`; omitted without it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<ThresholdRecord>,
    /// What was varied: `connections` or `rate`.
    pub over: String,
    /// All requests that were sent to the server, by the loads of the result and by others, such as a profiled one; omitted
    /// where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_in_all: Option<SentInAll>,
    /// One run for each load, iterations merged, in rising order.
    pub points: Vec<RunRecord>,
    /// The curve in short.
    pub curve: Vec<PointSummary>,
    /// Where more load stops buying throughput; null when the sweep did not get there.
    pub knee: Option<Knee>,
    /// Highest goodput, where its plateau begins.
    pub peak: Option<Peak>,
    /// Goodput past the knee, of the model; per second. Over connections the highest of the model; null when the sweep did
    /// not get there.
    #[serde(default)]
    pub plateau: Option<Estimate>,
    /// Least and most goodput of any iteration past the knee; per second. Omitted where there are iterations enough for an
    /// interval, and of a single one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plateau_range_per_s: Option<[f64; 2]>,
    /// Goodput that falls past its peak; null where it stays, and where the sweep did not reach saturation.
    #[serde(default)]
    pub retrograde: Option<Retrograde>,
    /// The law that knee and plateau are of; null over rates, and without a knee.
    #[serde(default)]
    pub model: Option<CurveModel>,
    /// How well both laws follow the curve; null over rates, and where it was not looked at.
    #[serde(default)]
    pub aicc: Option<ModelAicc>,
    /// The loads that peak, knee and limiter rest on: from these they have their verdict.
    #[serde(default)]
    pub rests_on: RestsOn,
    /// Highest load known to be held.
    pub capacity: Option<Capacity>,
    /// The fitted pool model.
    pub fit: Option<PoolFit>,
    /// The fitted Universal Scalability Law, where it is the model.
    #[serde(default)]
    pub usl: Option<UslLaw>,
    /// True if the curve was followed past saturation.
    pub saturated: bool,
    /// The largest load allowed (`--to`); null in a record from before this was told.
    #[serde(default)]
    pub limit: Option<f64>,
    /// Why no larger loads were tried; null where something else has ended the sweep before, and in a record from before
    /// this was told.
    #[serde(default)]
    pub rise_end: Option<RiseEnd>,
    /// What stops it, at its saturated load; null when nothing was measured.
    #[serde(default)]
    pub limiter: Option<Limiter>,
    /// Where CPU time went at the peak's load, in a measurement of its own after the others; omitted unless `--profile`
    /// has sampled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profiled>,
    /// Why `--profile` has sampled nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile_unavailable: Option<String>,
    /// Where it ran.
    pub environment: Environment,
    /// Wall-clock start, RFC 3339, UTC.
    pub started: String,
    /// True if it was stopped from outside before its plan was done.
    pub interrupted: bool,
    /// The agent whose loss has ended it; omitted if none has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_lost: Option<LostAgent>,
}

/// Why a sweep tried no larger loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RiseEnd {
    /// The largest load allowed was measured.
    Reached,
    /// More connections gained no goodput.
    Flat,
    /// Goodput fell from its peak.
    Fell,
    /// Two rates in a row did not come back good.
    NotHeld,
    /// The client could not offer two rates in a row.
    ClientBehind,
    /// No response was good.
    NothingGood,
}

impl RiseEnd {
    /// In a clause.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Reached => "the largest load allowed was measured",
            Self::Flat => "goodput had stopped growing, and each load that shows it was measured at least twice",
            Self::Fell => "goodput had fallen from its peak, and both loads were measured at least twice",
            Self::NotHeld => "two rates in a row did not come back as good responses, each time that they were offered",
            Self::ClientBehind => "the client could not offer two rates in a row, each time that it tried",
            Self::NothingGood => "no response was good at any load",
        }
    }
}

/// The loads that the answers of a sweep rest on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RestsOn {
    /// The peak's, and the next, which shows that it is one.
    pub peak: Vec<f64>,
    /// The lowest, those round the bend, and those of the peak.
    pub knee: Vec<f64>,
    /// That at which the limiter was looked for.
    pub limiter: Vec<f64>,
}

/// Sweeps of several arms, measured one after the other: side by side, not paired.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepsRecord {
    /// [`crate::FORMAT_SWEEPS`].
    pub format: String,
    /// The worst state of the arms and all that any of them left unchecked. The findings stand in the arms.
    pub verdict: Verdict,
    /// One sweep for each arm, in the order measured.
    pub sweeps: Vec<SweepRecord>,
    /// Wall-clock start of the first, RFC 3339, UTC.
    pub started: String,
    /// True if one was stopped from outside before its plan was done.
    pub interrupted: bool,
}

/// One point of a sweep's curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointSummary {
    /// Connections, or requests per second.
    pub load: f64,
    /// Goodput, mean of the iterations; per second.
    pub goodput_per_s: f64,
    /// Goodput of each iteration; per second.
    pub iterations_per_s: Vec<f64>,
    /// Median response time; null without a response. ns
    #[serde(with = "crate::unmeasured")]
    pub response_p50_ns: u64,
    /// 99th percentile of the response time; null without a response. ns
    #[serde(with = "crate::unmeasured")]
    pub response_p99_ns: u64,
    /// Failed share of the requests, 0 to 1.
    pub failed_share: f64,
    /// Largest busy share of any load thread, 0 to 1; null where no second was long enough to tell.
    #[serde(with = "crate::unmeasured")]
    pub generator_busy_max: f64,
    /// CPUs that the server and its companions kept busy; null when not known.
    #[serde(default)]
    pub server_cpu_cores: Option<f64>,
    /// Busy share of the machine, 0 to 1; null when not known.
    #[serde(default)]
    pub machine_busy_mean: Option<f64>,
    /// Occupancy of each pool of workers that is known, 0 to 1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pools: BTreeMap<String, f64>,
    /// Share of the measured time that was undisturbed, 0 to 1; null when that is not known.
    #[serde(default)]
    pub clean_share: Option<f64>,
    /// True if so much of it stayed disturbed that its numbers are bounds.
    #[serde(default)]
    pub disturbed: bool,
}

/// Where more load stops buying throughput.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Knee {
    /// Connections (D x C, by Little's law), or requests per second.
    pub load: f64,
    /// Lower end of its 95 % interval; null below 3 iterations. Over rates `load` itself, which was held.
    #[serde(default)]
    pub low: Option<f64>,
    /// Upper end of the interval; over rates the next measured rate, which was not held.
    #[serde(default)]
    pub high: Option<f64>,
    /// Goodput on the plateau; per second.
    pub goodput_per_s: f64,
}

/// Highest goodput, where its plateau begins: the least load that comes within 1 % of the highest seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    /// Connections, or requests per second.
    pub load: f64,
    /// Goodput there; per second.
    pub goodput_per_s: f64,
    /// Lower end of the 95 % interval of the goodput; null without repeats.
    #[serde(default)]
    pub goodput_low_per_s: Option<f64>,
    /// Upper end of it.
    #[serde(default)]
    pub goodput_high_per_s: Option<f64>,
}

/// Highest load known to be held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// Goodput; per second.
    pub value: f64,
    /// Lower bound.
    pub low: Option<f64>,
    /// Upper bound; null when no load above it failed.
    pub high: Option<f64>,
    /// Points behind it.
    pub n: u64,
    /// How it was found, or why a bound is missing.
    pub reason: String,
}

/// Soft pool model `X = ((D/N)^p + (1/C)^p)^(-1/p)`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PoolFit {
    /// Residence time at zero load, D; ns.
    pub residence_ns: f64,
    /// Plateau, C; per second.
    pub plateau_per_s: f64,
    /// Sharpness of the bend, p.
    pub sharpness: f64,
    /// Largest relative error of the fit at any point.
    pub error_max: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run without an answer had a p99 of 0 in its JSON.
    #[test]
    fn what_was_not_measured_is_null_and_reads_back() {
        let none = Quantiles::default();
        let text = serde_json::to_string(&none).unwrap();
        assert!(text.starts_with(r#"{"n":0,"mean":null,"min":null,"p50":null"#), "{text}");
        assert_eq!(serde_json::from_str::<Quantiles>(&text).unwrap(), none);
        let zeros = r#"{"n":0,"mean":0.0,"min":0,"p50":0,"p90":0,"p99":0,"p99_9":0,"max":0}"#;
        assert_eq!(serde_json::from_str::<Quantiles>(zeros).unwrap(), none, "as it was written before");
        let on_time = Quantiles { n: 3, max: 7, ..none };
        let text = serde_json::to_string(&on_time).unwrap();
        assert!(text.contains(r#""p50":0"#), "a send delay of 0 was measured: {text}");
        let idle = serde_json::to_string(&Generator { threads: 1, ..Generator::default() }).unwrap();
        assert_eq!(idle, r#"{"threads":1,"cpu_ns_per_request":null,"busy_max":null}"#);
        assert_eq!(serde_json::from_str::<Generator>(&idle).unwrap().busy_max, 0.0);
    }
}
