//! Messages of version 3, one JSON value each.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::{
    Address, Fingerprint, Fruitless, Histograms, MergedHistogram, Phase, Plan, Sample, Segment, Served, Tick,
    TlsSession,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use crate::bandwidth::{ProbeMessage, ProbeServed, Probed, ServeProbe};
use crate::totals::Totals;

/// Version of the protocol.
pub const PROTOCOL: u32 = 3;

/// Who an agent is: the first message, readable in every version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// Version of the program.
    pub version: String,
    /// SHA-256 of the program.
    pub build: String,
    /// Architecture of the program, such as `x86_64`.
    pub architecture: String,
    /// Name of the machine.
    #[serde(default)]
    pub host: String,
    /// Differs from one start of a machine to the next, and between machines.
    #[serde(default)]
    pub boot_id: String,
    /// CPUs that it may use.
    #[serde(default)]
    pub cpus: u32,
}

/// What an agent says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OfAgent {
    /// First.
    Hello(Hello),
    /// It is there, and nothing else is to be said.
    Alive,
    /// Answer to a ping.
    Pong {
        /// Of the ping.
        number: u64,
        /// When the ping came, by its own clock; ns.
        received_ns: u64,
        /// When this was sent, by its own clock; ns.
        sent_ns: u64,
    },
    /// The connections are open, or have failed to open.
    Ready {
        /// Connections asked for.
        requested: u32,
        /// Connections open now.
        established: u32,
        /// How long that took; ns.
        took_ns: u64,
        /// What came of the attempts that did not lead to one of them.
        fruitless: Fruitless,
        /// What one of them has agreed on, if they are encrypted.
        tls: Option<TlsSession>,
    },
    /// It will start.
    Armed {
        /// Of the order.
        attempt: u32,
        /// Time that was left; none if the instant had passed. ns
        margin_ns: Option<u64>,
    },
    /// It has started.
    Started {
        /// Of the order.
        attempt: u32,
        /// After the instant agreed on; ns.
        late_ns: u64,
    },
    /// The measured window has begun.
    Warmed {
        /// Since its start; ns.
        at_ns: u64,
    },
    /// A second has passed.
    Tick(Box<TickMessage>),
    /// The load is over.
    Ended {
        /// Since its start; ns.
        at_ns: u64,
        /// True if it was stopped.
        interrupted: bool,
        /// Sum of its ticks.
        totals: Box<Totals>,
    },
    /// The processes to be observed have been looked for.
    Observing(Box<ObservedHost>),
    /// Samples count from now on.
    SamplesBegun {
        /// By its own clock; ns.
        at_ns: u64,
    },
    /// What was observed since the one before; its instants count from [`OfAgent::SamplesBegun`].
    Sample(Box<Sample>),
    /// It listens for connections of a probe.
    ServingProbe {
        /// Where.
        port: u16,
    },
    /// The connections of a probe are over, or did not come.
    ProbeServed(Box<ProbeServed>),
    /// It has sent and received.
    Probed(Box<Probed>),
    /// It cannot take part in a probe.
    NotProbed {
        /// In a line.
        why: String,
    },
    /// The server that it was to start, restart or look at answers.
    ServerRuns(Box<ServerRuns>),
    /// The load cannot be put on, or the server cannot be observed or started.
    Failed {
        /// True if that is because of the target.
        is_target: bool,
        /// In a line.
        why: String,
    },
}

/// What a coordinator says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OfCoordinator {
    /// Heartbeat, to be answered at once.
    Ping {
        /// Rises.
        number: u64,
    },
    /// A load to prepare.
    Plan(Box<PlanMessage>),
    /// Start at an instant.
    Start {
        /// Of those of this load, from 1.
        attempt: u32,
        /// By the agent's own clock; ns.
        at_ns: u64,
    },
    /// Do not start.
    Disarm {
        /// Of the order that is taken back.
        attempt: u32,
    },
    /// End the load now.
    Stop,
    /// Processes to be observed under the next load.
    Observe(Box<ObserveMessage>),
    /// Samples count from now on.
    BeginSamples,
    /// A sample of now.
    Sample {
        /// Phase of the load since the one before.
        phase: Phase,
    },
    /// Listen for connections of a probe.
    ServeProbe(Box<ServeProbe>),
    /// Connect to who listens, send and receive.
    Probe(Box<ProbeMessage>),
    /// Start a server, which ends with the stream.
    StartServer(Box<StartServer>),
    /// End that server and start it again, with its data as they were at first.
    RestartServer,
    /// Look whether that server still runs.
    CheckServer,
    /// The totals have come, or the load is given up: forget it. Observation and a probe end with it too.
    Done,
}

