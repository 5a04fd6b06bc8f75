//! Loads on all agents, one after the other, each told as the events of one: what `engine::run` does on this machine.

use crate::agents::identity::identity;
use crate::agents::launcher::Launcher;
use crate::agents::protocol::LoadOrder;
use crate::agents::pump::{LOOK_UP, Pump};
use crate::exit::{CommandError, Exit};
use crate::output::printer;
use crate::output::progress::Progress;
use agent::bandwidth::{PROBE_ANSWER_NS, ProbeMessage, Probed};
use agent::limits::LEAD_NS;
use agent::segment::{Part, divide};
use agent::{Fleet, FleetError, FleetEvent, Hello, OnLoss};
use clock::{Clock, monotonic_ns, wall_clock};
use engine::run::Control;
use model::{Address, Event, LostAgent, NS_PER_S, Plan, human};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// About how long they take before a load to compare clocks and to agree on the start.
pub(crate) const AGREE_NS: u64 = LEAD_NS + NS_PER_S / 4;

/// Agents that are there; they end with this value.
pub(crate) struct Agents {
    pump: Pump<Fleet>,
    hellos: Vec<Hello>,
    own: Hello,
    /// See [`Launcher::has_own_loopback`].
    have_own_loopback: bool,
    on_loss: OnLoss,
    /// The first that was lost.
    lost: OnceLock<LostAgent>,
}

impl Agents {
    /// Gets them from their launcher, and waits until all are there. `progress` is told how far that is.
    pub(crate) fn start(
        launcher: Arc<dyn Launcher>,
        on_loss: OnLoss,
        stop: &AtomicBool,
        progress: &Progress,
    ) -> Result<Self, CommandError> {
        let own = identity()?;
        let until_ns = monotonic_ns().saturating_add(launcher.timeout_ns());
        let fleet = Fleet::new(launcher.names(), own.clone(), on_loss);
        let pump = Pump::start(Arc::clone(&launcher), fleet, |_| ()).map_err(no_thread)?;
        let mut has_given_up = false;
        loop {
            progress.say(&launcher.state());
            let event = pump.event(LOOK_UP);
            launcher.take_notes().iter().for_each(|note| progress.line(note));
            match event {
                Some((FleetEvent::Greeted, hellos)) => {
                    let have_own_loopback = launcher.has_own_loopback();
                    return Ok(Self { pump, hellos, own, have_own_loopback, on_loss, lost: OnceLock::new() });
                }
                Some((FleetEvent::Failed(error), _)) => return Err(command_error(error)),
                Some((FleetEvent::Note(text), _)) => progress.line(&text),
                Some(_) | None => {}
            }
            if stop.load(Ordering::Relaxed) {
                return Err(CommandError::interrupted());
            }
            if monotonic_ns() > until_ns && !std::mem::replace(&mut has_given_up, true) {
                // Who is missing is told as what fails otherwise.
                pump.order(LoadOrder::GiveUp);
            }
        }
    }

