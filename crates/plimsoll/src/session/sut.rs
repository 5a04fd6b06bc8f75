//! System under test: the target, and the server that was started for it, here or on its machine.

use crate::agents::server_place::ServePlace;
use crate::environment::is_local;
use crate::environment::usable_cpus;
use crate::exit::CommandError;
use crate::output::printer;
use crate::output::progress::Progress;
use crate::serving;
use crate::session::numbers::NUMBERS_A_LOAD;
use crate::session::served_there::ServedThere;
use crate::settings::Settings;
use crate::settings::auth;
use crate::settings::connect_override::Detour;
use crate::settings::draft::Draft;
use crate::settings::status_source::Source;
use crate::settings::target_url::{TargetUrl, resolve};
use crate::store::private;
use agent::FleetError;
use engine::probe::{self, ProbeError};
use model::{Address, DuetSet, Numbering, Probe, Redacted, Request, Setting};
use stack::{PhpSamples, Running, Spec, Standing};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Fetches before anything is measured, and of each further request of a mix.
const PROBE_FETCHES: usize = 3;
const PROBE_FETCHES_IN_MIX: usize = 2;
/// Requests of a mix that are looked at beforehand; of the others only what is declared is known.
const PROBED_MAX: usize = 64;
/// What is measured when nothing is named.
const BUILTIN: &str = "target pool=4 pool-time=2ms";
/// Numbers kept for the fetches of one request by the probe.
const PROBE_NUMBERS: u64 = 10;

/// What is measured: the URL that was given, or a server of our own.
pub(crate) struct Sut {
    pub(crate) url: TargetUrl,
    server: Server,
}

/// Whose server it is.
enum Server {
    /// Nothing is known of it but its URL.
    Other,
    /// A stack of this user, which is up.
    Standing(Box<Standing>),
    /// One that was started here to be measured. It ends with this value.
    Here(Box<ServedHere>),
    /// The same on another machine.
    There(Box<ServedThere>),
}

/// One on this machine.
struct ServedHere {
    running: Running,
    /// CPUs that it leaves to the load; empty: they share all.
    load_cpus: Vec<u32>,
}

impl Sut {
    /// Somebody else's server behind `url`.
    pub(crate) fn other(url: TargetUrl, draft: &Draft) -> Result<Self, CommandError> {
        match draft.is_builtin_tls {
            true => Err(CommandError::usage(format!(
                "--tls is for the built-in target; for {} write https:// in the URL",
                Redacted::url(&url.url)
            ))),
            false => Ok(Self { url, server: Server::Other }),
        }
    }

    /// The built-in target: a pool whose limits are known, so that the first sweep anyone runs can be checked against
    /// arithmetic: a knee at 4 connections and a plateau at 2,000/s.
    pub(crate) fn builtin(
        draft: &Draft,
        cpus: Option<&DuetSet>,
        stop: &Arc<AtomicBool>,
        progress: &Progress,
    ) -> Result<Self, CommandError> {
        if let Some(flag) = draft.detour.as_ref().map(Detour::flag) {
            return Err(CommandError::usage(format!("{flag} needs a URL: its host and path are what is asked for")));
        }
        let workers = cpus.map_or_else(|| stack::divide(&usable_cpus()).server.len(), |set| set.server.len()).max(1);
        let tls = if draft.is_builtin_tls { " tls=on" } else { "" };
        let spec = Spec::parse(&format!("{BUILTIN} workers={workers}{tls}")).map_err(serving::command_error)?;
        Self::start(&spec, cpus, stop, progress)
    }

    /// Starts a server on these CPUs, else on half of the cores, or on those it asks for.
    pub(crate) fn serve(
        spec: &Spec,
        draft: &Draft,
        cpus: Option<&DuetSet>,
        stop: &Arc<AtomicBool>,
        progress: &Progress,
    ) -> Result<Self, CommandError> {
        refuse_other_ways(draft)?;
        Self::start(spec, cpus, stop, progress)
    }

    /// Has it started on another machine.
    pub(crate) fn serve_there(
        spec: &Spec,
        place: &ServePlace,
        draft: &Draft,
        stop: &AtomicBool,
        progress: &Progress,
    ) -> Result<Self, CommandError> {
        refuse_other_ways(draft)?;
        let there = ServedThere::start(spec, place, stop, progress)?;
        Ok(Self { url: there.url.clone(), server: Server::There(Box::new(there)) })
    }

