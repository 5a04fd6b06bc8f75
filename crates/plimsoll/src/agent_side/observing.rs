//! Observation of a server on this machine for a coordinator on another one: the agent's side of `--server-host`, on a thread of
//! its own, so that heartbeats go on while processes are looked for.

use crate::environment;
use crate::environment::is_local;
use crate::exit::{CommandError, Exit};
use crate::session::watch::{Sampler, Watched, companions};
use crate::settings::selectors::processes;
use agent::{ObserveMessage, ObservedHost, Report};
use clock::Clock;
use engine::run::Control;
use model::{Address, Environment, Phase, Sample};
use observe::Backends;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

/// What the coordinator wants.
pub(super) enum Wanted {
    Observe(Box<ObserveMessage>),
    Begin,
    Sample(Phase),
    Done,
}

/// Machine of an agent that generates load, sampled after each tick as that of a load of one process is.
pub(super) struct OwnMachine {
    reader: Reader,
}

/// Who has what is read of the machine.
enum Reader {
    Here(Box<Sampler>),
    /// The first reading is of all processes, and takes milliseconds: a load that waited for it would start late, and so would
    /// another agent that shares the CPU.
    Begins(JoinHandle<Box<Sampler>>),
    /// The thread of the first reading has panicked or could not be started.
    Nobody,
}

impl OwnMachine {
    /// Under a load on `address`.
    pub(super) fn new(address: &Address) -> Self {
        let watched = Watched {
            address: address.clone(),
            // A server here is none of the other programs.
            is_here: is_local(address),
            server: None,
            product: None,
            companions: Vec::new(),
            backends: Backends::default(),
            neighbours: Vec::new(),
            takes_turns: false,
            is_load_here: true,
            keeps_account: false,
        };
        Self { reader: Reader::Here(Box::new(watched.sampler())) }
    }

    /// The load of `control` has started.
    pub(super) fn begin(&mut self, control: &Control) {
        let Some(mut sampler) = self.taken() else { return };
        let now_ns = control.clock.get().map_or(0, Clock::now_ns);
        let first = move || {
            sampler.begin(now_ns);
            sampler
        };
        self.reader = match Builder::new().name("machine".into()).spawn(first) {
            Ok(begins) => Reader::Begins(begins),
            Err(_) => Reader::Nobody,
        };
    }

    /// What happened since the sample before; of a server and its workers nothing, which is told by who observes them.
    pub(super) fn sample(&mut self, control: &Control, phase: Phase) -> Option<Report> {
        let mut sampler = self.taken()?;
        let sample = sampler.sample(control.clock.get()?.now_ns(), phase);
        self.reader = Reader::Here(sampler);
        let own = Sample { server: None, states: None, ..sample };
        Some(Report::Sample(Box::new(own)))
    }

    /// The sampler, once it has begun.
    fn taken(&mut self) -> Option<Box<Sampler>> {
        match std::mem::replace(&mut self.reader, Reader::Nobody) {
            Reader::Here(sampler) => Some(sampler),
            Reader::Begins(begins) => begins.join().ok(),
            Reader::Nobody => None,
        }
    }
}

/// Starts the thread, which ends with its sender; `report` tells the coordinator.
pub(super) fn start(report: impl Fn(Report) + Send + 'static) -> io::Result<Sender<Wanted>> {
    let (to, inbox) = channel();
    Builder::new().name("observation".into()).spawn(move || observe(&inbox, &report))?;
    Ok(to)
}

fn observe(inbox: &Receiver<Wanted>, report: &dyn Fn(Report)) {
    let mut sampler: Option<Sampler> = None;
    let mut clock = Clock::start();
    let backends = Backends::default();
    for wanted in inbox {
        match wanted {
            Wanted::Observe(whom) => match find(&whom, &backends) {
                Ok((found, host)) => {
                    sampler = Some(found);
                    report(Report::Observing(Box::new(host)));
                }
                Err(CommandError { exit, message }) => {
                    report(Report::Failed { is_target: exit == Exit::Target, why: message });
                }
            },
            // Nobody is observed if none was found, which was told.
            Wanted::Begin => {
                if let Some(sampler) = &mut sampler {
                    clock = Clock::start();
                    sampler.begin(0);
                    report(Report::SamplesBegun { at_ns: clock.epoch_ns() });
                }
            }
            Wanted::Sample(phase) => {
                if let Some(sampler) = &mut sampler {
                    report(Report::Sample(Box::new(sampler.sample(clock.now_ns(), phase))));
                }
            }
            Wanted::Done => sampler = None,
        }
    }
}

/// Finds the processes.
fn find(whom: &ObserveMessage, backends: &Backends) -> Result<(Sampler, ObservedHost), CommandError> {
    let (server, observe) = processes(whom.server.as_deref(), &whom.observe)?;
    let companions = companions(whom.parts.iter().map(|(name, pid)| (name.as_str(), *pid)), &observe);
    let is_here = is_local(&whom.address);
    if !is_here && server.is_none() {
        return Err(CommandError::usage(format!(
            "{} is no address of this machine, so that nobody knows who the server is; name its processes by --server",
            whom.address
        )));
    }
    let address = whom.address.clone();
    let (neighbours, is_load_here, keeps_account) = (Vec::new(), true, false);
    let backends = backends.clone();
    let watched = Watched {
        address,
        is_here,
        server,
        product: None,
        companions,
        backends,
        neighbours,
        takes_turns: false,
        is_load_here,
        keeps_account,
    };
    let Environment { kernel, cpu_model, .. } = environment::describe();
    let fingerprint = whom.wants_fingerprint.then(|| watched.fingerprint().fingerprint);
    Ok((watched.sampler(), ObservedHost { kernel, cpu_model, fingerprint }))
}
