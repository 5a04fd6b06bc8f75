//! One load, from the probe to the gathered evidence: what `run` and each point of `sweep` have in common.

use crate::asked::Asked;
use crate::beside::Beside;
use crate::cli::observe::BesideArgs;
use crate::cli::{GeneratorArgs, RequestArgs};
use crate::environment;
use crate::exit::Trouble;
use crate::profiling::{Sampled, Sampling};
use crate::progress::Progress;
use crate::requests::Listed;
use crate::settings::Settings;
use crate::status::StatusPages;
use crate::store::Recorder;
use crate::subject::Subject;
use crate::sys::forget_used_text;
use crate::target_url::{TargetUrl, is_local};
use crate::watch::{self, Watch};
use engine::run::{Control, RunError};
use judge::check::Machine;
use judge::limiter::{Context, speeds};
use model::{
    Address, CheckRow, CheckState, Environment, Event, Load, NS_PER_S, Numbering, Plan, Probe, Sample, Stop, Warmup,
};
use observe::TakenFingerprint;
use stack::Spec;
use stats::Gather;
use std::cell::OnceCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Numbers kept for the requests of one load, so that no two loads of a sweep send the same; the probe takes the last.
pub(crate) const NUMBERS_A_LOAD: u64 = 1_000_000_000;

/// A shorter window was asked for because it is short, and is not prolonged.
const PROLONG_FROM_NS: u64 = 3 * NS_PER_S;

/// What stands before the first load of a verb: the target is there, was looked at, and its results have a place.
pub(crate) struct Prepared {
    subject: Subject,
    settings: Settings,
    address: Address,
    /// Of the first request.
    probe: Probe,
    /// Text that differs from one call of the program to the next.
    token: String,
    /// What is looked at beside the load.
    asked: Asked,
    /// Whether anything is.
    is_observed: bool,
    /// What machine and server were before the first load.
    fingerprint: TakenFingerprint,
    /// What of this machine was known to stand in the way beforehand.
    foreseen: Vec<CheckRow>,
    /// Loads measured so far.
    loads: u64,
    /// Time that may still be spent on making up for disturbed time; ns.
    pub(crate) budget_ns: u64,
    /// The server's CPU quota before the first load.
    quota: OnceCell<Option<u64>>,
    /// The record of this verb.
    pub(crate) directory: PathBuf,
    /// When preparing began, RFC 3339.
    pub(crate) started: String,
    /// Set by ^C.
    stop: Arc<AtomicBool>,
    pub(crate) progress: Progress,
}

/// What a verb wants to measure, and how.
pub(crate) struct Wanted<'a> {
    /// The target; none: the server, or the built-in target.
    pub(crate) url: Option<&'a str>,
    /// A server to be started and measured.
    pub(crate) serve: Option<&'a Spec>,
    pub(crate) request: &'a RequestArgs,
    pub(crate) generator: &'a GeneratorArgs,
    /// What is looked at beside the load.
    pub(crate) beside: &'a BesideArgs,
    /// Whether anything is looked at while the load runs.
    pub(crate) is_observed: bool,
    pub(crate) quiet: bool,
    /// Whether machine and server are in the record already, and need not be read anew.
    pub(crate) is_known: bool,
    /// Set by ^C.
    pub(crate) stop: Arc<AtomicBool>,
}

impl Prepared {
    /// Starts the target if need be, probes it, and lets `create` make the directory, with the time of the start in its
    /// name.
    pub(crate) fn new(
        wanted: Wanted<'_>,
        create: impl FnOnce(&str) -> Result<PathBuf, Trouble>,
    ) -> Result<Self, Trouble> {
        let Wanted { request, stop, .. } = wanted;
        forget_used_text();
        // Before anything is started for it.
        let asked = Asked::read(wanted.beside)?;
        let progress = Progress::new(wanted.quiet);
        let served = wanted.serve.map(|spec| Subject::serve(spec, request, &stop, &progress)).transpose()?;
        let url = match &served {
            Some(subject) => Some(subject.url.clone()),
            None => wanted.url.map(TargetUrl::parse).transpose()?,
        };
        let listed = Listed::read(request, url.as_ref())?;
        let (origin, requests, note) = match listed {
            Some(listed) => (listed.origin, Some(listed.requests), listed.note),
            None => (url, None, String::new()),
        };
        let subject = match (served, origin) {
            (Some(served), _) => served,
            (None, Some(url)) => Subject::other(url, request)?,
            (None, None) if asked.server.is_some() => {
                return Err(Trouble::usage("--server needs a URL: the built-in target is its own server"));
            }
            (None, None) => Subject::builtin(request, &stop, &progress)?,
        };
        let mut settings = Settings::new(request, wanted.generator, &subject.url, requests)?;
        subject.adapt(&mut settings)?;
        let started = engine::clock::wall_clock();
        let token = token(&started);
        let (address, probe) = subject.probe(&mut settings, &token, &stop, &progress)?;
        let directory = create(&started)?;
        subject.keep_build_log(&directory);
        progress.line(&note);
        let first = subject.url.origin() + &settings.requests[0].path;
        progress.line(report::terminal::probe(&probe, &first).trim_end());
        let parts = watch::wanted(subject.processes(), &asked.observe);
        if wants_server_cpus(&settings, &address) {
            settings.server_cpus = watch::server_cpus(&address, asked.server.as_ref(), &parts);
        }
        forget_used_text();
        let known = wanted.is_known.then(TakenFingerprint::default);
        let fingerprint = known.unwrap_or_else(|| watch::fingerprint(&address, asked.server.as_ref(), &parts));
        Ok(Self {
            fingerprint,
            foreseen: Vec::new(),
            subject,
            settings,
            address,
            probe,
            token,
            asked,
            is_observed: wanted.is_observed,
            loads: 0,
            budget_ns: 0,
            quota: OnceCell::new(),
            directory,
            started,
            stop,
            progress,
        })
    }