    fn start(
        spec: &Spec,
        cpus: Option<&DuetSet>,
        stop: &Arc<AtomicBool>,
        progress: &Progress,
    ) -> Result<Self, CommandError> {
        progress.say(&format!("starting {}", spec.label));
        let division = stack::divide(&usable_cpus());
        let mut options = serving::options(Arc::clone(stop), serving::READY_TIMEOUT_NS)?;
        options.cpus.clone_from(cpus.map_or(&division.server, |set| &set.server));
        let running = Running::start(spec, &options).map_err(serving::command_error)?;
        let mut url = TargetUrl::parse(serving::measured(&running)?)?;
        if let Some((request, _)) = running.request() {
            url = TargetUrl::parse(&format!("{}{}", url.origin(), request.path))?;
        }
        let left = || serving::left(&usable_cpus(), &running.served().cpus);
        let load_cpus = cpus.map_or_else(left, |set| set.load.clone());
        let is_divided = cpus.is_none() && spec.settings.cpus.is_empty();
        if let (Some(warning), true) = (division.warning(), is_divided) {
            progress.line(&format!("note: {warning}"));
        }
        Ok(Self { url, server: Server::Here(Box::new(ServedHere { running, load_cpus })) })
    }

    /// Ends a server of ours and starts it again, with its data as they were at first.
    pub(crate) fn restart(&mut self, stop: &AtomicBool, progress: &Progress) -> Result<(), CommandError> {
        if let Some(spec) = self.server.spec() {
            progress.say(&format!("restarting {}", spec.label));
        }
        match &mut self.server {
            Server::Here(here) => here.running.restart().map_err(serving::command_error),
            Server::There(there) => there.restart(stop, progress),
            Server::Standing(_) | Server::Other => Ok(()),
        }
    }

    /// True if a server of ours still runs; tells what else has happened to it.
    pub(crate) fn check(&mut self, progress: &Progress) -> Result<(), CommandError> {
        let running = match &mut self.server {
            Server::Standing(_) | Server::Other => return Ok(()),
            Server::There(there) => return there.check(progress),
            Server::Here(here) => &mut here.running,
        };
        let checked = running.check().map_err(serving::command_error);
        running.warnings().iter().for_each(|warning| progress.line(&format!("warning: {warning}")));
        checked
    }

    /// The agent that has started the server, if it is lost: where a load has failed, that is why.
    pub(crate) fn lost(&mut self) -> Option<FleetError> {
        match &mut self.server {
            Server::There(there) => there.failure().cloned(),
            Server::Here(_) | Server::Standing(_) | Server::Other => None,
        }
    }

    /// Writes what the build of a server of ours has said to the results in `directory`; without a name there are none.
    pub(crate) fn keep_build_log(&self, directory: &Path) {
        let log = self.here().and_then(Running::build_log);
        let Some(log) = log.filter(|_| !directory.as_os_str().is_empty()) else { return };
        let kept = directory.join("build.log");
        // Builds print their commands and variables.
        let log = Redacted::text(&String::from_utf8_lossy(log));
        if let Err(error) = private::write(&kept, log.as_bytes()) {
            printer::note(&format!("warning: cannot write {}: {error}", kept.display()));
        }
    }

    /// The server of ours that runs on this machine.
    fn here(&self) -> Option<&Running> {
        match &self.server {
            Server::Here(here) => Some(&here.running),
            Server::There(_) | Server::Standing(_) | Server::Other => None,
        }
    }

    /// Looks whether a stack of this user is up at `address` of this machine; what is to be told of that.
    pub(crate) fn recognise(&mut self, address: &Address) -> Option<String> {
        if !matches!(self.server, Server::Other) || !is_local(address) {
            return None;
        }
        let standing = stack::standing_at(address)?;
        let note = format!("note: this is the stack {}; all its processes are monitored", standing.name);
        self.server = Server::Standing(Box::new(standing));
        Some(note)
    }

    /// The processes of a server or stack of ours on this machine: name and number.
    pub(crate) fn processes(&self) -> Vec<(&str, i32)> {
        match &self.server {
            Server::Here(here) => here.running.processes().collect(),
            Server::Standing(standing) => standing.processes.iter().map(|(name, pid)| (name.as_str(), *pid)).collect(),
            Server::There(_) | Server::Other => Vec::new(),
        }
    }

