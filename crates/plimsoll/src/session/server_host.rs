//! Server's machine, observed by an agent there (`--server-host`): the second source of samples beside [`super::watch::Watch`].
//!
//! The agent takes the same samples as this process would, one after each tick. They come a moment later, with the next event
//! of the load, and after its end those that are still on their way are awaited.

use crate::agents::identity::identity;
use crate::agents::launcher::{START_NS, not_there};
use crate::agents::protocol::ObserverOrder;
use crate::agents::pump::{LOOK_UP, Pump};
use crate::agents::remote::{command_error, lost_error, no_thread};
use crate::agents::server_place::ServerHostOptions;
use crate::agents::ssh_launcher::SshLauncher;
use crate::exit::CommandError;
use crate::lock::hold;
use crate::output::printer;
use crate::session::watch::starts_with;
use agent::bandwidth::{PROBE_ANSWER_NS, ProbeServed, ServeProbe};
use agent::limits::{LOST_NS, OBSERVE_NS};
use agent::{FleetError, Hello, ObserveMessage, ObservedHost, ObserverEvent, OnLoss, RemoteObserver};
use clock::{Clock, monotonic_ns};
use engine::run::Control;
use model::{Address, Event, Fingerprint, LostAgent, Sample, SourceId};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// Of an agent that does not answer to a probe.
const NO_ANSWER: &str = "no answer in time";

/// Ends the load of now, if there is one.
type StopLoad = Arc<Mutex<Option<Arc<AtomicBool>>>>;

/// Machine of a server that the agent has found, how far off its clock can be, and the shortest round trip to it; ns.
struct Found {
    host: ObservedHost,
    clock_error_ns: u64,
    round_trip_ns: u64,
}

/// Agent on the server's machine; it ends with this value.
pub(crate) struct ServerHost {
    pump: Pump<RemoteObserver>,
    on_loss: OnLoss,
    /// Ends the load of now.
    stop_load: StopLoad,
    name: String,
    /// Processes of that machine, whichever server is observed.
    server: Option<String>,
    observe: Vec<String>,
    /// True if it is the machine of this process.
    is_this_machine: bool,
    /// As it was before the first load.
    machine: model::ServerHost,
    lost: OnceLock<LostAgent>,
}

impl ServerHost {
    /// Starts it and has it find the server that answers at `address`.
    fn start(
        options: &ServerHostOptions,
        address: &Address,
        parts: &[(String, i32)],
        stop: &AtomicBool,
    ) -> Result<Self, CommandError> {
        let ServerHostOptions { host, ssh, on_loss, server, observe, .. } = options;
        let (own, name) = (identity()?, host.to_string());
        let launcher = Arc::new(SshLauncher::new(vec![host.clone()], ssh.clone())?);
        let protocol = RemoteObserver::new(name.clone(), own.clone());
        let stop_load = Arc::new(Mutex::new(None::<Arc<AtomicBool>>));
        let at_once = end_on_loss(*on_loss, Arc::clone(&stop_load));
        let pump = Pump::start(launcher, protocol, at_once).map_err(no_thread)?;
        let (server, observe) = (server.clone(), observe.clone());
        let (lost, machine) = (OnceLock::new(), model::ServerHost::default());
        let is_this_machine = false;
        let on_loss = *on_loss;
        let mut this = Self { pump, on_loss, stop_load, name, server, observe, is_this_machine, machine, lost };
        let hello = this.greeted(stop)?;
        this.is_this_machine = hello.boot_id == own.boot_id;
        let Found { host, clock_error_ns, round_trip_ns } =
            this.find(ObserveMessage { wants_fingerprint: true, ..this.whom(address, parts) }, stop)?;
        let round_trip_ns = Some(round_trip_ns);
        let ObservedHost { kernel, cpu_model, fingerprint } = host;
        let Hello { host, cpus, .. } = hello;
        let (name, fingerprint) = (this.name.clone(), fingerprint.unwrap_or_default());
        this.machine =
            model::ServerHost { name, host, kernel, cpu_model, cpus, clock_error_ns, round_trip_ns, fingerprint };
        Ok(this)
    }

