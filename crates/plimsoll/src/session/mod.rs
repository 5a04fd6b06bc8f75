//! One load, from the probe to the gathered evidence: what `run` and each point of `sweep` have in common.

mod abort;
pub(crate) mod agents;
pub(crate) mod backlog;
pub(crate) mod bandwidth;
mod memory;
pub(crate) mod numbers;
pub(crate) mod observers;
pub(crate) mod partner;
pub(crate) mod served_there;
pub(crate) mod server_host;
pub(crate) mod status;
pub(crate) mod sut;
pub(crate) mod watch;

use crate::agents::remote::{Agents, command_error};
use crate::environment::{self, is_local};
use crate::exit::{CommandError, Exit};
use crate::journal::{Journal, LoadJournal};
use crate::output::printer;
use crate::output::progress::Progress;
use crate::profiling::{Sampled, Sampling, php};
use crate::settings::Settings;
use crate::settings::draft::Draft;
use crate::settings::selectors::Selectors;
use crate::settings::target_url::TargetUrl;
use crate::sys::forget_used_text;
use abort::AbortObserver;
use agent::FleetError;
use agent::segment::Part;
use agents::{AgentsFrom, SessionAgents};
use backlog::BacklogWatch;
use engine::run::{Control, RunError};
use evidence::EvidenceBuilder;
use judge::check::Machine;
use judge::speeds;
use judge::threshold::Threshold;
use model::{
    ALL_ELSEWHERE, Aborted, Address, Begun, Change, CheckState, DuetSet, Environment, Event, LimiterContext, Load,
    MeasurementKind, NOT_OBSERVED, NS_PER_S, Numbering, Plan, Probe, Redacted, Sample, SessionEvent, SourceId, Stop,
    Warmup,
};
use numbers::{NUMBERS_A_LOAD, first_number};
use observe::{Backends, TakenFingerprint};
use observers::Observers;
use partner::Partner;
use server_host::ServerHost;
use stack::{PhpSamples, Spec};
use status::StatusPages;
use std::cell::OnceCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use sut::Sut;
use watch::{LOAD_ELSEWHERE, Watch, Watched};

/// A shorter window was chosen because it is short, and is not prolonged.
const PROLONG_FROM_NS: u64 = 3 * NS_PER_S;

/// What stands before the first load of a verb: the target is there, was looked at, and its results have a place.
pub(crate) struct Session {
    sut: Sut,
    settings: Settings,
    address: Address,
    /// Of the first request.
    probe: Probe,
    /// Text that differs from one call of the program to the next.
    token: String,
    /// What is looked at beside the load.
    selectors: Selectors,
    /// True if anything is.
    is_observed: bool,
    /// Agents on other machines.
    agents: SessionAgents,
    /// What machine and server were before the first load.
    fingerprint: TakenFingerprint,
    /// Time that the machine had been suspended by then, since it was started; ns.
    suspended_ns: u64,
    /// Of the first request of the next load.
    next_number: u64,
    /// Time that may still be spent on making up for disturbed time; ns.
    pub(crate) budget_ns: u64,
    /// Conditions under which a load is ended early.
    pub(crate) abort_if: Vec<Threshold>,
    /// The server's CPU quota before the first load.
    quota: OnceCell<Option<u64>>,
    /// Who is found to be behind the server.
    backends: Backends,
    /// The record of this verb.
    pub(crate) directory: PathBuf,
    /// When preparing began, RFC 3339.
    pub(crate) started: String,
    /// Set by ^C.
    stop: Arc<AtomicBool>,
    pub(crate) progress: Progress,
}

/// What goes on beside a load.
pub(crate) enum Beside {
    /// Nothing but what observes it.
    Nothing,
    /// Another load on another server.
    Partner(Partner),
    /// The load is ended early when its backlog runs away.
    BacklogWatch,
    /// The CPU time of its window is sampled.
    Sampling,
}

/// What came of a load beside its events.
pub(crate) struct Measured {
    /// True if it was ended as its backlog ran away.
    pub(crate) ran_away: bool,
    /// `None` of a load that was not sampled.
    pub(crate) sampling: Option<Sampling>,
    /// `None` of a load that no condition has ended.
    pub(crate) aborted: Option<Aborted>,
}

