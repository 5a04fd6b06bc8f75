//! Evidence: input of the rules.

use crate::{
    AgentRecord, Bandwidth, Change, Cohort, Disturbance, Fairness, Fingerprint, Flow, Fruitless, Observed, Plan, Probe,
    Profiled, Quantile, SentInAll, StatusRecord,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Width of a bin of [`Evidence::service_bins`]; ns. A tenth of the least time for which Linux delays an acknowledgement.
pub const SERVICE_BIN_NS: u64 = 4_000_000;
/// Bins of [`Evidence::service_bins`]: four seconds of them.
pub const SERVICE_BINS: usize = 1000;

/// Everything known about one measured load.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// What was to be done. Of a load that another program makes, its target alone.
    pub plan: Plan,
    /// Why plimsoll knows neither plan nor requests of the load; none of a load that it makes itself.
    pub load_unknown: Option<&'static str>,
    /// What the target answered beforehand.
    pub probe: Option<Probe>,
    /// Length of the measured windows, all iterations together; ns.
    pub measured_ns: u64,
    /// Iterations merged into this evidence; 1 for a run.
    pub iterations: u32,
    /// What passed by during the measured windows.
    pub flow: Flow,
    /// What became of the requests of the measured windows.
    pub cohort: Cohort,
    /// All requests that were sent, also outside the measured windows; none where those of the probe are not known.
    pub sent_in_all: Option<SentInAll>,
    /// Connections asked for, open and reopened.
    pub connections: Connections,
    /// What TLS came to; none without TLS, or when no connection got that far.
    pub tls: Option<TlsSession>,
    /// Latency summaries.
    pub latency: Latencies,
    /// How many service times are in each bin of [`SERVICE_BIN_NS`], from 0 on; those beyond the last are in none.
    pub service_bins: Vec<u64>,
    /// One entry for each tick of the measured windows.
    pub seconds: Vec<Second>,
    /// One entry for each load thread, over the measured windows.
    pub threads: Vec<ThreadUse>,
    /// Requests in flight, for Little's law.
    pub outstanding: Outstanding,
    /// Instants at which requests of an open loop were sent; see [`crate::Tick::sends_ns`]. Of the first iteration.
    pub sends_ns: Vec<u64>,
    /// The agents that generated the load; empty of a load of this process.
    pub agents: Vec<AgentRecord>,
    /// Machine, server and generator over the measured windows; none when nobody looked.
    pub observed: Option<Observed>,
    /// Machine of the load generator over the same windows, where `observed` is of another one, that of the server.
    pub client_machine: Option<Observed>,
    /// What was taken from the CPUs of client and server, and what is left without it; none when that was not observed.
    pub disturbance: Option<Disturbance>,
    /// Status pages of the server under test.
    pub status: Vec<StatusRecord>,
    /// Where CPU time went; none when that was not sampled.
    pub profile: Option<Profiled>,
    /// What machine and server were before the load; none when nobody looked.
    pub fingerprint: Option<Fingerprint>,
    /// What the path between the machines of the load and that of the server carries; none when it was not probed.
    pub bandwidth: Option<Bandwidth>,
    /// What of machine and server was another at the end than at the begin; none when that was not looked at.
    pub changes: Option<Vec<Change>>,
    /// True if an automatic warm-up found the series settled; true for a fixed one.
    pub settled: bool,
    /// True if the run was stopped from outside before its plan was done.
    pub interrupted: bool,
}

impl Evidence {
    /// What to hold against the planned rate of an open loop, when `goodput_per_s` is that of undisturbed time: the goodput of
    /// the whole window where that is more. Disturbance only lowers it, and by chance (Poisson arrivals) fewer requests than
    /// planned on average can be due in what is left undisturbed.
    #[must_use]
    pub fn sustained_per_s(&self, goodput_per_s: f64) -> f64 {
        let whole_per_s = self.disturbance.as_ref().map_or(0.0, |account| account.whole.goodput_per_s);
        goodput_per_s.max(whole_per_s)
    }
}

/// Connections of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connections {
    /// Asked for.
    pub requested: u32,
    /// Open when the clock started.
    pub established: u32,
    /// Opened in all, over the whole run.
    pub opened: u64,
    /// Opened again after the clock started, because one had been closed.
    pub reconnects: u64,
    /// Opened after those beforehand because a request of an open loop found none free; omitted when there were none.
    #[serde(default, skip_serializing_if = "crate::counts::is_zero")]
    pub grown: u64,
    /// Attempts to open one, over the whole run; none in records from before they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u64>,
    /// Of these, those on which no response came; omitted when there were none.
    #[serde(default, skip_serializing_if = "Fruitless::is_none")]
    pub fruitless: Fruitless,
    /// How the responses of the measured windows were spread over them; omitted where that was not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fairness: Option<Fairness>,
}