    /// The server at an address, its other processes if it was started there, and what is observed beside it.
    fn whom(&self, address: &Address, parts: &[(String, i32)]) -> ObserveMessage {
        let (server, observe, parts) = (self.server.clone(), self.observe.clone(), parts.to_vec());
        ObserveMessage { address: address.clone(), server, observe, parts, wants_fingerprint: false }
    }

    /// Refuses a target that means another machine to the agent than to the load.
    fn check_address(&self, address: &Address) -> Result<(), CommandError> {
        match address.is_each_machines_own() && !self.is_this_machine {
            true => Err(CommandError::usage(format!(
                "{address} is each machine's own, and --server-host is another machine; write an address of the server, or \
                 --server-ip"
            ))),
            false => Ok(()),
        }
    }

    fn greeted(&self, stop: &AtomicBool) -> Result<Hello, CommandError> {
        let greeting = |event| if let ObserverEvent::Greeted(hello) = event { Some(hello) } else { None };
        let missing = || CommandError::usage(format!("agent {}: {}", self.name, not_there()));
        self.wait(START_NS, stop, greeting)?.ok_or_else(missing)
    }

    /// Has it find a server, before any load.
    fn find(&self, whom: ObserveMessage, stop: &AtomicBool) -> Result<Found, CommandError> {
        self.check_address(&whom.address)?;
        self.pump.order(ObserverOrder::Observe(whom));
        let found = self.ready(stop)?;
        self.pump.order(ObserverOrder::Done);
        Ok(found)
    }

    fn ready(&self, stop: &AtomicBool) -> Result<Found, CommandError> {
        let ready = |event| match event {
            ObserverEvent::Ready { host, clock_error_ns, round_trip_ns } => {
                Some(Found { host: *host, clock_error_ns, round_trip_ns })
            }
            _ => None,
        };
        let silent = || CommandError::usage(format!("agent {}: it did not find the server in time", self.name));
        self.wait(OBSERVE_NS + LOST_NS, stop, ready)?.ok_or_else(silent)
    }

    /// Has it listen for connections of a probe of the bandwidth; the port, or why it does not.
    pub(super) fn serve_probe(
        &self,
        probe: ServeProbe,
        stop: &AtomicBool,
    ) -> Result<Result<u16, String>, CommandError> {
        self.pump.order(ObserverOrder::ServeProbe(Box::new(probe)));
        let listening = |event| match event {
            ObserverEvent::ServingProbe { port } => Some(Ok(port)),
            ObserverEvent::ProbeServed(Err(why)) => Some(Err(why)),
            _ => None,
        };
        Ok(self.wait(PROBE_ANSWER_NS, stop, listening)?.unwrap_or_else(|| Err(NO_ANSWER.to_owned())))
    }

    /// What it has received in a probe.
    pub(super) fn probe_served(&self, stop: &AtomicBool) -> Result<Result<ProbeServed, String>, CommandError> {
        let served = |event| if let ObserverEvent::ProbeServed(served) = event { Some(served) } else { None };
        Ok(self.wait(PROBE_ANSWER_NS, stop, served)?.unwrap_or_else(|| Err(NO_ANSWER.to_owned())))
    }

    /// Its answer to a probe is wanted no more.
    pub(super) fn end_probe(&self) {
        self.pump.order(ObserverOrder::EndProbe);
    }