    /// Those of one on another machine.
    pub(crate) fn processes_there(&self) -> &[(String, i32)] {
        match &self.server {
            Server::There(there) => &there.runs.processes,
            Server::Here(_) | Server::Standing(_) | Server::Other => &[],
        }
    }

    /// Where a server or stack of ours tells of itself.
    pub(crate) fn status_pages(&self) -> Vec<Source> {
        let parsed = |urls: &[String]| urls.iter().filter_map(|url| Source::of_started(url).ok()).collect();
        match &self.server {
            Server::Standing(standing) => parsed(&standing.status),
            Server::Here(here) => parsed(&here.running.status_pages()),
            Server::There(there) => there.status_pages(),
            Server::Other => Vec::new(),
        }
    }

    /// A server of ours, as it was asked for.
    pub(crate) fn spec(&self) -> Option<&Spec> {
        self.server.spec()
    }

    /// What bounds a server or stack of ours by its settings.
    pub(crate) fn limits(&self) -> Vec<Setting> {
        match &self.server {
            Server::Standing(standing) => standing.limits.clone(),
            server => server.spec().map_or_else(Vec::new, Spec::limits),
        }
    }

    /// Samples of PHP functions that a server or stack of ours takes itself.
    pub(crate) fn php_samples(&self) -> Option<PhpSamples> {
        match &self.server {
            Server::Standing(standing) => standing.php_samples(),
            Server::Here(here) => here.running.php_samples(),
            Server::There(_) | Server::Other => None,
        }
    }

    /// Where the files of a server of ours are, which end with it.
    pub(crate) fn state_directory(&self) -> Option<&Path> {
        self.here().map(Running::dir)
    }

    /// CPUs that a server of ours is confined to; empty: all, or nobody knows.
    pub(crate) fn server_cpus(&self) -> Vec<u32> {
        self.server.served().map_or_else(Vec::new, |served| served.cpus.clone())
    }

    /// What is to be known of a server of ours.
    pub(crate) fn served(&self) -> Option<model::Served> {
        let mut served = self.server.served()?.clone();
        if self.here().is_some() {
            served.program_sha256 = observe::sha256(Path::new(&served.program)).unwrap_or_default();
        }
        Some(served)
    }

    /// Gives the load the CPUs that a server of ours leaves free, trust in its certificate, and the request that it is
    /// measured with where that is no plain GET.
    pub(crate) fn adapt(&self, settings: &mut Settings) -> Result<(), CommandError> {
        if let Server::Here(here) = &self.server {
            if settings.cpus.is_empty() {
                settings.cpus.clone_from(&here.load_cpus);
            }
            settings.server_cpus = self.server_cpus();
            if let Some((request, credentials)) = here.running.request() {
                offered(settings, request, credentials.as_deref())?;
            }
        }
        if let (Some(tls), Some(pem)) = (&mut settings.tls, self.server.certificate()) {
            tls.extra_roots.extend(engine::tls::certificates(pem.as_bytes()).map_err(CommandError::usage)?);
        }
        Ok(())
    }

    /// Looks at what is asked for and settles what a good response to each is. Returns the address that answers, and
    /// what it said to the first. `numbers` is the first of those of the first load.
    pub(crate) fn probe(
        &self,
        settings: &mut Settings,
        (token, numbers): (&str, u64),
        stop: &AtomicBool,
        progress: &Progress,
    ) -> Result<(Address, Probe), CommandError> {
        let tls = settings.tls.as_ref().map(engine::tls::config).transpose().map_err(CommandError::usage)?;
        let mut addresses = match &settings.connect_override {
            Some(connect_override) => connect_override.addresses()?,
            None => resolve(&self.url.host, self.url.port)?,
        };
        let (mut first, mut sent, mut again): (Option<(Address, Probe)>, u64, u64) = (None, 0, 0);
        let looked_at = settings.requests.len().min(PROBED_MAX);
        for index in 0..looked_at {
            let request = &settings.requests[index];
            let fetches = if index == 0 { PROBE_FETCHES } else { PROBE_FETCHES_IN_MIX };
            let number = numbers + NUMBERS_A_LOAD - PROBE_NUMBERS * (index as u64 + 1);
            let looked = probe::probe(&probe::Settings {
                addresses: &addresses,
                authority: &self.url.authority,
                protocol: self.url.protocol(),
                request,
                numbering: &Numbering { first: number, token: token.to_owned() },
                seed: settings.seed,
                tls: tls.as_ref(),
                streams: settings.pipeline,
                asks_compressed: index == 0,
                fetches,
                timeout_ns: settings.timeout_ns,
            });
            if stop.load(Ordering::Relaxed) {
                return Err(CommandError::interrupted());
            }
            let in_mix = |error: CommandError| match settings.requests.len() {
                1 => error,
                _ => {
                    let path = Redacted::url(&request.path);
                    CommandError { message: format!("{} {path}: {}", request.method, error.message), ..error }
                }
            };
            let (address, probe) = looked.map_err(|error: ProbeError| in_mix(CommandError::target(error)))?;
            let url = self.url.origin() + &request.path;
            let contract = settings.expect.contract(&probe, request, &url).map_err(in_mix)?;
            settings.requests[index].contract = contract;
            sent += probe.sent.unwrap_or(0);
            again += probe.again;
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
        let (address, probe) = first.ok_or_else(|| CommandError::usage("there is no request to send"))?;
        Ok((address, Probe { sent: Some(sent), again, ..probe }))
    }
}

impl Server {
    /// As it was asked for: one that was started.
    const fn spec(&self) -> Option<&Spec> {
        match self {
            Self::Here(here) => Some(here.running.spec()),
            Self::There(there) => Some(there.spec()),
            Self::Standing(_) | Self::Other => None,
        }
    }

