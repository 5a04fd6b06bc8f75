//! One load, from the probe to the gathered evidence: what `run` and each point of `sweep` have in common.

use crate::builtin::Builtin;
use crate::exit::Trouble;
use crate::progress::Progress;
use crate::settings::{Expect, Settings};
use crate::store::Recorder;
use crate::target_url::TargetUrl;
use engine::probe::{self, ProbeError};
use engine::run::RunError;
use model::{Body, Contract, Event, Plan, Probe, SizeBand};
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
        let contract = contract(settings.expect, &probe)?;
        Ok((address, probe, contract))
    }
}

/// What a response must be: as declared, else as the probe found it.
fn contract(expect: Expect, probe: &Probe) -> Result<Contract, Trouble> {
    let declared = expect.status.is_some();
    let found = probe.fetches.iter().find(|f| (200..300).contains(&f.status)).unwrap_or(&probe.fetches[0]);
    if !declared && found.status >= 400 {
        return Err(Trouble::target(format!(
            "the target answers {} to the probe; if that is what you want to measure, add --expect status={}",
            found.status, found.status
        )));
    }
    let status = match expect.status {
        Some(status) => Some(status),
        // An undeclared redirect is measured, but never good.
        None => (found.status < 300).then_some(found.status),
    };
    let same_size = probe.body != Body::ChangingSize && status == Some(found.status);
    let size_bytes =
        expect.size_bytes.or_else(|| same_size.then_some(SizeBand { min: found.size_bytes, max: found.size_bytes }));
    Ok(Contract { status, size_bytes, declared })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;
    use model::Fetch;

    fn probe(status: u16, body: Body) -> Probe {
        let fetch = Fetch {
            status,
            size_bytes: 64,
            content_type: None,
            server: None,
            location: None,
            body_hash: 0,
            keepalive: true,
            connect_ns: 0,
            response_ns: 0,
        };
        Probe { fetches: vec![fetch], body, redirects: Vec::new() }
    }

    #[test]
    fn a_2xx_becomes_the_contract() {
        let c = contract(Expect::default(), &probe(200, Body::Stable)).unwrap();
        assert_eq!(c, Contract { status: Some(200), size_bytes: Some(SizeBand { min: 64, max: 64 }), declared: false });
        assert_eq!(contract(Expect::default(), &probe(200, Body::ChangingSize)).unwrap().size_bytes, None);
    }

    #[test]
    fn an_undeclared_redirect_is_measured_but_cannot_be_good() {
        let c = contract(Expect::default(), &probe(302, Body::Stable)).unwrap();
        assert_eq!((c.status, c.size_bytes, c.declared), (None, None, false));
    }

    #[test]
    fn an_error_at_the_probe_must_be_declared() {
        let trouble = contract(Expect::default(), &probe(404, Body::Stable)).unwrap_err();
        assert_eq!(trouble.exit, Exit::Target);
        assert!(trouble.message.contains("--expect status=404"));
        let expect = Expect { status: Some(404), size_bytes: None };
        assert_eq!(contract(expect, &probe(404, Body::Stable)).unwrap().status, Some(404));
    }
}