    /// How it was named.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// What `take` makes of the first event that it wants; none within the time.
    fn wait<T>(
        &self,
        within_ns: u64,
        stop: &AtomicBool,
        take: impl Fn(ObserverEvent) -> Option<T>,
    ) -> Result<Option<T>, CommandError> {
        self.pump.wait(within_ns, Some(stop), |event| match event {
            ObserverEvent::Failed(error) => {
                self.lose(&error, None);
                Err(self.check().err().unwrap_or_else(|| command_error(error)))
            }
            ObserverEvent::Note(text) => {
                printer::note(&text);
                Ok(None)
            }
            event => Ok(take(event)),
        })
    }

    fn lose(&self, error: &FleetError, at_ns: Option<u64>) {
        if let FleetError::Lost { name, why } = error {
            // It is lost once.
            let _ = self.lost.set(LostAgent { name: name.clone(), at_ns, why: why.clone() });
        }
    }

    pub(crate) const fn is_this_machine(&self) -> bool {
        self.is_this_machine
    }

    pub(crate) const fn machine(&self) -> &model::ServerHost {
        &self.machine
    }

    pub(crate) const fn fingerprint(&self) -> &Fingerprint {
        &self.machine.fingerprint
    }

    pub(crate) fn lost(&self) -> Option<&LostAgent> {
        self.lost.get()
    }

    /// Fails if it was lost: the server is not observed any more.
    pub(crate) fn check(&self) -> Result<(), CommandError> {
        let meaning = "so the server was not observed to the end";
        self.lost().map_or(Ok(()), |lost| Err(lost_error(lost, self.on_loss, meaning)))
    }
}

/// A server, and the agent that observes it where it runs. One agent may observe several, one after the other.
#[derive(Clone)]
pub(crate) struct ObservedThere {
    host: Arc<ServerHost>,
    whom: ObserveMessage,
}

impl ObservedThere {
    /// Starts the agent, which finds the server that answers at `address`.
    pub(crate) fn start(
        options: &ServerHostOptions,
        address: &Address,
        parts: &[(String, i32)],
        stop: &AtomicBool,
    ) -> Result<Self, CommandError> {
        let host = Arc::new(ServerHost::start(options, address, parts, stop)?);
        Ok(Self { whom: host.whom(address, parts), host })
    }

    /// Has an agent that is there find another server, which answers at `address`.
    pub(crate) fn another(
        &self,
        address: &Address,
        parts: &[(String, i32)],
        stop: &AtomicBool,
    ) -> Result<Self, CommandError> {
        let (host, whom) = (Arc::clone(&self.host), self.host.whom(address, parts));
        host.find(whom.clone(), stop)?;
        Ok(Self { host, whom })
    }

    /// The server has other processes now.
    pub(super) fn restarted(&mut self, parts: &[(String, i32)]) {
        self.whom.parts = parts.to_vec();
    }

    pub(crate) fn host(&self) -> &ServerHost {
        &self.host
    }

    /// Has it find the processes of now, and compares clocks anew, before a load that `control` acts on.
    pub(crate) fn watch(&self, control: &Control, is_load_here: bool) -> Result<ServerWatch<'_>, CommandError> {
        let host = &*self.host;
        *hold(&host.stop_load) = Some(Arc::clone(&control.enough));
        host.pump.order(ObserverOrder::Observe(self.whom.clone()));
        host.ready(&control.stop)?;
        let clock = Arc::clone(&control.clock);
        Ok(ServerWatch { host, clock, is_load_here, begun_ns: None, awaited: 0, come: Vec::new() })
    }
}

/// Ends the load when the agent is lost, unless it is to go on: at once, and not with the next tick.
fn end_on_loss(on_loss: OnLoss, stop_load: StopLoad) -> impl Fn(&ObserverEvent) + Send + 'static {
    move |event| {
        if let (ObserverEvent::Failed(_), OnLoss::End) = (event, on_loss) {
            hold(&stop_load).iter().for_each(|enough| enough.store(true, Ordering::Relaxed));
        }
    }
}

