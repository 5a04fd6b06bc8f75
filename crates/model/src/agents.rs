//! Agents: load generators of one load on several machines.

use crate::{Estimate, Flow, Observed, Quantiles, SourceId};
use serde::{Deserialize, Serialize};

/// Most agents of one load.
pub const AGENTS_MAX: usize = 128;

/// Part of a load: which of all its load threads are those of one agent. Schedule, connections and numbers of requests are
/// shared among all threads, so that the parts are exactly the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// Number of its first load thread.
    pub first: u32,
    /// Load threads of all agents.
    pub of: u32,
}

/// An agent whose load has begun.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentStart {
    /// Its number, from 1, as in the ticks.
    pub source: SourceId,
    /// How it was named, such as `ssh://load1`.
    pub name: String,
    /// Host name of its machine, as that says.
    pub host: String,
    /// CPUs that it may use.
    pub cpus: u32,
    /// Its load threads.
    pub threads: u32,
    /// Connections that it opened beforehand.
    pub established: u32,
    /// What its monotonic clock was ahead of that of the coordinator; ns.
    pub offset_ns: i64,
    /// Largest error of that: half of the shortest round trip; ns.
    pub offset_error_ns: u64,
    /// Shortest round trip from the coordinator to it over their connection; none in records from before it was told; ns.
    #[serde(default)]
    pub round_trip_ns: Option<u64>,
    /// How long after the agreed instant it started, by its own clock; ns.
    pub late_ns: u64,
}

/// One agent's part of a tick; the tick itself is the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentShare {
    /// Which agent.
    pub source: SourceId,
    /// Requests whose first byte was handed to the kernel.
    pub sent: u64,
    /// Complete responses, good or not.
    pub completed: u64,
    /// Responses that met the contract.
    pub good: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Median response time; 0 in records from before it was told; ns.
    #[serde(default)]
    pub response_p50_ns: u64,
    /// 99th percentile of the response time; ns.
    pub response_p99_ns: u64,
}

/// What an agent did in the measured windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentWindow {
    /// Requests whose first byte was handed to the kernel.
    pub sent: u64,
    /// Complete responses, good or not.
    pub completed: u64,
    /// Responses that met the contract.
    pub good: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Time of the windows of which nothing came from it, as it was lost; ns.
    pub missing_ns: u64,
    /// Median response time of its seconds: their mean with a 95 % interval, or with their range where they bear none; null for
    /// fewer than five seconds. ns
    pub second_p50_ns: Option<Estimate>,
}

impl AgentWindow {
    /// Takes in a tick of the window.
    pub const fn add(&mut self, share: &AgentShare) {
        let AgentShare { source: _, sent, completed, good, failed, response_p50_ns: _, response_p99_ns: _ } = *share;
        self.sent += sent;
        self.completed += completed;
        self.good += good;
        self.failed += failed;
    }

    /// Takes in another window of the same load; the medians are told by whoever has their series.
    const fn merge(&mut self, other: &Self) {
        let Self { sent, completed, good, failed, missing_ns, second_p50_ns: _ } = *other;
        self.sent += sent;
        self.completed += completed;
        self.good += good;
        self.failed += failed;
        self.missing_ns += missing_ns;
    }
}

/// An agent whose load is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentEnd {
    /// Which agent.
    pub source: SourceId,
    /// Why it was lost, and when, since the clock of the load started; none of one that told its totals. ns
    pub lost: Option<AgentLoss>,
    /// Traffic over the whole load, warm-up included.
    pub flow: Flow,
    /// Response times of its requests of the measured window; ns.
    pub response_ns: Quantiles,
    /// What its clock has moved against that of the coordinator since the start; ns.
    pub drift_ns: i64,
}

/// An agent of which nothing more came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentLoss {
    /// When that was noticed, since the clock of the load started; ns.
    pub at_ns: u64,
    /// In a line.
    pub why: String,
}

/// An agent whose loss has ended a measurement of several loads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostAgent {
    /// How it was named.
    pub name: String,
    /// When that was noticed, since the start of the load of then; null if none had started; ns.
    pub at_ns: Option<u64>,
    /// In a line.
    pub why: String,
}

/// An agent in the record of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentRecord {
    /// Its number, from 1.
    pub source: SourceId,
    /// How it was named.
    pub name: String,
    /// Host name of its machine, as that says.
    pub host: String,
    /// CPUs that it may use.
    pub cpus: u32,
    /// Its load threads.
    pub threads: u32,
    /// Connections that it opened beforehand.
    pub connections: u32,
    /// How far apart from the agreed instant its load can have started: its own lateness and the error of its clock; ns.
    pub start_error_ns: u64,
    /// Of that, its own lateness; ns.
    pub late_ns: u64,
    /// Shortest round trip from the coordinator to it over their connection; omitted where it was not told; ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_ns: Option<u64>,
    /// What its clock has moved against that of the coordinator since the start; ns.
    pub drift_ns: i64,
    /// Traffic over the whole load, warm-up included; all else that is counted of requests is of the measured window.
    pub flow: Flow,
    /// What it did in the measured window; null in records from before that was counted.
    #[serde(default)]
    pub window: Option<AgentWindow>,
    /// Response times of its requests of the measured window; ns.
    pub response_ns: Quantiles,
    /// What it saw of its own machine in the measured window, without the seconds; omitted where that is observed as the
    /// server's, and in records from before that was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Box<Observed>>,
    /// Why it was lost; omitted if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<AgentLoss>,
}

