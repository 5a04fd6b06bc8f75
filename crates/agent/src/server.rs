//! The coordinator's end of the stream to the agent that starts a server on its machine, keeps it, and ends it with the stream.

use crate::checked;
use crate::error::FleetError;
use crate::limits::SERVE_NS;
use crate::link::{Link, Said, Stage};
use crate::message::{Hello, OfCoordinator, ServerRuns, StartServer};
use std::collections::VecDeque;

/// What comes out.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerEvent {
    /// The agent is there and of this build.
    Greeted(Hello),
    /// What was ordered is done, and the server answers.
    Runs(Box<ServerRuns>),
    /// Something to be said, in a line.
    Note(String),
    /// Nothing more comes.
    Failed(FleetError),
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Greeting,
    /// Nothing was ordered, or it is done.
    Idle,
    /// Ordered then; ns.
    Ordered {
        since_ns: u64,
    },
    Failed,
}

/// What is ordered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerOrder {
    /// Start it.
    Start(Box<StartServer>),
    /// End it, and start it again with its data as they were at first.
    Restart,
    /// Look whether it still runs.
    Check,
}

/// The agent of one server.
#[derive(Clone, Debug)]
pub struct RemoteServer {
    link: Link,
    identity: Hello,
    state: State,
    events: VecDeque<ServerEvent>,
}

impl RemoteServer {
    /// An agent that has to be of the build that `identity` is; its stream is not there yet.
    #[must_use]
    pub fn new(name: String, identity: Hello) -> Self {
        Self { link: Link::new(name), identity, state: State::Greeting, events: VecDeque::new() }
    }

    /// Its stream is there.
    pub fn attach(&mut self, now_ns: u64) {
        self.link.attach(now_ns);
    }

    /// Takes in its bytes, which came at `received_ns`.
    pub fn on_bytes(&mut self, bytes: &[u8], received_ns: u64) {
        if !self.link.is_alive() {
            return;
        }
        self.link.push(bytes, received_ns);
        while self.link.is_alive() {
            match self.link.next(received_ns, 0) {
                Ok(None) => break,
                Ok(Some(said)) => self.on_said(said),
                Err(why) => self.lose(&why),
            }
        }
    }

    /// Its stream has ended; `why` is what is known of it.
    pub fn on_end(&mut self, why: &str) {
        self.lose(&checked::text(why));
    }

    /// Does what is due.
    pub fn on_time(&mut self, now_ns: u64) {
        if let Some(why) = self.link.on_time(now_ns) {
            self.lose(&why);
        }
        self.events.extend(self.link.late(now_ns).map(ServerEvent::Note));
        if now_ns >= self.answer_ns() {
            self.fail("its server did not answer in time".into(), false);
        }
    }

    /// When [`RemoteServer::on_time`] has something to do next; ns.
    #[must_use]
    pub fn deadline_ns(&self) -> u64 {
        self.link.deadline_ns().min(self.answer_ns())
    }

    /// Until when what was ordered has to be done; ns.
    const fn answer_ns(&self) -> u64 {
        match self.state {
            State::Ordered { since_ns } => since_ns.saturating_add(SERVE_NS),
            State::Greeting | State::Idle | State::Failed => u64::MAX,
        }
    }

    /// Bytes for it; once taken they are to be written.
    pub fn take_output(&mut self) -> Vec<u8> {
        self.link.take_output()
    }

    /// What has happened.
    pub fn take_event(&mut self) -> Option<ServerEvent> {
        self.events.pop_front()
    }

    /// True if nothing more comes from it, nor is said to it.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.link.stage == Stage::Lost
    }

    /// Orders something. It has said hello, and what was ordered before is done; a server is started once, and first.
    pub fn order(&mut self, order: ServerOrder, now_ns: u64) {
        if self.state != State::Idle {
            return;
        }
        let message = match order {
            ServerOrder::Start(server) => {
                self.link.stage = Stage::Serving;
                OfCoordinator::StartServer(server)
            }
            ServerOrder::Restart => OfCoordinator::RestartServer,
            ServerOrder::Check => OfCoordinator::CheckServer,
        };
        self.state = State::Ordered { since_ns: now_ns };
        if !self.link.say(&message) {
            self.fail("what it is to start is too long to be sent to it".into(), false);
        }
    }

    fn on_said(&mut self, said: Said) {
        match (said, self.state) {
            (Said::Progress, State::Greeting) if self.link.stage == Stage::Idle => self.greet(),
            (Said::Progress | Said::Pong, _) => {}
            (Said::ServerRuns(runs), State::Ordered { .. }) => {
                self.state = State::Idle;
                self.events.push_back(ServerEvent::Runs(runs));
            }
            (Said::Failed { is_target, why }, _) => self.fail(why, is_target),
            (
                Said::Tick(_)
                | Said::Observing(_)
                | Said::SamplesBegun(_)
                | Said::Sample(_)
                | Said::Probe(_)
                | Said::ServerRuns(_),
                _,
            ) => self.lose("it sent a message that has no place now"),
        }
    }

    fn greet(&mut self) {
        match self.link.other_build(&self.identity) {
            Some(why) => self.fail(why, false),
            None => {
                self.state = State::Idle;
                self.events.push_back(ServerEvent::Greeted(self.link.hello.clone()));
            }
        }
    }

    /// Nothing more comes of it.
    fn lose(&mut self, why: &str) {
        if let Some(error) = self.link.lost(why) {
            self.end(error);
        }
    }

    fn fail(&mut self, why: String, is_target: bool) {
        let error = self.link.failed(why, is_target);
        self.end(error);
    }

    fn end(&mut self, error: FleetError) {
        if self.state != State::Failed {
            self.state = State::Failed;
            self.events.push_back(ServerEvent::Failed(error));
        }
    }
}