/// What a verb wants to measure, and how.
pub(crate) struct SessionOptions<'a> {
    /// The target; none: the server, or the built-in target.
    pub(crate) url: Option<&'a str>,
    /// A server to be started and measured.
    pub(crate) serve: Option<&'a Spec>,
    /// CPUs of a server that is started, and of its load; none: half of the cores each.
    pub(crate) cpus: Option<&'a DuetSet>,
    /// Agents on other machines that generate the load, or observe the server.
    pub(crate) agents: AgentsFrom<'a>,
    /// Requests and generator, whatever the URL is.
    pub(crate) draft: &'a Draft,
    /// What is looked at beside the load; looked up before anything is started for it.
    pub(crate) selectors: Selectors,
    /// True if anything is looked at while the load runs.
    pub(crate) is_observed: bool,
    pub(crate) quiet: bool,
    /// True if machine and server are in the record already, and need not be read again.
    pub(crate) is_known: bool,
    /// Set by ^C.
    pub(crate) stop: Arc<AtomicBool>,
}

impl Session {
    /// Starts the target if need be, probes it, and lets `create` make the directory, unless it refuses what there is to be
    /// measured: what is refused leaves no directory.
    pub(crate) fn new(
        options: SessionOptions<'_>,
        create: impl FnOnce(&Self) -> Result<PathBuf, CommandError>,
    ) -> Result<Self, CommandError> {
        let SessionOptions { draft, cpus, selectors, stop, .. } = options;
        forget_used_text();
        let progress = Progress::new(options.quiet);
        let started = |spec| match options.agents.serve_place() {
            Some(place) => Sut::serve_there(spec, place, draft, &stop, &progress),
            None => Sut::serve(spec, draft, cpus, &stop, &progress),
        };
        let served = options.serve.map(started).transpose()?;
        let url = match &served {
            Some(sut) => Some(sut.url.clone()),
            None => options.url.map(TargetUrl::parse).transpose()?,
        };
        let listed = draft.listed(url.as_ref())?;
        let of_list = listed.as_ref().map(|listed| (listed.origin.clone(), listed.note.clone()));
        let (origin, note) = of_list.unwrap_or((url, String::new()));
        let mut sut = match (served, origin) {
            (Some(served), _) => served,
            (None, Some(url)) => Sut::other(url, draft)?,
            (None, None) if selectors.server.is_some() => {
                return Err(CommandError::usage("--server needs a URL: the built-in target is its own server"));
            }
            (None, None) => Sut::builtin(draft, cpus, &stop, &progress)?,
        };
        let mut settings = draft.settings(&sut.url, listed)?;
        sut.adapt(&mut settings)?;
        let started = clock::wall_clock();
        let token = token(&started);
        let next_number = first_number(sut.spec().is_some());
        let probed = sut.probe(&mut settings, (&token, next_number), &stop, &progress);
        let (address, probe) = probed.map_err(|error| options.agents.with_loopback(error, &sut.url.host))?;
        if options.agents.are_for_load_alone() && !is_local(&address) {
            selectors.may_name_processes(&address)?;
        }
        let agents = SessionAgents::new(options.agents, &address, sut.processes_there(), &stop, &progress)?;
        let is_here = agents.server.is_none() && is_local(&address);
        let recognised = sut.recognise(&address);
        let watched = watched(&sut, &address, is_here, &selectors, &probe);
        watched.notes(recognised, options.is_observed && is_here).for_each(|note| progress.line(&note));
        if is_here && wants_server_cpus(&settings) {
            settings.server_cpus = watched.server_cpus();
        }
        forget_used_text();
        let fingerprint = if options.is_known { TakenFingerprint::default() } else { watched.fingerprint() };
        let mut session = Self {
            agents,
            fingerprint,
            suspended_ns: clock::suspended_ns(),
            sut,
            settings,
            address,
            probe,
            token,
            selectors,
            is_observed: options.is_observed,
            next_number,
            budget_ns: 0,
            abort_if: Vec::new(),
            quota: OnceCell::new(),
            backends: watched.backends,
            directory: PathBuf::new(),
            started,
            stop,
            progress,
        };
        session.directory = create(&session)?;
        session.sut.keep_build_log(&session.directory);
        session.progress.line(&note);
        session.tell_probe();
        Ok(session)
    }