    /// Ends the server that was started for this and starts it anew; does nothing with any other target.
    pub(crate) fn restart(&mut self) -> Result<(), Trouble> {
        self.subject.restart(&self.progress)
    }

    /// Whether the server that was started for this still runs as it should.
    pub(crate) fn check(&mut self) -> Result<(), Trouble> {
        self.subject.check(&self.progress)
    }

    /// Where the results come from, and what of it has changed until now.
    pub(crate) fn environment(&self) -> Environment {
        let TakenFingerprint { fingerprint, .. } = &self.fingerprint;
        let (fingerprint, changes) = (Some(fingerprint.clone()), Some(self.fingerprint.changes()));
        let check = self.foreseen.clone();
        Environment { served: self.subject.served(), fingerprint, changes, check, ..environment::describe() }
    }

    /// Tells what of this machine is known to stand in the way of the load of `plan`, and keeps it for the record. It puts
    /// nothing on the target.
    pub(crate) fn foresee(&mut self, plan: &Plan) {
        let now = watch::glance(&plan.target.address);
        self.foreseen = judge::check::machine(&self.machine(plan, std::slice::from_ref(&now)));
        self.foreseen.retain(|row| row.state >= CheckState::Warning);
        self.foreseen.iter().for_each(|row| self.progress.line(&report::terminal::check_row(row)));
    }

    /// This machine as it was seen while no load ran.
    pub(crate) fn machine<'a>(&'a self, plan: &'a Plan, samples: &'a [Sample]) -> Machine<'a> {
        let is_target_here = is_local(&self.address);
        Machine { plan, is_target_here, fingerprint: &self.fingerprint.fingerprint, samples }
    }

    /// What happens on this machine for a moment in which no load runs.
    pub(crate) fn idle(&self) -> Vec<Sample> {
        let wanted = watch::wanted(self.subject.processes(), &self.asked.observe);
        watch::idle(&self.address, is_local(&self.address), self.asked.server.as_ref(), &wanted)
    }

    /// What the target answered before anything was asked of it.
    pub(crate) const fn probe(&self) -> &Probe {
        &self.probe
    }

    /// What bounds the server and is not in the evidence of a load.
    pub(crate) fn limits(&self) -> Context {
        Context {
            server_cpus: self.subject.server_cpus(),
            settings: self.subject.spec().map_or_else(Vec::new, Spec::limits),
            links_bit_per_s: speeds(&self.fingerprint.fingerprint),
        }
    }

    /// The server that was started for this, as it was asked for.
    pub(crate) fn spec(&self) -> Option<&Spec> {
        self.subject.spec()
    }

    /// The plan of one load on the target.
    pub(crate) fn plan(&self, load: Load, stop: Stop, warmup: Warmup) -> Plan {
        let numbering = Numbering { first: self.loads * NUMBERS_A_LOAD, token: self.token.clone() };
        self.settings.plan(&self.subject.url, &self.address, numbering, load, stop, warmup)
    }

    /// Puts the load of `plan` on the target, with `label` before its progress, and records it in `directory`.
    pub(crate) fn measure(&mut self, plan: &Plan, label: &str, directory: &Path) -> Result<Gather, Trouble> {
        self.loads += 1;
        self.progress.begin(label, plan);
        let control = self.control(plan);
        let mut beside = self.beside(plan, None, &control);
        let gather = measure(plan, &self.probe, directory, &control, &mut beside, &mut self.progress)?;
        self.budget_ns = self.budget_ns.saturating_sub(gather.prolonged_ns());
        Ok(gather)
    }

    /// What acts on the load of `plan`: one that is disturbed may take half as long again, within the budget.
    fn control(&self, plan: &Plan) -> Control {
        let window_ns = plan.stop.duration_ns().unwrap_or(0);
        let prolong_max_ns = if window_ns < PROLONG_FROM_NS { 0 } else { self.budget_ns.min(window_ns / 2) };
        Control { stop: Arc::clone(&self.stop), prolong_max_ns, ..Control::default() }
    }

    /// The same with samples of where the CPU time of its window goes.
    pub(crate) fn measure_profiled(
        &mut self,
        plan: &Plan,
        label: &str,
        directory: &Path,
    ) -> Result<(Gather, Sampled), Trouble> {
        self.loads += 1;
        self.progress.begin(label, plan);
        let companions = watch::wanted(self.subject.processes(), &self.asked.observe);
        let mut sampling = Sampling::new(plan, self.asked.server.as_ref(), &companions);
        let control = self.control(plan);
        let mut beside = self.beside(plan, Some(&mut sampling), &control);
        let gather = measure(plan, &self.probe, directory, &control, &mut beside, &mut self.progress)?;
        self.progress.say("looking up names for the profile");
        Ok((gather, sampling.finish()))
    }

    /// What looks on while the load of `plan` runs. A restart has given the server new processes.
    fn beside<'a>(&self, plan: &Plan, sampling: Option<&'a mut Sampling>, control: &Control) -> Beside<'a> {
        if !self.is_observed {
            return Beside {
                watch: Watch::off(),
                pages: StatusPages::watch(std::iter::empty(), &control.clock),
                sampling,
            };
        }
        let watched = watch::wanted(self.subject.processes(), &self.asked.observe);
        let watch = Watch::new(&plan.target.address, self.asked.server.as_ref(), &watched, control, &self.quota);
        let own = self.subject.status_pages();
        let pages = StatusPages::watch(own.iter().chain(&self.asked.status), &control.clock);
        Beside { watch, pages, sampling }
    }

    /// Whether ^C has ended the load early.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Whether the CPUs of somebody else's server have to be looked up: on this machine, with some CPUs that are not for the