/// What the TLS handshakes of a load have agreed on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsSession {
    /// Version, such as `TLSv1.3`.
    pub version: String,
    /// Cipher suite by its IANA name.
    pub cipher: String,
    /// Handshakes that resumed an earlier session, over the whole run.
    pub resumed: u64,
}

/// The latencies of a run. See [`crate::Histograms`] for their definitions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latencies {
    /// Completion minus intended send.
    pub response: LatencySummary,
    /// Completion minus actual send.
    pub service: LatencySummary,
    /// First byte of the response minus actual send.
    pub first_byte: LatencySummary,
    /// Standard deviation of the service times; ns.
    pub service_sd_ns: f64,
    /// Own lateness.
    pub slip_client: LatencySummary,
    /// Waiting for a free connection.
    pub slip_blocked: LatencySummary,
    /// TLS handshakes, over the whole run.
    pub handshake: LatencySummary,
    /// 99th percentile of the service time if requests had gone on being sent while a connection waited, by
    /// HdrHistogram's correction for coordinated omission; of closed loops, 0 without values. ns
    pub corrected_p99_ns: u64,
    /// Response times up to the 99th percentile that differ in their first three digits.
    pub distinct: u64,
    /// Median distance from one of these to the next, 0 for fewer than two; ns. Not the mean: a few slow answers far from
    /// all others are no step.
    pub step_ns: u64,
}

/// A distribution in a few figures; ns. All zero when `n` is 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencySummary {
    /// Values recorded, censored ones included.
    pub n: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Smallest.
    pub min_ns: u64,
    /// Median.
    pub p50_ns: u64,
    /// 90th percentile.
    pub p90_ns: u64,
    /// 95th percentile.
    pub p95_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p99_9_ns: u64,
    /// Largest.
    pub max_ns: u64,
    /// Quantiles that were asked for beside these.
    pub others_ns: BTreeMap<Quantile, u64>,
    /// 95 % intervals of quantiles, from their order statistics; of response times alone.
    pub ranges_ns: BTreeMap<Quantile, [u64; 2]>,
}

/// One tick of the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Begin, since the clock of the run started; ns.
    pub from_ns: u64,
    /// Length; ns.
    pub length_ns: u64,
    /// Good responses in it.
    pub good: u64,
    /// Complete responses in it.
    pub completed: u64,
    /// Bytes of responses in it, heads included.
    #[serde(default)]
    pub bytes_received: u64,
    /// Requests sent in it.
    pub sent: u64,
    /// Failed requests in it.
    pub failed: u64,
    /// Busy share of the busiest load thread, 0 to 1; null in one that is too short to tell.
    #[serde(with = "crate::unmeasured")]
    pub busy_max: f64,
    /// Median response time; null without a response. ns
    #[serde(with = "crate::unmeasured")]
    pub response_p50_ns: u64,
    /// 99th percentile of the response time; null without a response. ns
    #[serde(with = "crate::unmeasured")]
    pub response_p99_ns: u64,
    /// Requests in flight, time average.
    #[serde(default)]
    pub outstanding: f64,
    /// How late the oldest request was that was due and not yet on its way at the end; 0 in a closed loop. ns
    #[serde(default)]
    pub late_ns: u64,
    /// The part of it that was not disturbed; ns.
    #[serde(default)]
    pub clean_ns: u64,
    /// Good responses in that part.
    #[serde(default)]
    pub clean_good: u64,
    /// Share of the load threads, 0 to 1, of whose agents nothing came of it, as they were lost; omitted when 0.
    #[serde(default, skip_serializing_if = "is_none_lost")]
    pub lost_share: f64,
}

fn is_none_lost(share: &f64) -> bool {
    *share == 0.0
}

/// CPU use of one load thread over a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadUse {
    /// User and system time; ns.
    pub cpu_ns: u64,
    /// Length of the span; ns.
    pub wall_ns: u64,
    /// Largest busy share (CPU / wall) of any tick of at least half a second in the span, 0 to 1.
    pub busy_max: f64,
}

/// Requests in flight over the measured windows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outstanding {
    /// Time average.
    pub mean: f64,
    /// Throughput of everything that ended (responses and failures) times mean service time: what Little's
    /// law says the time average must be.
    pub little: f64,
    /// By how much these two may differ by chance: the standard error that requests at the ends of the windows make.
    pub standard_error: f64,
}

/// Everything known about a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepEvidence {
    /// The points in rising order of load, iterations merged.
    pub points: Vec<SweepPoint>,
    /// The largest load the sweep was allowed to try.
    pub limit: f64,
    /// True if the load is a rate (per second) rather than a number of connections.
    pub over_rate: bool,
}

/// One load of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepPoint {
    /// Connections, or requests per second.
    pub load: f64,
    /// Good responses per second, mean of the iterations.
    pub goodput_per_s: f64,
    /// Good responses per second of each iteration, in the order measured.
    pub iterations_per_s: Vec<f64>,
    /// What is known about it, iterations merged.
    pub evidence: Evidence,
}