/// Turns ticks of one load into samples of the server's machine.
pub(crate) struct ServerWatch<'a> {
    host: &'a ServerHost,
    /// The load's, once it has begun.
    clock: Arc<OnceLock<Clock>>,
    /// True if the load comes from this machine.
    is_load_here: bool,
    /// From when on samples count; ns.
    begun_ns: Option<u64>,
    /// Samples on their way.
    awaited: usize,
    /// What has come and was not told yet.
    come: Vec<Event>,
}

impl ServerWatch<'_> {
    /// Starts with the load, and returns when samples count.
    pub(crate) fn start_after(&mut self, event: &Event) {
        if starts_with(event, self.is_load_here) {
            self.host.pump.order(ObserverOrder::Begin);
            self.take(LOST_NS, |watch| watch.begun_ns.is_some());
        }
    }

    /// The samples that have come, with an event of the load: after a tick the next is asked for.
    pub(crate) fn look(&mut self, event: &Event) -> Vec<Event> {
        match event {
            Event::Tick(tick) => {
                self.take(0, |_| false);
                if self.host.lost().is_none() {
                    self.host.pump.order(ObserverOrder::Sample(tick.phase));
                    self.awaited += 1;
                }
            }
            Event::Ended { .. } => {
                self.take(LOST_NS, |watch| watch.awaited == 0);
                self.host.pump.order(ObserverOrder::Done);
            }
            _ => {}
        }
        std::mem::take(&mut self.come)
    }

    /// Takes in what comes until `is_enough`, or for so long.
    fn take(&mut self, within_ns: u64, is_enough: impl Fn(&Self) -> bool) {
        let until_ns = monotonic_ns().saturating_add(within_ns);
        loop {
            let is_over = self.host.lost().is_some() || is_enough(self);
            let wait = if is_over || monotonic_ns() >= until_ns { Duration::ZERO } else { LOOK_UP };
            match self.host.pump.event(wait) {
                Some(event) => {
                    let told = self.take_in(event);
                    self.come.extend(told);
                }
                None if wait.is_zero() => return,
                None => {}
            }
        }
    }

    fn take_in(&mut self, event: ObserverEvent) -> Option<Event> {
        match event {
            ObserverEvent::Begun { at_ns } => self.begun_ns = Some(at_ns),
            ObserverEvent::Sample(sample) => {
                self.awaited = self.awaited.saturating_sub(1);
                return self.on_clock(*sample).map(|sample| Event::Observed(Box::new(sample)));
            }
            ObserverEvent::Note(text) => printer::note(&text),
            ObserverEvent::Failed(error) => return self.lost(&error),
            ObserverEvent::Greeted(_)
            | ObserverEvent::Ready { .. }
            | ObserverEvent::ServingProbe { .. }
            | ObserverEvent::ProbeServed(_) => {}
        }
        None
    }

    /// A sample by the clock of the load; none before that has begun.
    fn on_clock(&self, mut sample: Sample) -> Option<Sample> {
        let (begun_ns, epoch_ns) = (self.begun_ns?, self.clock.get()?.epoch_ns());
        sample.on_clock(|at_ns| begun_ns.saturating_add(at_ns).saturating_sub(epoch_ns));
        Some(sample)
    }

    fn lost(&self, error: &FleetError) -> Option<Event> {
        let (FleetError::Lost { name, why } | FleetError::Agent { name, why, .. }) = error else { return None };
        let at_ns = self.clock.get().map(Clock::now_ns);
        let (name, why) = (name.clone(), why.clone());
        self.host.lose(&FleetError::Lost { name: name.clone(), why: why.clone() }, at_ns);
        Some(Event::AgentLost { at_ns: at_ns.unwrap_or(0), source: SourceId::SERVER_HOST, name, why })
    }
}

impl Drop for ServerWatch<'_> {
    /// A load that did not come to its end is over too.
    fn drop(&mut self) {
        *hold(&self.host.stop_load) = None;
        self.host.pump.order(ObserverOrder::Done);
    }
}
