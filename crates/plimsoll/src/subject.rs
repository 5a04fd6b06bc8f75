//! What is measured, and what stands behind it.

use crate::builtin::Builtin;
use crate::cli::RequestArgs;
use crate::environment::usable_cpus;
use crate::exit::Trouble;
use crate::measure::NUMBERS_A_LOAD;
use crate::printer;
use crate::progress::Progress;
use crate::serving;
use crate::settings::Settings;
use crate::target_url::{TargetUrl, resolve};
use engine::probe::{self, ProbeError};
use model::{Address, Numbering, Probe};
use stack::{Running, Spec};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Fetches before anything is measured, and of each further request of a mix.
const PROBE_FETCHES: usize = 3;
const PROBE_FETCHES_IN_MIX: usize = 2;
/// Requests of a mix that are looked at beforehand; of the others only what is declared is known.
const PROBED_MAX: usize = 64;
/// Numbers kept for the fetches of one request by the probe.
const PROBE_NUMBERS: u64 = 10;

/// What is measured: the URL that was given, or a server of our own.
pub(crate) struct Subject {
    pub(crate) url: TargetUrl,
    behind: Behind,
}

/// Who stands behind a URL. What we have started ends with this value.
enum Behind {
    /// Somebody else.
    Others,
    Builtin(Builtin),
    Served(Box<Served>),
}

/// A server that was started to be measured.
struct Served {
    running: Running,
    /// CPUs that it leaves to the load; empty: they share all.
    load_cpus: Vec<u32>,
}

impl Subject {
    /// The target behind `url`, or the built-in one.
    pub(crate) fn new(url: Option<TargetUrl>, request: &RequestArgs) -> Result<Self, Trouble> {
        let tls = request.tls.tls;
        if let Some(url) = url {
            return match tls {
                true => Err(Trouble::usage(format!(
                    "--tls is for the built-in target; for {} write https:// in the URL",
                    url.url
                ))),
                false => Ok(Self { url, behind: Behind::Others }),
            };
        }
        let given = [("--unix-socket", request.unix_socket.is_some()), ("--connect-to", request.connect_to.is_some())];
        if let Some((flag, _)) = given.into_iter().find(|(_, given)| *given) {
            return Err(Trouble::usage(format!("{flag} needs a URL: its host and path are what is asked for")));
        }
        Builtin::start(tls).map(|builtin| Self { url: builtin.url.clone(), behind: Behind::Builtin(builtin) })
    }

    /// Starts a server on half of the cores, or on those it asks for.
    pub(crate) fn serve(
        spec: &Spec,
        request: &RequestArgs,
        stop: &Arc<AtomicBool>,
        progress: &Progress,
    ) -> Result<Self, Trouble> {
        refuse_other_ways(request, "--serve")?;
        progress.say(&format!("starting {}", spec.label));
        let division = stack::divide(&usable_cpus());
        let mut options = serving::options(Arc::clone(stop), serving::PATIENCE_NS)?;
        options.cpus.clone_from(&division.server);
        let running = Running::start(spec, &options).map_err(serving::trouble)?;
        let url = running.url().ok_or_else(|| {
            Trouble::usage(format!("--serve {:?}: it does not speak HTTP, so there is nothing to measure", spec.label))
        })?;
        let url = TargetUrl::parse(url)?;
        let load_cpus = serving::left(&usable_cpus(), &running.served().cpus);
        if let (Some(warning), true) = (division.warning(), spec.settings.cpus.is_empty()) {
            progress.line(&format!("note: {warning}"));
        }
        Ok(Self { url, behind: Behind::Served(Box::new(Served { running, load_cpus })) })
    }

    /// Ends a server of ours and starts it anew, with its data as they were at first.
    pub(crate) fn restart(&mut self, progress: &Progress) -> Result<(), Trouble> {
        let Behind::Served(served) = &mut self.behind else { return Ok(()) };
        progress.say(&format!("restarting {}", served.running.served().label));
        served.running.restart().map_err(serving::trouble)
    }

    /// Whether a server of ours still runs; tells what else has happened to it.
    pub(crate) fn check(&mut self, progress: &Progress) -> Result<(), Trouble> {
        let Behind::Served(served) = &mut self.behind else { return Ok(()) };
        let checked = served.running.check().map_err(serving::trouble);
        served.running.warnings().iter().for_each(|warning| progress.line(&format!("warning: {warning}")));
        checked
    }