    fn tell_probe(&self) {
        let first = Redacted::url(&(self.sut.url.origin() + &self.settings.requests[0].path));
        self.progress.line(report::terminal::probe(&Redacted::new(self.probe.clone()), &first).trim_end());
    }

    /// Ends the server that was started for this and starts it again; does nothing with any other target.
    pub(crate) fn restart(&mut self) -> Result<(), CommandError> {
        self.sut.restart(&self.stop, &self.progress)?;
        self.agents.restarted(self.sut.processes_there());
        Ok(())
    }

    /// True if the server that was started for this still runs as it should.
    pub(crate) fn check(&mut self) -> Result<(), CommandError> {
        self.sut.check(&self.progress)
    }

    /// Begins the measurement, whose largest load is that of `plan`: tells what of this machine is known to stand in its way,
    /// and begins its journal. It puts nothing on the target.
    pub(crate) fn begin(&self, measurement: MeasurementKind, plan: &Plan) -> Result<Journal, CommandError> {
        let now = watch::sample_now(&plan.target.address);
        // What limits a load from elsewhere is checked there.
        let check =
            self.agents.load.is_none().then(|| judge::check::machine(&self.machine(plan, std::slice::from_ref(&now))));
        let mut check = check.unwrap_or_default();
        check.extend(self.php_samples().map(|samples| php::check_row(samples.clock)));
        check.retain(|row| row.state >= CheckState::Warning);
        check.iter().for_each(|row| self.progress.line(&report::terminal::check_row(row)));
        let begun = Begun {
            started: self.started.clone(),
            measurement,
            environment: Environment { check, ..self.environment() },
            limits: self.limits(),
        };
        Journal::begin(&self.directory, begun)
    }

    /// What has changed of machine and server since the begin.
    pub(crate) fn changes(&self) -> Vec<Change> {
        environment::changes(&self.fingerprint, self.suspended_ns)
    }

    /// What machine and server were before the first load, and the time for which the machine had been suspended by then; ns. To
    /// be looked at again when a server of ours has ended, with the files that were made for it.
    pub(crate) fn before(&self) -> (TakenFingerprint, u64) {
        let fingerprint = self.fingerprint.clone();
        let fingerprint = match self.sut.state_directory() {
            Some(directory) => fingerprint.without_files_below(directory),
            None => fingerprint,
        };
        (fingerprint, self.suspended_ns)
    }

    /// Where the results come from.
    pub(crate) fn environment(&self) -> Environment {
        let fingerprint = Some(self.fingerprint.fingerprint.clone());
        let server_host = self.agents.server_host().map(ServerHost::machine).cloned();
        let bandwidth = self.agents.bandwidth.clone();
        Environment { served: self.sut.served(), fingerprint, server_host, bandwidth, ..environment::describe() }
    }

