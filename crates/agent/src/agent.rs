//! The agent's end of the stream: what the coordinator orders, what the load reports.

use crate::bandwidth::{ProbeMessage, ProbeServed, Probed, ServeProbe};
use crate::frame::{self, Decoder, FrameError, OF_AGENT_MAX, OF_COORDINATOR_MAX, PREAMBLE};
use crate::limits::{ALONE_NS, HEARTBEAT_NS, SELECTORS_MAX};
use crate::message::{
    Hello, ObserveMessage, ObservedHost, OfAgent, OfCoordinator, PlanMessage, ServerRuns, StartServer, TickMessage,
};
use crate::totals::Totals;
use model::{Fruitless, NS_PER_S, Phase, Plan, Sample, Segment, Tick, TlsSession};
use std::collections::VecDeque;
use thiserror::Error;

/// Bytes that may wait for a coordinator that does not read; some minutes of a load.
const OUT_MAX: usize = 64 << 20;
/// No order to start is about an instant further away; ns.
const LEAD_MAX_NS: u64 = 600 * NS_PER_S;

/// Reason why an agent ends.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Gone {
    /// Its coordinator may be gone.
    #[error("the coordinator said nothing for {} s", ALONE_NS / NS_PER_S)]
    Silent,
    /// It does not take what it is told.
    #[error("the coordinator does not read")]
    Stalled,
    /// These are no messages.
    #[error("the coordinator sent {0}")]
    Frame(#[from] FrameError),
    /// A message that it does not know, or that has no place now.
    #[error("the coordinator sent {0}")]
    Message(&'static str),
}

/// What the coordinator wants.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// Prepare a load.
    Load {
        /// All of it.
        plan: Box<Plan>,
        /// The own part.
        segment: Segment,
    },
    /// Start it at an instant of the own clock; ns.
    StartAt {
        /// To be told when it has started.
        attempt: u32,
        /// The instant.
        at_ns: u64,
    },
    /// Do not start.
    Disarm,
    /// End it now.
    Stop,
    /// Find processes to be observed.
    Observe(Box<ObserveMessage>),
    /// Count from now on.
    BeginSamples,
    /// Take a sample.
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
    /// Start that server again.
    RestartServer,
    /// Look whether it still runs.
    CheckServer,
    /// Its totals have come, or it is given up; observation and a probe end too.
    Done,
}

/// What the load says.
#[derive(Clone, Debug, PartialEq)]
pub enum Report {
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
    /// It has started so long after the instant agreed on; ns.
    Started {
        /// Of the order.
        attempt: u32,
        /// How late.
        late_ns: u64,
    },
    /// The measured window has begun, so long after the start; ns.
    Warmed {
        /// When.
        at_ns: u64,
    },
    /// A second has passed.
    Tick(Box<Tick>),
    /// It is over.
    Ended {
        /// Since its start; ns.
        at_ns: u64,
        /// True if it was stopped.
        interrupted: bool,
    },
    /// The processes to be observed have been looked for.
    Observing(Box<ObservedHost>),
    /// Samples count from this instant of the own clock; ns.
    SamplesBegun {
        /// The instant.
        at_ns: u64,
    },
    /// What was observed.
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
    /// The server that was to be started, restarted or looked at answers.
    ServerRuns(Box<ServerRuns>),
    /// It cannot be put on, or the server cannot be observed or started.
    Failed {
        /// True if that is because of the target.
        is_target: bool,
        /// In a line.
        why: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No load.
    Idle,
    /// Its connections are being opened.
    Opening,
    /// They are open.
    Ready,
    /// It starts by itself.
    Armed,
    /// It has started, or has ended, and is not forgotten.
    Under,
    /// No load: the server is observed, and no samples count yet.
    Observing,
    /// They do.
    Sampling,
    /// No load: the bandwidth is probed.
    Probing,
    /// No load, ever: a server was ordered, and is kept.
    Serving,
}

/// One agent.
#[derive(Clone, Debug)]
pub struct Agent {
    decoder: Decoder,
    out: Vec<u8>,
    orders: VecDeque<Order>,
    state: State,
    /// True if it starts servers for whom it obeys.
    may_serve: bool,
    /// When the coordinator was heard last; ns.
    heard_ns: u64,
    /// When it was told something last; ns.
    said_ns: u64,
    totals: Totals,
}

impl Agent {
    /// Says hello.
    #[must_use]
    pub fn new(hello: Hello, now_ns: u64) -> Self {
        let mut agent = Self {
            decoder: Decoder::new(OF_COORDINATOR_MAX),
            out: PREAMBLE.to_vec(),
            orders: VecDeque::new(),
            state: State::Idle,
            may_serve: false,
            heard_ns: now_ns,
            said_ns: now_ns,
            totals: Totals::default(),
        };
        agent.say(&OfAgent::Hello(hello), now_ns);
        agent
    }