    /// What is to be said of them before the load.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let machines: BTreeSet<&str> = self.hellos.iter().map(|hello| hello.boot_id.as_str()).collect();
        let mut warnings = Vec::new();
        if machines.len() < self.hellos.len() {
            let (agents, machines) = (self.hellos.len(), human::plural(machines.len() as u64, "machine"));
            warnings.push(format!("{agents} agents run on {machines}: they share its CPUs and network"));
        }
        warnings
    }

    /// Refuses a target that means another machine to each agent.
    pub(crate) fn check_target(&self, address: &Address) -> Result<(), CommandError> {
        let is_elsewhere = |hello: &Hello| hello.boot_id != self.own.boot_id;
        may_load(address, self.have_own_loopback || self.hellos.iter().any(is_elsewhere))
    }

    /// The load threads of each: as many as asked for, else one a CPU.
    pub(crate) fn parts(&self, threads: Option<u32>, connections: u32) -> Result<Vec<Part>, CommandError> {
        let wanted: Vec<u32> = self.hellos.iter().map(|hello| threads.unwrap_or(hello.cpus).clamp(1, 1024)).collect();
        divide(&wanted, connections).ok_or_else(|| too_few("-c", connections, wanted.len()))
    }

    /// CPUs of all.
    pub(crate) fn cpus(&self) -> u32 {
        self.hellos.iter().map(|hello| hello.cpus.max(1)).fold(0, u32::saturating_add)
    }

    /// Carries out `plan` and hands every event to `sink`, in order, as [`engine::run::run`] does.
    pub(crate) fn run(
        &self,
        plan: &Plan,
        parts: Vec<Part>,
        control: &Control,
        note: &dyn Fn(&str),
        sink: &mut dyn FnMut(Event),
    ) -> Result<(), CommandError> {
        sink(Event::Started { started: wall_clock(), plan: Box::new(plan.clone()) });
        self.pump.order(LoadOrder::Begin(Box::new(plan.clone()), parts));
        let mut is_stopping = false;
        loop {
            match self.pump.event(LOOK_UP).map(|(event, _)| event) {
                Some(FleetEvent::Agreed { start_ns }) => {
                    // The clock of a load is set once.
                    let _ = control.clock.set(Clock::started_at(start_ns));
                }
                Some(FleetEvent::Load(event)) => {
                    if let Event::AgentLost { at_ns, name, why, .. } = &event {
                        self.lose(name, Some(*at_ns), why);
                    }
                    sink(event);
                }
                Some(FleetEvent::Note(text)) => note(&text),
                Some(FleetEvent::Over) => return Ok(()),
                Some(FleetEvent::Failed(error)) => {
                    if let FleetError::Lost { name, why } = &error {
                        self.lose(name, None, why);
                    }
                    return self.check().and_then(|()| Err(command_error(error)));
                }
                // A probe has ended before.
                Some(FleetEvent::Greeted | FleetEvent::Probed { .. }) | None => {}
            }
            let wants_end = control.stop.load(Ordering::Relaxed) || control.enough.load(Ordering::Relaxed);
            if wants_end && !std::mem::replace(&mut is_stopping, true) {
                self.pump.order(LoadOrder::Stop);
            }
        }
    }

    /// How many they are.
    pub(crate) const fn count(&self) -> usize {
        self.hellos.len()
    }

    /// Has each take its part in a probe of the bandwidth; what each has received, or why there is none.
    pub(crate) fn probe(
        &self,
        parts: Vec<ProbeMessage>,
        stop: &AtomicBool,
    ) -> Result<Vec<Result<Probed, String>>, CommandError> {
        let until_ns = monotonic_ns().saturating_add(PROBE_ANSWER_NS);
        let mut outcomes: Vec<Result<Probed, String>> = vec![Err("no answer in time".to_owned()); parts.len()];
        let mut awaited = parts.len();
        self.pump.order(LoadOrder::Probe(parts));
        while awaited > 0 && monotonic_ns() < until_ns {
            match self.pump.event(LOOK_UP) {
                Some((FleetEvent::Probed { agent, outcome }, _)) => {
                    awaited -= 1;
                    outcomes[agent] = outcome;
                }
                Some((FleetEvent::Failed(error), _)) => return Err(command_error(error)),
                Some((FleetEvent::Note(text), _)) => printer::note(&text),
                Some(_) | None => {}
            }
            if stop.load(Ordering::Relaxed) {
                return Err(CommandError::interrupted());
            }
        }
        self.pump.order(LoadOrder::EndProbe);
        Ok(outcomes)
    }

    fn lose(&self, name: &str, at_ns: Option<u64>, why: &str) {
        // Those after the first say nothing new.
        let _ = self.lost.set(LostAgent { name: name.to_owned(), at_ns, why: why.to_owned() });
    }

    /// The first that was lost, if any was.
    pub(crate) fn lost(&self) -> Option<&LostAgent> {
        self.lost.get()
    }

    /// Fails if one was lost: the last load is not the one that was planned, and there will be no other.
    pub(crate) fn check(&self) -> Result<(), CommandError> {
        let meaning = "so this is not the load that was planned";
        self.lost().map_or(Ok(()), |lost| Err(lost_error(lost, self.on_loss, meaning)))
    }
}

/// Fails where a target means another machine to each agent, if any of them is on another one.
fn may_load(address: &Address, is_any_elsewhere: bool) -> Result<(), CommandError> {
    match address.is_each_machines_own() && is_any_elsewhere {
        true => Err(CommandError::usage(format!(
            "{address} is each machine's own: agents on other machines would load themselves; write an address that they \
             reach"
        ))),
        false => Ok(()),
    }
}

/// That an agent was lost, and what that means for the result.
pub(crate) fn lost_error(lost: &LostAgent, on_loss: OnLoss, meaning: &str) -> CommandError {
    let LostAgent { name, at_ns, why } = lost;
    let exit = match on_loss {
        OnLoss::End => Exit::Invalid,
        OnLoss::Continue => Exit::Inconclusive,
    };
    let when = match at_ns {
        Some(at_ns) => format!("{:.1} s after the start", *at_ns as f64 / NS_PER_S as f64),
        None => "before the start".to_owned(),
    };
    CommandError { exit, message: format!("agent {name} was lost {when}, {meaning}: {why}") }
}

/// That there is no thread for the streams.
pub(crate) fn no_thread(error: std::io::Error) -> CommandError {
    CommandError::usage(format!("cannot start a thread: {error}"))
}

/// That not each agent has a connection, in a load that `flag` sets.
pub(crate) fn too_few(flag: &str, connections: u32, agents: usize) -> CommandError {
    CommandError::usage(format!(
        "{flag} {connections} are fewer connections than the {agents} agents, and each needs one; write {flag} {agents} or \
         more"
    ))
}

pub(crate) fn command_error(error: FleetError) -> CommandError {
    match error {
        FleetError::Stopped => CommandError::interrupted(),
        FleetError::Agent { is_target: true, .. } => CommandError::target(error),
        FleetError::Agent { is_target: false, .. } | FleetError::Lost { .. } => CommandError::usage(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_on_other_machines_are_not_sent_to_a_socket_of_their_own() {
        for own in ["unix:/run/php/php-fpm.sock", "127.0.0.1:80", "[::1]:80"] {
            let address: Address = own.parse().expect("an address");
            let message = may_load(&address, true).expect_err("it is each machine's own").message;
            assert!(message.contains(own) && message.contains("agents on other machines"), "{message}");
            assert!(may_load(&address, false).is_ok(), "all are on this machine");
        }
        assert!(may_load(&"192.0.2.1:80".parse().expect("an address"), true).is_ok());
    }
}