    /// This machine as it was seen while no load ran.
    pub(crate) fn machine<'a>(&'a self, plan: &'a Plan, samples: &'a [Sample]) -> Machine<'a> {
        let is_target_here = is_local(&self.address);
        Machine { plan, is_target_here, fingerprint: &self.fingerprint.fingerprint, samples }
    }

    /// What happens on this machine for a moment in which no load runs.
    pub(crate) fn idle(&self) -> Vec<Sample> {
        self.watched().idle()
    }

    /// What the target answered before any load was put on it.
    pub(crate) const fn probe(&self) -> &Probe {
        &self.probe
    }

    /// What bounds the server and is not in the evidence of a load.
    fn limits(&self) -> LimiterContext {
        let here = &self.fingerprint.fingerprint;
        LimiterContext {
            server_cpus: self.sut.server_cpus(),
            settings: self.sut.limits(),
            links_bit_per_s: speeds(self.agents.server_host().map_or(here, ServerHost::fingerprint)),
        }
    }

    /// The server that was started for this, as it was specified.
    pub(crate) fn spec(&self) -> Option<&Spec> {
        self.sut.spec()
    }

    /// Samples of PHP functions that the target takes itself: a server of ours, or a stack of this user.
    pub(crate) fn php_samples(&self) -> Option<PhpSamples> {
        self.sut.php_samples()
    }

    /// The plan of one load on the target.
    pub(crate) fn plan(&self, load: Load, stop: Stop, warmup: Warmup) -> Plan {
        let numbering = Numbering { first: self.next_number, token: self.token.clone() };
        let plan = self.settings.plan(&self.sut.url, &self.address, numbering, load, stop, warmup);
        let Some(agents) = &self.agents.load else { return plan };
        // What cannot be divided is refused when it is to be measured.
        let parts = agents.parts(self.settings.threads, load.connections()).unwrap_or_default();
        let threads = parts.iter().map(|part| part.threads).sum::<u32>().max(1);
        Plan { threads, spin_ns: self.settings.remote_spin(load, threads, agents.cpus()), ..plan }
    }

    /// Puts the load of `plan` on the target, with `label` before its progress, while `beside` goes on. Its events are told to
    /// `journal`.
    pub(crate) fn measure(
        &mut self,
        plan: &Plan,
        label: &str,
        journal: &mut LoadJournal<'_>,
        beside: Beside,
    ) -> Result<Measured, CommandError> {
        let mut control = self.control(plan);
        let (mut partner, mut backlog, mut sampling) = (None, None, None);
        match beside {
            Beside::Nothing => {}
            Beside::Partner(load) => {
                control = load.control(control);
                partner = Some(load);
            }
            Beside::BacklogWatch => backlog = Some(BacklogWatch::new(plan, &control)),
            Beside::Sampling => sampling = Some(self.sampling(plan)),
        }
        let mut abort = (!self.abort_if.is_empty()).then(|| AbortObserver::new(self.abort_if.clone(), plan, &control));
        let beside = Observers {
            backlog: backlog.as_mut(),
            sampling: sampling.as_mut(),
            abort: abort.as_mut(),
            ..self.observers(partner.as_ref(), plan.turns.is_some(), &control)
        };
        self.load(plan, label, journal, &control, beside)?;
        let prolonged_ns = journal.evidence().map_or(0, EvidenceBuilder::prolonged_ns);
        self.budget_ns = self.budget_ns.saturating_sub(prolonged_ns);
        if let Some(partner) = partner {
            partner.end();
        }
        let ran_away = backlog.is_some_and(|backlog| backlog.ran_away);
        Ok(Measured { ran_away, sampling, aborted: abort.and_then(|abort| abort.aborted) })
    }

    /// Looks up the names of what was sampled, after the result without them is on the disk: that takes seconds, and reads
    /// files that whoever runs the server has written.
    pub(crate) fn name(&self, sampling: Sampling, journal: &Journal) -> Sampled {
        journal.store_so_far();
        self.progress.say("looking up names for the profile");
        sampling.finish(&self.stop)
    }

    /// Samples of where the CPU time of a window goes.
    fn sampling(&self, plan: &Plan) -> Sampling {
        let watched = self.watched();
        Sampling::new(plan, watched.server.as_ref(), &watched.companions, self.php_samples(), &self.directory)
    }

    /// What acts on the load of `plan`: one that is disturbed may take half as long again, within the budget.
    fn control(&self, plan: &Plan) -> Control {
        let window_ns = plan.stop.duration_ns().unwrap_or(0);
        let prolong_max_ns = if window_ns < PROLONG_FROM_NS { 0 } else { self.budget_ns.min(window_ns / 2) };
        Control { stop: Arc::clone(&self.stop), prolong_max_ns, ..Control::default() }
    }

    fn load(
        &mut self,
        plan: &Plan,
        label: &str,
        journal: &mut LoadJournal<'_>,
        control: &Control,
        beside: Observers<'_>,
    ) -> Result<(), CommandError> {
        self.next_number += NUMBERS_A_LOAD;
        self.progress.begin(label, plan);
        let is_load_here = self.agents.load.is_none();
        let server_watch = self.agents.server.as_ref().map(|there| there.watch(control, is_load_here)).transpose()?;
        let mut beside = Observers { server_watch, ..beside };
        let generator = match &self.agents.load {
            None => Generator::Here,
            Some(agents) => Generator::Agents(agents, agents.parts(self.settings.threads, plan.load.connections())?),
        };
        let outcome = measure(plan, &self.probe, &generator, journal, control, &mut beside, &mut self.progress);
        // Its requests have been told, once.
        self.probe.sent = Some(0);
        outcome.map_err(|error| match error.exit {
            Exit::Target => self.sut.lost().map_or(error, |lost| without_server(lost, journal)),
            _ => error,
        })
    }

    /// What looks on while the load runs.
    fn observers<'a>(&self, partner: Option<&'a Partner>, takes_turns: bool, control: &Control) -> Observers<'a> {
        let (server_watch, sampling, backlog, abort) = (None, None, None, None);
        let has_part = self.agents.load.is_none() || self.is_server_here() || self.selectors.server.is_some();
        let is_watched = self.is_observed && has_part;
        let watch = if is_watched {
            let neighbours = partner.map_or_else(Vec::new, |partner| partner.neighbours.clone());
            let watched = Watched { neighbours, takes_turns, ..self.watched() };
            Watch::new(&watched, control, &self.quota)
        } else {
            Watch::off(match (self.is_observed, &self.agents.server) {
                (false, _) => NOT_OBSERVED,
                (true, Some(_)) => LOAD_ELSEWHERE,
                (true, None) => ALL_ELSEWHERE,
            })
        };
        let own = self.sut.status_pages();
        let pages = own.iter().chain(&self.selectors.status).filter(|_| self.is_observed);
        let pages = StatusPages::watch(pages, &control.clock);
        Observers { watch, server_watch, pages, sampling, backlog, abort, partner }
    }

    /// True if the server's machine is observed, this one or another.
    pub(crate) fn sees_server(&self) -> bool {
        self.agents.server.is_some() || is_local(&self.address)
    }

    /// True if the server is observed on this machine, where it runs.
    fn is_server_here(&self) -> bool {
        self.agents.server.is_none() && is_local(&self.address)
    }

    /// Processes of a server that was started for this.
    pub(crate) fn processes(&self) -> Vec<i32> {
        self.sut.processes().into_iter().map(|(_, pid)| pid).collect()
    }

    /// CPUs that the server may use now; empty when that is not known.
    pub(crate) fn server_cpus(&self) -> Vec<u32> {
        self.watched().server_cpus()
    }

    /// All processes of the server and of its companions on this machine; empty when they are not known.
    pub(crate) fn server_processes(&self) -> Vec<i32> {
        self.watched().server_processes()
    }

    /// A restart has given the server new processes.
    fn watched(&self) -> Watched {
        let is_load_here = self.agents.load.is_none();
        // A server of this machine that an agent observes would be one of the programs that take its CPU time.
        let keeps_account = is_load_here && !self.agents.server_host().is_some_and(ServerHost::is_this_machine);
        Watched {
            is_load_here,
            keeps_account,
            backends: self.backends.clone(),
            ..watched(&self.sut, &self.address, self.is_server_here(), &self.selectors, &self.probe)
        }
    }

    /// Fails if an agent was lost: the last load is not the one that was planned, and there will be no other.
    pub(crate) fn check_agents(&self) -> Result<(), CommandError> {
        self.agents.check()
    }

    /// The loss of an agent, if that has ended the measurement.
    pub(crate) fn agent_lost(&self) -> Option<SessionEvent> {
        self.agents.lost()
    }

    /// Its agents, for another session.
    pub(crate) const fn agents(&self) -> &SessionAgents {
        &self.agents
    }

    /// True if this machine has a part in what is measured: it generates the load, or the server runs on it.
    pub(crate) fn takes_part(&self) -> bool {
        self.agents.load.is_none() || is_local(&self.address)
    }

    /// True if ^C has ended the load early.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// The processes of the target, the parts of a server that was started here, and what `--observe` names.