/// load. Otherwise they are known, or cannot be apart from those of the load.
fn wants_server_cpus(settings: &Settings, address: &Address) -> bool {
    let load = settings.load_cpus().len();
    settings.server_cpus.is_empty() && is_local(address) && load < environment::online_cpus()
}

/// Eight letters and digits made from a time.
fn token(started: &str) -> String {
    let mut hasher = DefaultHasher::new();
    (started, std::process::id()).hash(&mut hasher);
    let bits = hasher.finish();
    (0..8).map(|place| char::from(b"abcdefghijklmnopqrstuvwxyz234567"[(bits >> (5 * place)) as usize & 31])).collect()
}

/// Whether this machine can open that many connections, over TCP or not; raises the limit of open files if need be.
pub(crate) fn check_limits(connections: u32, threads: u32, tcp: bool) -> Result<(), Trouble> {
    engine::limits::open_files(connections, threads).map_err(Trouble::usage)?;
    if tcp { engine::limits::ports(connections).map_err(Trouble::usage) } else { Ok(()) }
}

/// Puts the load of `plan` on its target and returns what was seen, recording it in `directory` as it goes.
fn measure(
    plan: &Plan,
    probe: &Probe,
    directory: &Path,
    control: &Control,
    beside: &mut Beside<'_>,
    progress: &mut Progress,
) -> Result<Gather, Trouble> {
    check_limits(plan.load.connections(), plan.threads, plan.target.address.tcp().is_some())?;
    let mut recorder = Recorder::open(directory)?;
    let mut gather = Gather::new(plan.clone());
    let mut damage = None;
    let mut keep = |event: &Event| {
        recorder.record(event);
        progress.show(event);
        if let Err(error) = gather.apply(event) {
            damage = Some(error);
        }
    };
    let mut take = |event: Event| {
        let seen = beside.look(&event);
        keep(&event);
        seen.for_each(|event| keep(&event));
        beside.start_after(&event);
    };
    take(Event::Probed(probe.clone()));
    // What has prepared the load has run for the last time, and what judges it has not run yet.
    forget_used_text();
    let outcome = engine::run::run(plan, control, &mut take);
    forget_used_text();
    if let Some(error) = damage {
        return Err(Trouble::usage(format!("a histogram of this run cannot be read back: {error}")));
    }
    match outcome {
        Ok(()) => Ok(gather),
        Err(RunError::NoConnection { .. }) if control.stop.load(Ordering::Relaxed) => Err(Trouble::interrupted()),
        Err(error @ RunError::NoConnection { .. }) => Err(Trouble::target(error)),
        Err(error @ (RunError::Spawn { .. } | RunError::Tls(_) | RunError::Template(_) | RunError::Worker(_))) => {
            Err(Trouble::usage(error))
        }
    }
}
