//! The only way out of a run: a stream of events that is printed live, written down and judged.

use crate::{
    AgentEnd, AgentShare, AgentStart, Cohort, Flow, Fruitless, Histograms, Plan, Probe, Sample, SessionEvent,
    SliceAccount, SliceFlow, SourceId, StatusLook, ThreadUse, TlsSession,
};
use serde::{Deserialize, Serialize};

/// One thing that happened. Instants are ns since the clock of the run started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The target was fetched a few times.
    Probed(Probe),
    /// The run begins.
    Started {
        /// Wall-clock time, RFC 3339, UTC.
        started: String,
        /// What is going to be done.
        plan: Box<Plan>,
    },
    /// Connections do not open any more; more may yet.
    Opening {
        /// When, since opening began; ns.
        at_ns: u64,
        /// Connections asked for.
        requested: u32,
        /// Connections open now.
        established: u32,
    },
    /// All connections are open, or have failed to open, or no more have come; the clock starts.
    Connected {
        /// Connections asked for.
        requested: u32,
        /// Connections open now.
        established: u32,
        /// How long opening took; ns.
        took_ns: u64,
        /// What came of the attempts that did not lead to one of them.
        #[serde(default, skip_serializing_if = "Fruitless::is_none")]
        fruitless: Fruitless,
        /// What one of them has agreed on, if they are encrypted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tls: Option<TlsSession>,
    },
    /// The load has begun on several machines.
    AgentsStarted {
        /// All of them, by their numbers.
        agents: Vec<AgentStart>,
    },
    /// Nothing more comes from an agent.
    AgentLost {
        /// When that was noticed; ns.
        at_ns: u64,
        /// Its number.
        source: SourceId,
        /// How it was named.
        name: String,
        /// In a line.
        why: String,
    },
    /// The load has ended on several machines.
    AgentsEnded {
        /// All of them, by their numbers.
        agents: Vec<AgentEnd>,
    },
    /// The measured window begins.
    Warmed {
        /// When; ns.
        at_ns: u64,
        /// True if an automatic warm-up found the series settled; always true for a fixed one.
        settled: bool,
    },
    /// A second has passed.
    Tick(Box<Tick>),
    /// Machine, server and generator were looked at, as after each tick.
    Observed(Box<Sample>),
    /// The disturbance account has come this far.
    Disturbed {
        /// The slices before this one are decided.
        until_slice: u64,
        /// Slices in which anything was taken; also earlier ones, of which it was not known before.
        slices: Vec<SliceAccount>,
    },
    /// The measured window ends later than planned, as too much of it was disturbed.
    Prolonged {
        /// When that was decided; ns.
        at_ns: u64,
        /// By how much; ns.
        by_ns: u64,
    },
    /// The server under test has said something of itself.
    Status {
        /// When it was taken in; ns.
        at_ns: u64,
        /// What it belongs to.
        phase: Phase,
        /// What has come since the last.
        looks: Vec<StatusLook>,
    },
    /// The load has ended.
    Ended {
        /// When; ns.
        at_ns: u64,
        /// True if it was stopped from outside.
        interrupted: bool,
    },
    /// Something happened to the measurement as a whole.
    Session(SessionEvent),
}

/// What a tick belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Before the measured window.
    Warmup,
    /// Inside it.
    Measure,
    /// After it, while requests of the window are still out.
    Drain,
}

/// One second of a run, or the piece of a second up to a phase's end, over all threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tick {
    /// Where it comes from.
    #[serde(default)]
    pub source: SourceId,
    /// The parts of all agents, by their numbers; empty of a load of this process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentShare>,
    /// Phase; a tick never spans two.
    pub phase: Phase,
    /// Begin; ns.
    pub from_ns: u64,
    /// End; ns.
    pub to_ns: u64,
    /// What passed by.
    pub flow: Flow,
    /// What became of requests of the measured window and ended in this tick.
    pub cohort: Cohort,
    /// CPU use per load thread.
    pub threads: Vec<ThreadUse>,
    /// Median response time of the tick, as a quick look; ns.
    pub response_p50_ns: u64,
    /// 99th percentile of the response time of the tick, as a quick look; ns.
    pub response_p99_ns: u64,
    /// How late the oldest request was that was due and not yet on its way at the end; 0 in a closed loop. ns
    #[serde(default)]
    pub late_ns: u64,
    /// Instants at which requests were sent, in rising order: all of a stretch of the window that holds about
    /// [`SENDS_MAX`], and none in a closed loop. ns since the clock of the run started
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sends_ns: Vec<u64>,
    /// The same slice by slice: those of the disturbance account that lie in the tick.
    #[serde(default)]
    pub slices: Vec<SliceFlow>,
    /// The histograms; stored beside the event log, not in it.
    #[serde(skip)]
    pub histograms: Histograms,
    /// Of the values in the histograms of this tick and of earlier ones, those of requests that were in flight in
    /// disturbed time. Stored in the same way.
    #[serde(skip)]
    pub set_aside: Histograms,
}

impl Tick {
    /// A tick in which nothing happened, for tests to fill in; ns.
    #[must_use]
    pub fn empty(phase: Phase, from_ns: u64, to_ns: u64) -> Self {
        Self {
            source: SourceId::LOCAL,
            agents: Vec::new(),
            phase,
            from_ns,
            to_ns,
            flow: Flow::default(),
            cohort: Cohort::default(),
            threads: Vec::new(),
            response_p50_ns: 0,
            response_p99_ns: 0,
            late_ns: 0,
            sends_ns: Vec::new(),
            slices: Vec::new(),
            histograms: Histograms::default(),
            set_aside: Histograms::default(),
        }
    }
}

/// Requests whose instants are kept of an open loop: with more of them every test of their spread fails some day.
pub const SENDS_MAX: usize = 2000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Counts;

    #[test]
    fn tick_with_statuses_reads_back() {
        let counts = Counts { planned: 3, ..Counts::default() };
        let cohort = Cohort { counts, status: [(200, 2), (404, 1)].into(), ..Cohort::default() };
        let tick = Event::Tick(Box::new(Tick {
            cohort,
            threads: vec![ThreadUse::default()],
            response_p50_ns: 5,
            response_p99_ns: 9,
            sends_ns: vec![3],
            slices: vec![SliceFlow::new(0)],
            ..Tick::empty(Phase::Measure, 0, 1)
        }));
        let line = serde_json::to_string(&tick).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), tick, "{line}");
    }
}