fn watched(sut: &Sut, address: &Address, is_here: bool, selectors: &Selectors, probe: &Probe) -> Watched {
    Watched {
        address: address.clone(),
        is_here,
        server: selectors.server.clone(),
        product: probe.found().and_then(|fetch| fetch.server.clone()),
        companions: watch::companions(sut.processes(), &selectors.observe),
        backends: Backends::default(),
        neighbours: Vec::new(),
        takes_turns: false,
        is_load_here: true,
        keeps_account: true,
    }
}

/// That a load has failed because the agent that had started the server was lost, which is recorded.
fn without_server(lost: FleetError, journal: &mut LoadJournal<'_>) -> CommandError {
    if let FleetError::Lost { name, why } | FleetError::Agent { name, why, .. } = &lost {
        let (source, name, why) = (SourceId::SERVER_HOST, name.clone(), why.clone());
        journal.tell(Event::AgentLost { at_ns: 0, source, name, why });
    }
    served_there::gone(command_error(lost))
}

/// True if the CPUs of somebody else's server on this machine have to be looked up: with some CPUs that are not for the load.
/// Otherwise they are known, or cannot be apart from those of the load.
fn wants_server_cpus(settings: &Settings) -> bool {
    let load = settings.load_cpus().len();
    settings.server_cpus.is_empty() && load < environment::online_cpus()
}