/// Whom to observe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObserveMessage {
    /// Where the server is reached.
    pub address: Address,
    /// Who is the server, as it was typed; none: whoever listens there.
    pub server: Option<String>,
    /// Processes to watch beside it, as they were typed.
    pub observe: Vec<String>,
    /// Processes of a server that another agent has started there: name and number.
    pub parts: Vec<(String, i32)>,
    /// True if the fingerprint is wanted, which takes a moment.
    pub wants_fingerprint: bool,
}

/// A server to be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartServer {
    /// What, as it was typed, such as `nginx workers=2`.
    pub server: String,
    /// Address of that machine at which it is to listen.
    pub address: Ipv4Addr,
}

/// A server that was started and answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerRuns {
    /// What is measured.
    pub url: String,
    /// Its processes: name and number.
    pub processes: Vec<(String, i32)>,
    /// URLs of its status pages.
    pub status: Vec<String>,
    /// Certificate that it shows, PEM; none without TLS.
    pub certificate: Option<String>,
    /// What is to be known of it in a result.
    pub served: Served,
    /// What has happened since the last order that is no error; for people.
    pub warnings: Vec<String>,
}

/// The machine of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedHost {
    /// Kernel name, release and machine.
    pub kernel: String,
    /// CPU model.
    pub cpu_model: String,
    /// What machine and server are, if that was wanted.
    pub fingerprint: Option<Fingerprint>,
}

/// A plan with what records leave out of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanMessage {
    /// Threads and all that is beside the shares are those of the agent.
    pub plan: Plan,
    /// Part of the agent.
    pub segment: Segment,
    /// Bodies of the requests, base64.
    bodies: Vec<String>,
    /// Trusted certificates, base64.
    extra_roots: Vec<String>,
}

impl PlanMessage {
    /// Part of `plan` that is `segment`.
    #[must_use]
    pub fn new(plan: Plan, segment: Segment) -> Self {
        let bodies = plan.requests.iter().map(|request| STANDARD.encode(&request.body)).collect();
        let roots = plan.tls.iter().flat_map(|tls| &tls.extra_roots);
        Self { bodies, extra_roots: roots.map(|root| STANDARD.encode(root)).collect(), segment, plan }
    }

    /// The plan as it was; none if the message does not hold together.
    #[must_use]
    pub fn into_plan(self) -> Option<Plan> {
        let mut plan = self.plan;
        if self.bodies.len() != plan.requests.len() {
            return None;
        }
        for (request, body) in plan.requests.iter_mut().zip(&self.bodies) {
            request.body = STANDARD.decode(body).ok()?;
            if request.body.len() as u64 != request.body_bytes {
                return None;
            }
        }
        let roots = self.extra_roots.iter().map(|root| STANDARD.decode(root).ok()).collect::<Option<Vec<_>>>()?;
        match &mut plan.tls {
            Some(tls) => tls.extra_roots = roots,
            None if !roots.is_empty() => return None,
            None => {}
        }
        Some(plan)
    }
}

/// A tick with its histograms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TickMessage {
    /// Number, from 0.
    pub sequence: u64,
    /// Without its histograms.
    pub tick: Tick,
    /// By name; those that are not empty.
    histograms: BTreeMap<String, String>,
    /// Of those of disturbed time.
    set_aside: BTreeMap<String, String>,
}

impl TickMessage {
    /// The `sequence`-th tick.
    #[must_use]
    pub fn new(sequence: u64, tick: &Tick) -> Self {
        let (histograms, set_aside) = (encode(&tick.histograms), encode(&tick.set_aside));
        // They are not of what serde writes, and costly to copy.
        let tick = Tick { histograms: Histograms::default(), set_aside: Histograms::default(), ..tick.clone() };
        Self { sequence, tick, histograms, set_aside }
    }

    /// The tick; none if its histograms cannot be read.
    #[must_use]
    pub fn into_tick(self) -> Option<Tick> {
        let (histograms, set_aside) = (decode(&self.histograms)?, decode(&self.set_aside)?);
        Some(Tick { histograms, set_aside, ..self.tick })
    }
}

fn encode(histograms: &Histograms) -> BTreeMap<String, String> {
    let filled = histograms.each().into_iter().filter(|(_, histogram)| !histogram.is_empty());
    filled.map(|(name, histogram)| (name.to_owned(), histogram.encode())).collect()
}

fn decode(texts: &BTreeMap<String, String>) -> Option<Histograms> {
    let mut histograms = Histograms::default();
    for (name, text) in texts {
        *histograms.named_mut(name)? = MergedHistogram::decode(text).ok()?;
    }
    Some(histograms)
}
