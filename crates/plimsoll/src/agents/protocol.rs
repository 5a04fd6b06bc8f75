//! What the streams carry: the protocol of a load, of the server's machine, or of a server that is started there.

use crate::agents::launcher::not_there;
use agent::bandwidth::{ProbeMessage, ServeProbe};
use agent::segment::Part;
use agent::{
    Fleet, FleetEvent, Hello, ObserveMessage, ObserverEvent, RemoteObserver, RemoteServer, ServerEvent, ServerOrder,
};
use model::{Phase, Plan};

/// Coordinator's end of a protocol, over the streams of all its agents.
pub(crate) trait Protocol: Send + 'static {
    /// What may be asked of the agents.
    type Order: Send + 'static;
    /// What comes out.
    type Event: Send + 'static;
    fn attach(&mut self, agent: usize, now_ns: u64);
    fn on_bytes(&mut self, agent: usize, bytes: &[u8], received_ns: u64, now_ns: u64);
    fn on_end(&mut self, agent: usize, why: &str, now_ns: u64);
    fn on_order(&mut self, order: Self::Order, now_ns: u64);
    fn on_time(&mut self, now_ns: u64);
    fn deadline_ns(&self) -> u64;
    fn take_output(&mut self, agent: usize) -> Vec<u8>;
    fn take_event(&mut self) -> Option<Self::Event>;
    /// True if nothing more comes from an agent, nor is said to it.
    fn is_lost(&self, agent: usize) -> bool;
}

/// What may be asked of agents that generate load.
pub(crate) enum LoadOrder {
    /// Begin one.
    Begin(Box<Plan>, Vec<Part>),
    /// End it early.
    Stop,
    /// Who is not there is missing.
    GiveUp,
    /// Take part in a probe of the bandwidth.
    Probe(Vec<ProbeMessage>),
    /// It is over.
    EndProbe,
}

impl Protocol for Fleet {
    type Order = LoadOrder;
    /// With what the agents have said of themselves.
    type Event = (FleetEvent, Vec<Hello>);

    fn attach(&mut self, agent: usize, now_ns: u64) {
        self.attach(agent, now_ns);
    }

    fn on_bytes(&mut self, agent: usize, bytes: &[u8], received_ns: u64, now_ns: u64) {
        self.on_bytes(agent, bytes, received_ns, now_ns);
    }

    fn on_end(&mut self, agent: usize, why: &str, now_ns: u64) {
        self.on_end(agent, why, now_ns);
    }

    fn on_order(&mut self, order: LoadOrder, now_ns: u64) {
        match order {
            LoadOrder::Begin(plan, parts) => self.begin(&plan, &parts, now_ns),
            LoadOrder::Stop => self.stop(now_ns),
            LoadOrder::GiveUp => self.give_up(&not_there()),
            LoadOrder::Probe(parts) => self.probe(parts),
            LoadOrder::EndProbe => self.end_probe(),
        }
    }

    fn on_time(&mut self, now_ns: u64) {
        self.on_time(now_ns);
    }

    fn deadline_ns(&self) -> u64 {
        self.deadline_ns()
    }

    fn take_output(&mut self, agent: usize) -> Vec<u8> {
        self.take_output(agent)
    }

    fn take_event(&mut self) -> Option<Self::Event> {
        let event = self.take_event()?;
        let hellos = if event == FleetEvent::Greeted { self.hellos().cloned().collect() } else { Vec::new() };
        Some((event, hellos))
    }

    fn is_lost(&self, agent: usize) -> bool {
        self.is_lost(agent)
    }
}

/// What may be asked of the agent on the server's machine.
pub(crate) enum ObserverOrder {
    /// Look for processes.
    Observe(ObserveMessage),
    /// A load begins.
    Begin,
    /// A tick of it has ended.
    Sample(Phase),
    /// It is over.
    Done,
    /// Listen for connections of a probe of the bandwidth.
    ServeProbe(Box<ServeProbe>),
    /// It is over.
    EndProbe,
}

impl Protocol for RemoteObserver {
    type Order = ObserverOrder;
    type Event = ObserverEvent;

    fn attach(&mut self, _: usize, now_ns: u64) {
        self.attach(now_ns);
    }

    fn on_bytes(&mut self, _: usize, bytes: &[u8], received_ns: u64, now_ns: u64) {
        self.on_bytes(bytes, received_ns, now_ns);
    }

    fn on_end(&mut self, _: usize, why: &str, _: u64) {
        self.on_end(why);
    }

    fn on_order(&mut self, order: ObserverOrder, now_ns: u64) {
        match order {
            ObserverOrder::Observe(whom) => self.observe(whom, now_ns),
            ObserverOrder::Begin => self.begin(),
            ObserverOrder::Sample(phase) => self.sample(phase),
            ObserverOrder::Done => self.done(),
            ObserverOrder::ServeProbe(probe) => self.serve_probe(*probe),
            ObserverOrder::EndProbe => self.end_probe(),
        }
    }

    fn on_time(&mut self, now_ns: u64) {
        self.on_time(now_ns);
    }

    fn deadline_ns(&self) -> u64 {
        self.deadline_ns()
    }

    fn take_output(&mut self, _: usize) -> Vec<u8> {
        self.take_output()
    }

    fn take_event(&mut self) -> Option<ObserverEvent> {
        self.take_event()
    }

    fn is_lost(&self, _: usize) -> bool {
        self.is_lost()
    }
}

impl Protocol for RemoteServer {
    type Order = ServerOrder;
    type Event = ServerEvent;

    fn attach(&mut self, _: usize, now_ns: u64) {
        self.attach(now_ns);
    }

    fn on_bytes(&mut self, _: usize, bytes: &[u8], received_ns: u64, _: u64) {
        self.on_bytes(bytes, received_ns);
    }

    fn on_end(&mut self, _: usize, why: &str, _: u64) {
        self.on_end(why);
    }

    fn on_order(&mut self, order: ServerOrder, now_ns: u64) {
        self.order(order, now_ns);
    }

    fn on_time(&mut self, now_ns: u64) {
        self.on_time(now_ns);
    }

    fn deadline_ns(&self) -> u64 {
        self.deadline_ns()
    }

    fn take_output(&mut self, _: usize) -> Vec<u8> {
        self.take_output()
    }

    fn take_event(&mut self) -> Option<ServerEvent> {
        self.take_event()
    }

    fn is_lost(&self, _: usize) -> bool {
        self.is_lost()
    }
}
