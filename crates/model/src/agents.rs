//! Agents: load generators of one load on several machines.

use crate::{Flow, Quantiles, SourceId};
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// 99th percentile of the response time; ns.
    pub response_p99_ns: u64,
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
    /// What its clock has moved against that of the coordinator since the start; ns.
    pub drift_ns: i64,
    /// Traffic over the whole load, warm-up included.
    pub flow: Flow,
    /// Response times of its requests of the measured window; ns.
    pub response_ns: Quantiles,
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
            drift_ns: 0,
            flow: Flow::default(),
            response_ns: Quantiles::default(),
            lost: None,
        }
    }

    /// Takes its end in.
    pub fn end(&mut self, end: &AgentEnd) {
        self.drift_ns = end.drift_ns;
        self.flow = end.flow;
        self.response_ns = end.response_ns;
        self.lost.clone_from(&end.lost);
    }
}