/// Eight letters and digits made from a time.
fn token(started: &str) -> String {
    let mut hasher = DefaultHasher::new();
    (started, std::process::id()).hash(&mut hasher);
    let bits = hasher.finish();
    (0..8).map(|place| char::from(b"abcdefghijklmnopqrstuvwxyz234567"[(bits >> (5 * place)) as usize & 31])).collect()
}

/// Checks that this machine has the memory and can open that many connections; raises the limit of open files if need be.
pub(crate) fn check_limits(connections: u32, threads: u32, tcp: bool) -> Result<(), CommandError> {
    memory::check(threads)?;
    engine::limits::open_files(connections, threads).map_err(CommandError::usage)?;
    if tcp { engine::limits::ports(connections).map_err(CommandError::usage) } else { Ok(()) }
}

/// Who generates the load.
enum Generator<'a> {
    Here,
    /// Agents, with their parts of the load.
    Agents(&'a Agents, Vec<Part>),
}

impl Generator<'_> {
    /// Carries out `plan` and hands every event to `take`.
    fn run(&self, plan: &Plan, control: &Control, take: &mut dyn FnMut(Event)) -> Result<(), CommandError> {
        match self {
            Self::Agents(agents, parts) => agents.run(plan, parts.clone(), control, &printer::note, take),
            Self::Here => engine::run::run(plan, control, take).map_err(|error| match error {
                RunError::NoConnection { .. } if control.stop.load(Ordering::Relaxed) => CommandError::interrupted(),
                RunError::NoConnection { .. } => CommandError::target(error),
                RunError::Spawn { .. } | RunError::Tls(_) | RunError::Template(_) | RunError::Worker(_) => {
                    CommandError::usage(error)
                }
            }),
        }
    }
}

/// Puts the load of `plan` on its target and tells what happens as it goes.
fn measure(
    plan: &Plan,
    probe: &Probe,
    generator: &Generator<'_>,
    journal: &mut LoadJournal<'_>,
    control: &Control,
    beside: &mut Observers<'_>,
    progress: &mut Progress,
) -> Result<(), CommandError> {
    if matches!(generator, Generator::Here) {
        check_limits(plan.load.connections(), plan.threads, plan.target.address.tcp().is_some())?;
    }
    std::thread::scope(|scope| {
        let mut journal = journal.publish(scope, progress)?;
        let mut take = |event: Event| {
            let event = Redacted::new(event);
            let seen = beside.look(&event);
            beside.start_after(&event);
            journal.tell(event);
            seen.for_each(|event| journal.tell(Redacted::new(event)));
        };
        take(Event::Probed(probe.clone()));
        // What has prepared the load has run for the last time, and what judges it has not run yet.
        forget_used_text();
        let outcome = generator.run(plan, control, &mut take);
        forget_used_text();
        outcome
    })
}