    /// Copies what the build of a server of ours has said to the results in `directory`.
    pub(crate) fn keep_build_log(&self, directory: &Path) {
        let Behind::Served(served) = &self.behind else { return };
        let (log, kept) = (served.running.build_log(), directory.join("build.log"));
        if let (true, Err(error)) = (log.exists(), std::fs::copy(&log, &kept)) {
            printer::note(&format!("warning: cannot write {}: {error}", kept.display()));
        }
    }

    /// The processes of a server of ours: name and number.
    pub(crate) fn processes(&self) -> Vec<(&str, i32)> {
        match &self.behind {
            Behind::Served(served) => served.running.processes().collect(),
            Behind::Others | Behind::Builtin(_) => Vec::new(),
        }
    }

    /// What is to be known of a server of ours.
    pub(crate) fn served(&self) -> Option<model::Served> {
        match &self.behind {
            Behind::Served(served) => Some(served.running.served().clone()),
            Behind::Others | Behind::Builtin(_) => None,
        }
    }

    /// Gives the load the CPUs that the built-in target leaves free, and trust in its certificate.
    pub(crate) fn adapt(&self, settings: &mut Settings) -> Result<(), Trouble> {
        let (load_cpus, certificates) = match &self.behind {
            Behind::Others => return Ok(()),
            Behind::Builtin(builtin) => (&builtin.load_cpus, builtin.certificates.clone()),
            Behind::Served(served) => {
                let certificates =
                    served.running.certificate().map(|pem| engine::tls::certificates(pem.as_bytes())).transpose();
                (&served.load_cpus, certificates.map_err(Trouble::usage)?.unwrap_or_default())
            }
        };
        if settings.cpus.is_empty() {
            settings.cpus.clone_from(load_cpus);
        }
        if let Some(tls) = &mut settings.tls {
            tls.extra_roots.extend(certificates);
        }
        Ok(())
    }

    /// Looks at what is asked for and settles what a good response to each is. Returns the address that answers, and
    /// what it said to the first.
    pub(crate) fn probe(
        &self,
        settings: &mut Settings,
        token: &str,
        stop: &AtomicBool,
        progress: &Progress,
    ) -> Result<(Address, Probe), Trouble> {
        let tls = settings.tls.as_ref().map(engine::tls::config).transpose().map_err(Trouble::usage)?;
        let mut addresses = match &settings.detour {
            Some(detour) => detour.addresses()?,
            None => resolve(&self.url.host, self.url.port)?,
        };
        let mut first = None;
        let looked_at = settings.requests.len().min(PROBED_MAX);
        for index in 0..looked_at {
            let request = &settings.requests[index];
            let fetches = if index == 0 { PROBE_FETCHES } else { PROBE_FETCHES_IN_MIX };
            let number = NUMBERS_A_LOAD - PROBE_NUMBERS * (index as u64 + 1);
            let looked = probe::probe(&probe::Settings {
                addresses: &addresses,
                authority: &self.url.authority,
                request,
                numbering: &Numbering { first: number, token: token.to_owned() },
                seed: settings.seed,
                tls: tls.as_ref(),
                fetches,
                timeout_ns: settings.timeout_ns,
            });
            if stop.load(Ordering::Relaxed) {
                return Err(Trouble::interrupted());
            }
            let in_mix = |trouble: Trouble| match settings.requests.len() {
                1 => trouble,
                _ => {
                    Trouble { message: format!("{} {}: {}", request.method, request.path, trouble.message), ..trouble }
                }
            };
            let (address, probe) = looked.map_err(|error: ProbeError| in_mix(Trouble::target(error)))?;
            let contract = settings.expect.contract(&probe, request).map_err(in_mix)?;
            settings.requests[index].contract = contract;
            addresses = vec![address.clone()];
            if index == 0 {
                first = Some((address, probe));
            } else {
                progress.say(&format!("looked at {} of {looked_at} requests", index + 1));
            }
        }
        for request in &mut settings.requests[looked_at..] {
            request.contract = settings.expect.unprobed(request);
        }
        first.ok_or_else(|| Trouble::usage("there is no request to send"))
    }
}

/// Flags that say how a server is reached, or which the built-in target is, have no place beside `--serve`.
fn refuse_other_ways(request: &RequestArgs, flag: &str) -> Result<(), Trouble> {
    let given = [
        ("--unix-socket", request.unix_socket.is_some()),
        ("--connect-to", request.connect_to.is_some()),
        ("--tls", request.tls.tls),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        Some(("--tls", _)) => {
            Err(Trouble::usage(format!("--tls is for the built-in target; write {flag} 'NAME tls=on'")))
        }
        Some((other, _)) => Err(Trouble::usage(format!("{other} and {flag} say two different things; leave one out"))),
        None => Ok(()),
    }
}