    /// The same, but that it starts servers as well: for a coordinator that can run any program there anyway.
    #[must_use]
    pub fn that_serves(hello: Hello, now_ns: u64) -> Self {
        Self { may_serve: true, ..Self::new(hello, now_ns) }
    }

    /// Takes in bytes of the coordinator, which came at `received_ns`.
    ///
    /// # Errors
    /// If they are not the protocol's.
    pub fn on_bytes(&mut self, bytes: &[u8], received_ns: u64, now_ns: u64) -> Result<(), Gone> {
        self.heard_ns = received_ns;
        self.decoder.push(bytes);
        while let Some(message) = self.decoder.message()? {
            let message: OfCoordinator =
                serde_json::from_slice(message).map_err(|_| Gone::Message("a message that this version has not"))?;
            self.on_message(message, received_ns, now_ns)?;
        }
        Ok(())
    }

    fn on_message(&mut self, message: OfCoordinator, received_ns: u64, now_ns: u64) -> Result<(), Gone> {
        match (message, self.state) {
            (OfCoordinator::Ping { number }, _) => {
                self.say(&OfAgent::Pong { number, received_ns, sent_ns: now_ns }, now_ns);
            }
            (OfCoordinator::Plan(plan), State::Idle) => self.on_plan(*plan)?,
            (OfCoordinator::Plan(_), _) => return Err(Gone::Message("a plan while another load is not over")),
            (OfCoordinator::Start { attempt, at_ns }, State::Ready) => self.on_start(attempt, at_ns, now_ns)?,
            (OfCoordinator::Start { .. }, _) => return Err(Gone::Message("a start of nothing")),
            (OfCoordinator::Observe(whom), State::Idle) => self.on_observe(whom)?,
            (OfCoordinator::BeginSamples, State::Observing) => {
                self.state = State::Sampling;
                self.orders.push_back(Order::BeginSamples);
            }
            (OfCoordinator::Sample { phase }, State::Sampling) => self.orders.push_back(Order::Sample { phase }),
            (OfCoordinator::Observe(_) | OfCoordinator::BeginSamples | OfCoordinator::Sample { .. }, _) => {
                return Err(Gone::Message("an order to observe that has no place now"));
            }
            (OfCoordinator::ServeProbe(probe), State::Idle) if probe.is_bounded() => {
                self.probe(Order::ServeProbe(probe));
            }
            (OfCoordinator::Probe(probe), State::Idle) if probe.is_bounded() => self.probe(Order::Probe(probe)),
            (OfCoordinator::ServeProbe(_) | OfCoordinator::Probe(_), _) => {
                return Err(Gone::Message("a probe that has no place now, or no bounds"));
            }
            (OfCoordinator::StartServer(server), State::Idle) if self.may_serve => {
                self.state = State::Serving;
                self.orders.push_back(Order::StartServer(server));
            }
            (OfCoordinator::RestartServer, State::Serving) => self.orders.push_back(Order::RestartServer),
            (OfCoordinator::CheckServer, State::Serving) => self.orders.push_back(Order::CheckServer),
            (OfCoordinator::StartServer(_) | OfCoordinator::RestartServer | OfCoordinator::CheckServer, _) => {
                return Err(Gone::Message("an order about a server that it may not start, or has not"));
            }
            (OfCoordinator::Disarm { .. }, State::Armed) => {
                self.state = State::Ready;
                self.orders.push_back(Order::Disarm);
            }
            // It has failed, or started: the coordinator will see.
            (OfCoordinator::Disarm { .. }, _) | (OfCoordinator::Stop, State::Idle) => {}
            (OfCoordinator::Stop, _) => self.orders.push_back(Order::Stop),
            (OfCoordinator::Done, _) => {
                self.state = State::Idle;
                self.orders.push_back(Order::Done);
            }
        }
        Ok(())
    }

    fn on_plan(&mut self, message: PlanMessage) -> Result<(), Gone> {
        let segment = message.segment;
        let plan = message.into_plan().ok_or(Gone::Message("a plan that does not hold together"))?;
        let threads = plan.threads;
        let is_part = threads > 0 && segment.first.checked_add(threads).is_some_and(|end| end <= segment.of);
        // Loads that take turns are put on by one process.
        if plan.requests.is_empty() || plan.turns.is_some() || !is_part || segment.of > plan.load.connections() {
            return Err(Gone::Message("a plan that does not hold together"));
        }
        // Whoever came through ssh can reach them without us. Anybody else would use our rights: a Unix socket such as that of a
        // container engine obeys whoever may open it.
        if !self.may_serve && plan.target.address.is_private_to_its_machine() {
            return Err(Gone::Message(
                "a load of a Unix socket or a link-local address, which only an agent over ssh puts on one",
            ));
        }
        self.totals = Totals::default();
        self.state = State::Opening;
        self.orders.push_back(Order::Load { plan: Box::new(plan), segment });
        Ok(())
    }

