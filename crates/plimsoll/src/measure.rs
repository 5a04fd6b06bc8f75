//! One load, from the probe to the gathered evidence: what `run` and each point of `sweep` have in common.

use crate::builtin::Builtin;
use crate::exit::Trouble;
use crate::progress::Progress;
use crate::settings::Settings;
use crate::store::Recorder;
use crate::target_url::TargetUrl;
use engine::probe::{self, ProbeError};
use engine::run::RunError;
use model::{Contract, Event, Plan, Probe};
use stats::Gather;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Fetches before anything is measured.
const PROBE_FETCHES: usize = 3;

/// What is measured: the URL that was given, or a target of our own.
pub(crate) struct Subject {
    pub(crate) url: TargetUrl,
    /// Ends with the subject.
    pub(crate) builtin: Option<Builtin>,
}

impl Subject {
    /// The target behind `url`, or the built-in one.
    pub(crate) fn new(url: Option<&str>) -> Result<Self, Trouble> {
        match url {
            Some(url) => Ok(Self { url: TargetUrl::parse(url)?, builtin: None }),
            None => Builtin::start().map(|builtin| Self { url: builtin.url.clone(), builtin: Some(builtin) }),
        }
    }

    /// Gives the load the CPUs that the built-in target leaves free.
    pub(crate) fn divide_cpus(&self, settings: &mut Settings) {
        if let (Some(builtin), true) = (&self.builtin, settings.cpus.is_empty()) {
            settings.cpus.clone_from(&builtin.load_cpus);
        }
    }

    /// Looks at the target; tells its address, what it answered, and the contract that follows.
    pub(crate) fn probe(
        &self,
        settings: &Settings,
        stop: &AtomicBool,
    ) -> Result<(SocketAddr, Probe, Contract), Trouble> {
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
pub(crate) fn measure(
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
    let mut take = |event: Event| {
        recorder.record(&event);
        progress.show(&event);
        if let Err(error) = gather.apply(&event) {
            damage = Some(error);
        }
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