impl AgentRecord {
    /// The record of an agent whose end has not been told.
    #[must_use]
    pub fn begun(start: &AgentStart) -> Self {
        Self {
            source: start.source,
            name: start.name.clone(),
            host: start.host.clone(),
            cpus: start.cpus,
            threads: start.threads,
            connections: start.established,
            start_error_ns: start.offset_error_ns.saturating_add(start.late_ns),
            late_ns: start.late_ns,
            round_trip_ns: start.round_trip_ns,
            drift_ns: 0,
            flow: Flow::default(),
            window: None,
            response_ns: Quantiles::default(),
            machine: None,
            lost: None,
        }
    }

    /// Requests that it sent in the measured window; over the whole load where that is all that is known.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.window.map_or(self.flow.sent, |window| window.sent)
    }

    /// Takes its end in.
    pub fn end(&mut self, end: &AgentEnd) {
        self.drift_ns = end.drift_ns;
        self.flow = end.flow;
        self.response_ns = end.response_ns.clone();
        self.lost.clone_from(&end.lost);
    }

    /// Takes in its part of another measurement of the same load: traffic adds up, and of the rest the worse one stands.
    pub fn merge(&mut self, other: &Self) {
        let Self {
            source: _,
            name: _,
            host: _,
            cpus: _,
            threads: _,
            connections,
            start_error_ns,
            late_ns,
            round_trip_ns,
            drift_ns,
            flow,
            window,
            response_ns,
            // Those of both measurements are in the sums of the samples.
            machine: _,
            lost,
        } = other;
        self.connections = self.connections.min(*connections);
        self.start_error_ns = self.start_error_ns.max(*start_error_ns);
        self.late_ns = self.late_ns.max(*late_ns);
        self.round_trip_ns = self.round_trip_ns.max(*round_trip_ns);
        if drift_ns.unsigned_abs() > self.drift_ns.unsigned_abs() {
            self.drift_ns = *drift_ns;
        }
        self.flow.add(flow);
        self.window = match (self.window.take(), window) {
            (Some(mut mine), Some(theirs)) => {
                mine.merge(theirs);
                Some(mine)
            }
            _ => None,
        };
        self.response_ns = self.response_ns.bounds_with(response_ns);
        self.lost = self.lost.take().or_else(|| lost.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(sent: u64, p99: u64, drift_ns: i64) -> AgentRecord {
        let start = AgentStart {
            source: SourceId(1),
            name: "ssh://b".into(),
            host: "b".into(),
            cpus: 2,
            threads: 2,
            established: 8,
            offset_ns: 5,
            offset_error_ns: sent,
            round_trip_ns: Some(2 * sent),
            late_ns: 20,
        };
        let flow = Flow { sent, ..Flow::default() };
        let response_ns = Quantiles { n: sent, mean: p99 as f64, min: p99, p99, ..Quantiles::default() };
        let window = Some(AgentWindow { sent, missing_ns: sent / 10, ..AgentWindow::default() });
        AgentRecord { flow, window, response_ns, drift_ns, ..AgentRecord::begun(&start) }
    }

    #[test]
    fn of_two_measurements_traffic_adds_up_and_the_worse_of_the_rest_stands() {
        let mut both = record(100, 7, 3);
        both.merge(&record(300, 5, -4));
        assert_eq!((both.flow.sent, both.start_error_ns, both.late_ns, both.drift_ns), (400, 320, 20, -4));
        assert_eq!(both.round_trip_ns, Some(600), "the longer one");
        let window = both.window.expect("both were counted");
        assert_eq!((window.sent, window.missing_ns), (400, 40));
        let Quantiles { n, mean, min, p99, .. } = both.response_ns;
        assert_eq!((n, mean, min, p99), (400, 5.5, 5, 7));
        let loss = AgentLoss { at_ns: 1, why: "w".into() };
        both.merge(&AgentRecord { lost: Some(loss.clone()), ..record(1, 1, 0) });
        both.merge(&record(1, 1, 0));
        assert_eq!(both.lost, Some(loss));
        let nothing = AgentRecord { response_ns: Quantiles::default(), ..record(0, 0, 0) };
        let mut first = record(100, 7, 3);
        first.merge(&nothing);
        assert_eq!(first.response_ns, record(100, 7, 3).response_ns, "nothing was measured");
    }
}