    fn on_observe(&mut self, whom: Box<ObserveMessage>) -> Result<(), Gone> {
        if whom.observe.len() > SELECTORS_MAX {
            return Err(Gone::Message("more processes than can be watched"));
        }
        self.state = State::Observing;
        self.orders.push_back(Order::Observe(whom));
        Ok(())
    }

    fn probe(&mut self, order: Order) {
        self.state = State::Probing;
        self.orders.push_back(order);
    }

    /// What is to be said of a probe; nothing of one that was given up.
    fn on_probe(&mut self, report: OfAgent, now_ns: u64) {
        if self.state == State::Probing {
            if !matches!(report, OfAgent::ServingProbe { .. }) {
                self.state = State::Idle;
            }
            self.say(&report, now_ns);
        }
    }

    fn on_start(&mut self, attempt: u32, at_ns: u64, now_ns: u64) -> Result<(), Gone> {
        let margin_ns = at_ns.checked_sub(now_ns).filter(|margin_ns| *margin_ns > 0);
        if margin_ns.is_some_and(|margin_ns| margin_ns > LEAD_MAX_NS) {
            return Err(Gone::Message("a start that is too far away"));
        }
        if margin_ns.is_some() {
            self.state = State::Armed;
            self.orders.push_back(Order::StartAt { attempt, at_ns });
        }
        self.say(&OfAgent::Armed { attempt, margin_ns }, now_ns);
        Ok(())
    }

    /// Takes in what the load says.
    pub fn on_report(&mut self, report: Report, now_ns: u64) {
        let message = match report {
            Report::Ready { requested, established, took_ns, fruitless, tls } => {
                self.state = State::Ready;
                OfAgent::Ready { requested, established, took_ns, fruitless, tls }
            }
            Report::Started { attempt, late_ns } => {
                self.state = State::Under;
                OfAgent::Started { attempt, late_ns }
            }
            Report::Warmed { at_ns } => OfAgent::Warmed { at_ns },
            Report::Tick(tick) => {
                let message = TickMessage::new(self.totals.ticks, &tick);
                // It is the coordinator that has to believe them.
                let _ = self.totals.add(&tick);
                OfAgent::Tick(Box::new(message))
            }
            Report::Ended { at_ns, interrupted } => {
                OfAgent::Ended { at_ns, interrupted, totals: Box::new(self.totals.clone()) }
            }
            Report::Observing(host) => OfAgent::Observing(host),
            Report::SamplesBegun { at_ns } => OfAgent::SamplesBegun { at_ns },
            Report::Sample(sample) => OfAgent::Sample(sample),
            Report::ServerRuns(runs) => OfAgent::ServerRuns(runs),
            Report::Failed { is_target, why } => OfAgent::Failed { is_target, why },
            Report::ServingProbe { port } => return self.on_probe(OfAgent::ServingProbe { port }, now_ns),
            Report::ProbeServed(served) => return self.on_probe(OfAgent::ProbeServed(served), now_ns),
            Report::Probed(probed) => return self.on_probe(OfAgent::Probed(probed), now_ns),
            Report::NotProbed { why } => return self.on_probe(OfAgent::NotProbed { why }, now_ns),
        };
        self.say(&message, now_ns);
    }

    /// Says that it is alive, if it is time.
    ///
    /// # Errors
    /// If the coordinator is gone.
    pub fn on_time(&mut self, now_ns: u64) -> Result<(), Gone> {
        if now_ns >= self.heard_ns.saturating_add(ALONE_NS) {
            return Err(Gone::Silent);
        }
        if self.out.len() > OUT_MAX {
            return Err(Gone::Stalled);
        }
        if now_ns >= self.said_ns.saturating_add(HEARTBEAT_NS) {
            self.say(&OfAgent::Alive, now_ns);
        }
        Ok(())
    }

    /// When [`Agent::on_time`] has something to do next; ns.
    #[must_use]
    pub fn deadline_ns(&self) -> u64 {
        self.heard_ns.saturating_add(ALONE_NS).min(self.said_ns.saturating_add(HEARTBEAT_NS))
    }

    /// Bytes for the coordinator; once taken they are to be written.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// What the coordinator wants next.
    pub fn take_order(&mut self) -> Option<Order> {
        self.orders.pop_front()
    }

    fn say(&mut self, message: &OfAgent, now_ns: u64) {
        self.said_ns = now_ns;
        let bytes = serde_json::to_vec(message).unwrap_or_default();
        // A tick has a bounded size; one without it is missed in the totals.
        let _ = frame::write(&mut self.out, &bytes, OF_AGENT_MAX);
    }
}
