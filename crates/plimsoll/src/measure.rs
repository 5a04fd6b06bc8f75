//! One load, from the probe to the gathered evidence: what `run` and each point of `sweep` have in common.

use crate::builtin::Builtin;
use crate::cli::{GeneratorArgs, OutputArgs, RequestArgs};
use crate::exit::Trouble;
use crate::interrupt;
use crate::progress::Progress;
use crate::settings::Settings;
use crate::store::{self, Recorder};
use crate::target_url::TargetUrl;
use crate::watch::Watch;
use engine::probe::{self, ProbeError};
use engine::run::RunError;
use model::{Contract, Event, Load, Plan, Probe, Stop, Warmup};
use stats::Gather;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Fetches before anything is measured.
const PROBE_FETCHES: usize = 3;

/// What stands before the first load of a verb: the target is there, was looked at, and its results have a place.
pub(crate) struct Prepared {
    subject: Subject,
    settings: Settings,
    address: SocketAddr,
    probe: Probe,
    contract: Contract,
    /// The record of this verb.
    pub(crate) directory: PathBuf,
    /// When preparing began, RFC 3339.
    pub(crate) started: String,
    /// Set by ^C.
    stop: Arc<AtomicBool>,
    pub(crate) progress: Progress,
}

impl Prepared {
    /// Starts the target if need be, probes it, and creates the directory of `verb`.
    pub(crate) fn new(
        verb: &str,
        url: Option<&str>,
        request: &RequestArgs,
        generator: &GeneratorArgs,
        output: &OutputArgs,
    ) -> Result<Self, Trouble> {
        let stop = interrupt::watch()?;
        let subject = Subject::new(url)?;
        let mut settings = Settings::new(request, generator, &subject.url)?;
        subject.divide_cpus(&mut settings);
        let started = engine::clock::wall_clock();
        let (address, probe, contract) = subject.probe(&settings, &stop)?;
        let directory = store::create(output.output.as_deref(), verb, &started)?;
        let progress = Progress::new(output.quiet);
        progress.line(report::terminal::probe(&probe, &subject.url.url).trim_end());
        Ok(Self { subject, settings, address, probe, contract, directory, started, stop, progress })
    }

    /// The plan of one load on the target.
    pub(crate) fn plan(&self, load: Load, stop: Stop, warmup: Warmup) -> Plan {
        self.settings.plan(&self.subject.url, self.address, self.contract.clone(), load, stop, warmup)
    }

    /// Puts the load of `plan` on the target, with `label` before its progress, and records it in `directory`.
    pub(crate) fn measure(&mut self, plan: &Plan, label: &str, directory: &Path) -> Result<Gather, Trouble> {
        self.progress.begin(label, plan);
        measure(plan, &self.probe, directory, &self.stop, &mut self.progress)
    }

    /// Whether ^C has ended the load early.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// What is measured: the URL that was given, or a target of our own.
struct Subject {
    url: TargetUrl,
    /// Ends with the subject.
    builtin: Option<Builtin>,
}

impl Subject {
    /// The target behind `url`, or the built-in one.
    fn new(url: Option<&str>) -> Result<Self, Trouble> {
        match url {
            Some(url) => Ok(Self { url: TargetUrl::parse(url)?, builtin: None }),
            None => Builtin::start().map(|builtin| Self { url: builtin.url.clone(), builtin: Some(builtin) }),
        }
    }

    /// Gives the load the CPUs that the built-in target leaves free.
    fn divide_cpus(&self, settings: &mut Settings) {
        if let (Some(builtin), true) = (&self.builtin, settings.cpus.is_empty()) {
            settings.cpus.clone_from(&builtin.load_cpus);
        }
    }

    /// Looks at the target; tells its address, what it answered, and the contract that follows.
    fn probe(&self, settings: &Settings, stop: &AtomicBool) -> Result<(SocketAddr, Probe, Contract), Trouble> {
        let tls = settings.tls.as_ref().map(engine::tls::config).transpose().map_err(Trouble::usage)?;
        let addresses = self.url.resolve()?;
        let looked = probe::probe(&probe::Settings {
            addresses: &addresses,
            authority: &self.url.authority,
            request: &settings.request,
            tls: tls.as_ref(),
            fetches: PROBE_FETCHES,
            timeout_ns: settings.timeout_ns,
        });
        if stop.load(Ordering::Relaxed) {
            return Err(Trouble::interrupted());
        }
        let (address, probe) = looked.map_err(|error: ProbeError| Trouble::target(error))?;
        let contract = settings.expect.contract(&probe)?;
        Ok((address, probe, contract))
    }
}

/// Puts the load of `plan` on its target and returns what was seen, recording it in `directory` as it goes.
fn measure(
    plan: &Plan,
    probe: &Probe,
    directory: &Path,
    stop: &AtomicBool,
    progress: &mut Progress,
) -> Result<Gather, Trouble> {
    engine::limits::prepare(plan.load.connections(), plan.threads).map_err(Trouble::usage)?;
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
    let mut watch = Watch::new(plan.target.address);
    let mut take = |event: Event| {
        // Before the event is written down, which may take a moment.
        let sample = watch.look(&event);
        keep(&event);
        if let Some(sample) = sample {
            keep(&sample);
        }
        watch.start_after(&event);
    };
    take(Event::Probed(probe.clone()));
    let outcome = engine::run::run(plan, stop, &mut take);
    if let Some(error) = damage {
        return Err(Trouble::usage(format!("a histogram of this run cannot be read back: {error}")));
    }
    match outcome {
        Ok(()) => Ok(gather),
        Err(RunError::NoConnection { .. }) if stop.load(Ordering::Relaxed) => Err(Trouble::interrupted()),
        Err(error @ RunError::NoConnection { .. }) => Err(Trouble::target(error)),
        Err(error @ (RunError::Spawn { .. } | RunError::Tls(_) | RunError::Worker(_))) => Err(Trouble::usage(error)),
    }
}