    /// What is to be known of one that was started.
    fn served(&self) -> Option<&model::Served> {
        match self {
            Self::Here(here) => Some(here.running.served()),
            Self::There(there) => Some(&there.runs.served),
            Self::Standing(_) | Self::Other => None,
        }
    }

    /// Certificate of one that was started, if it has its own.
    fn certificate(&self) -> Option<&str> {
        match self {
            Self::Here(here) => here.running.certificate(),
            Self::There(there) => there.runs.certificate.as_deref(),
            Self::Standing(_) | Self::Other => None,
        }
    }
}

/// Puts the request that a server is measured with, with its password, in the place of a plain GET.
fn offered(settings: &mut Settings, request: &Request, credentials: Option<&Path>) -> Result<(), CommandError> {
    let [typed] = settings.requests.as_slice() else { return Err(two_requests()) };
    if typed.method != "GET" || !typed.body.is_empty() || typed.template {
        return Err(two_requests());
    }
    // What was typed stands in the place of what is offered.
    let is_typed = |name: &str| typed.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
    let offered = request.headers.iter().filter(|(name, _)| !is_typed(name));
    let headers = typed.headers.iter().chain(offered).cloned().collect();
    let mut request = Request { headers, ..request.clone() };
    if let Some(path) = credentials.filter(|_| !typed.headers.iter().any(|(name, _)| auth::is_authorization(name))) {
        request.headers.push(auth::header(&format!("basic:file:{}", path.display()))?);
    }
    settings.expect.status = settings.expect.status.or(request.contract.status);
    settings.requests = vec![request];
    Ok(())
}

fn two_requests() -> CommandError {
    CommandError::usage(
        "the server that is started says what is requested (request=...), and so do --method, --body, --template, --urls or \
         --har; leave one out",
    )
}

/// Flags that say how a server is reached, or which the built-in target is, have no place beside `--serve`.
fn refuse_other_ways(draft: &Draft) -> Result<(), CommandError> {
    if draft.is_builtin_tls {
        return Err(CommandError::usage("--tls is for the built-in target; write --serve 'NAME tls=on'"));
    }
    match draft.detour.as_ref().map(Detour::flag) {
        Some(flag) => Err(CommandError::usage(format!("{flag} and --serve say two different things; leave one out"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Served;

    /// They were read from the label, which a file may give, and which names no setting that has its default.
    #[test]
    fn what_bounds_a_stack_is_what_it_says_and_not_what_its_label_reads_like() {
        let limits = Spec::parse("php-fpm children=7").unwrap().limits();
        for label in ["our shop", "nginx workers=3", "php-fpm children=<redacted>"] {
            let served = Served { label: label.to_owned(), ..Served::default() };
            let standing = Standing { served, limits: limits.clone(), ..Standing::default() };
            let url = TargetUrl::parse("http://127.0.0.1:1/").unwrap();
            let sut = Sut { url, server: Server::Standing(Box::new(standing)) };
            assert_eq!(sut.limits(), limits, "{label}");
        }
    }
}
