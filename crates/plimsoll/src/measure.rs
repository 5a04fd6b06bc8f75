//! One load, from the probe to the gathered evidence: what `run` and each point of `sweep` have in common.

use crate::builtin::Builtin;
use crate::cli::{GeneratorArgs, OutputArgs, RequestArgs};
use crate::exit::Trouble;
use crate::interrupt;
use crate::progress::Progress;
use crate::requests::Listed;
use crate::settings::Settings;
use crate::store::{self, Recorder};
use crate::target_url::TargetUrl;
use engine::probe::{self, ProbeError};
use engine::run::RunError;
use model::{Event, Load, Numbering, Plan, Probe, Stop, Warmup};
use stats::Gather;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Fetches before anything is measured, and of each further request of a mix.
const PROBE_FETCHES: usize = 3;
const PROBE_FETCHES_IN_MIX: usize = 2;
/// Requests of a mix that are looked at beforehand; of the others only what is declared is known.
const PROBED_MAX: usize = 64;
/// Numbers kept for the requests of one load, so that no two loads of a sweep send the same; the probe takes the last.
const NUMBERS_A_LOAD: u64 = 1_000_000_000;
/// Numbers kept for the fetches of one request by the probe.
const PROBE_NUMBERS: u64 = 10;

/// What stands before the first load of a verb: the target is there, was looked at, and its results have a place.
pub(crate) struct Prepared {
    subject: Subject,
    settings: Settings,
    address: SocketAddr,
    /// Of the first request.
    probe: Probe,
    /// Text that differs from one call of the program to the next.
    token: String,
    /// Loads measured so far.
    loads: u64,
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
        let progress = Progress::new(output.quiet);
        let url = url.map(TargetUrl::parse).transpose()?;
        let listed = Listed::read(request, url.as_ref())?;
        let (origin, requests, note) = match listed {
            Some(listed) => (listed.origin, Some(listed.requests), listed.note),
            None => (url, None, String::new()),
        };
        let subject = Subject::new(origin)?;
        let mut settings = Settings::new(request, generator, &subject.url, requests)?;
        subject.divide_cpus(&mut settings);
        let started = engine::clock::wall_clock();
        let token = token(&started);
        let (address, probe) = subject.probe(&mut settings, &token, &stop, &progress)?;
        let directory = store::create(output.output.as_deref(), verb, &started)?;
        progress.line(&note);
        let first = subject.url.origin() + &settings.requests[0].path;
        progress.line(report::terminal::probe(&probe, &first).trim_end());
        Ok(Self { subject, settings, address, probe, token, loads: 0, directory, started, stop, progress })
    }

    /// The plan of one load on the target.
    pub(crate) fn plan(&self, load: Load, stop: Stop, warmup: Warmup) -> Plan {
        let numbering = Numbering { first: self.loads * NUMBERS_A_LOAD, token: self.token.clone() };
        self.settings.plan(&self.subject.url, self.address, numbering, load, stop, warmup)
    }

    /// Puts the load of `plan` on the target, with `label` before its progress, and records it in `directory`.
    pub(crate) fn measure(&mut self, plan: &Plan, label: &str, directory: &Path) -> Result<Gather, Trouble> {
        self.loads += 1;
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
    fn new(url: Option<TargetUrl>) -> Result<Self, Trouble> {
        match url {
            Some(url) => Ok(Self { url, builtin: None }),
            None => Builtin::start().map(|builtin| Self { url: builtin.url.clone(), builtin: Some(builtin) }),
        }
    }

    /// Gives the load the CPUs that the built-in target leaves free.
    fn divide_cpus(&self, settings: &mut Settings) {
        if let (Some(builtin), true) = (&self.builtin, settings.cpus.is_empty()) {
            settings.cpus.clone_from(&builtin.load_cpus);
        }
    }

    /// Looks at what is asked for and settles what a good response to each is. Returns the address that answers, and
    /// what it said to the first.
    fn probe(
        &self,
        settings: &mut Settings,
        token: &str,
        stop: &AtomicBool,
        progress: &Progress,
    ) -> Result<(SocketAddr, Probe), Trouble> {
        let tls = settings.tls.as_ref().map(engine::tls::config).transpose().map_err(Trouble::usage)?;
        let mut addresses = self.url.resolve()?;
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
            addresses = vec![address];
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

/// Eight letters and digits made from a time.
fn token(started: &str) -> String {
    let mut hasher = DefaultHasher::new();
    (started, std::process::id()).hash(&mut hasher);
    let bits = hasher.finish();
    (0..8).map(|place| char::from(b"abcdefghijklmnopqrstuvwxyz234567"[(bits >> (5 * place)) as usize & 31])).collect()
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
        Err(error @ (RunError::Spawn { .. } | RunError::Tls(_) | RunError::Template(_) | RunError::Worker(_))) => {
            Err(Trouble::usage(error))
        }
    }
}
