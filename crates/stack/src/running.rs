//! A server that runs: started, checked, restarted, ended.

mod build;
pub(crate) mod connection;
mod start;

use crate::clean;
use crate::error::{StackError, said};
use crate::layout::{Body, Endpoint, Layout, Ready, Service};
use crate::php_profile::{PhpSamples, clock};
use crate::place::Place;
use crate::ready::{Asker, Look};
use crate::servers::runs_own_program;
use crate::spec::Spec;
use crate::standing::Standing;
use crate::state::{self, OUTPUT};
use crate::supervisor::{How, KEPT_BYTES, Order, Report, is_full};
use crate::tree::Folder;
use connection::{Connection, Silence};
use model::{Request, Served, Step};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often one looks whether a server is up.
const LOOK_UP: Duration = Duration::from_millis(3);
/// A server that answers the wrong thing for this long will not change its mind; ns.
const WRONG_NS: u64 = 1_000_000_000;
/// Time that the supervisor is given to end a process: more than any [`Stop`](crate::layout::Stop) and what follows; ns.
const STOP_MAX_NS: u64 = 60_000_000_000;
/// Time that a supervisor is given to take what is left to it; ns.
const LEAVE_MAX_NS: u64 = 10_000_000_000;
/// End of a log that an error is made of.
const SAID_BYTES_MAX: u64 = 64 << 10;

/// Numbers of processes that a warning names.
const PIDS_SHOWN_MAX: usize = 10;

/// How servers are started.
#[derive(Clone)]
pub struct Options {
    /// The command line of the supervisor, which a state directory is added to; it must call [`keep`](crate::keep).
    pub supervisor: Vec<OsString>,
    /// The program of plimsoll itself, which is the built-in target.
    pub own_program: PathBuf,
    /// A monotonic clock.
    pub now_ns: fn() -> u64,
    /// CPUs for servers that do not name their own; empty: all.
    pub cpus: Vec<u32>,
    /// Time a server is given to answer; ns.
    pub ready_timeout_ns: u64,
    /// Ends a start early when it is set.
    pub stop: Arc<AtomicBool>,
    /// True if the state directory stays when the server ends.
    pub keep_state: bool,
    /// True if it may be left to its supervisor ([`Running::leave`]).
    pub may_be_left: bool,
}

/// A server with all its processes. Ends with this value.
pub struct Running {
    spec: Spec,
    options: Options,
    place: Place,
    layout: Layout,
    supervisor: Connection,
    asker: Asker,
    served: Served,
    /// Of the endpoint, PEM.
    certificate: Option<String>,
    /// The end of what its build has written.
    build_log: Option<Vec<u8>>,
    warnings: Vec<String>,
    /// True if it is its supervisor's alone.
    is_left: bool,
}

impl Running {
    /// Starts a server and waits until it answers what it should.
    ///
    /// # Errors
    /// If it cannot be started or does not get ready; nothing is left running then.
    pub fn start(spec: &Spec, options: &Options) -> Result<Self, StackError> {
        start::start(spec, options)
    }

    /// Where it answers.
    #[must_use]
    pub const fn endpoint(&self) -> Option<&Endpoint> {
        self.layout.endpoint.as_ref()
    }

    /// What is measured in place of a GET of the URL's path, and a file with `user:password` for it.
    #[must_use]
    pub fn request(&self) -> Option<(&Request, Option<PathBuf>)> {
        let credentials = self.layout.credentials.map(|path| self.place.path(path));
        Some((self.layout.request.as_ref()?, credentials))
    }

    /// The URL that is measured; none when it speaks neither HTTP nor FastCGI.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        match self.endpoint()? {
            Endpoint::Http { url } | Endpoint::FastCgi { url, .. } => Some(url),
            Endpoint::Socket { .. } => None,
        }
    }

    /// The URLs of its status pages and of the databases in it; with a configuration of the user's own nobody knows them.
    #[must_use]
    pub fn status_pages(&self) -> Vec<String> {
        if self.spec.settings.config.is_some() {
            return Vec::new();
        }
        let http = match self.endpoint() {
            Some(Endpoint::Http { url }) => Some(url.as_str()),
            Some(Endpoint::FastCgi { .. } | Endpoint::Socket { .. }) | None => None,
        };
        let origin = http.map(|url| {
            let origin_ends = url.match_indices('/').nth(2).map_or(url.len(), |(at, _)| at);
            &url[..origin_ends]
        });
        let pages =
            origin.into_iter().flat_map(|origin| self.layout.status.iter().map(move |path| format!("{origin}{path}")));
        let databases = self.layout.services.iter().filter_map(|service| match &service.ready {
            Ready::Redis(path) => Some(format!("redis+unix://{}", path.display())),
            Ready::Mysql(path) => Some(format!("mysql+unix://{}", path.display())),
            Ready::Endpoint | Ready::Page(_) | Ready::Port(_) | Ready::Socket(_) => None,
        });
        pages.chain(databases).collect()
    }

    /// The certificate that it shows, PEM; none without TLS.
    #[must_use]
    pub fn certificate(&self) -> Option<&str> {
        self.certificate.as_deref()
    }

    /// Its state directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.place.dir
    }

    /// What its build has written; none when it was not built.
    #[must_use]
    pub fn build_log(&self) -> Option<&[u8]> {
        self.build_log.as_deref()
    }

    /// What was asked for.
    #[must_use]
    pub const fn spec(&self) -> &Spec {
        &self.spec
    }

    /// What is to be known of it in a result.
    #[must_use]
    pub const fn served(&self) -> &Served {
        &self.served
    }

    /// Processes that were started, in their order: name and number.
    pub fn processes(&self) -> impl Iterator<Item = (&str, i32)> {
        self.supervisor.started.iter().map(|(name, pid)| (name.as_str(), *pid))
    }

    /// What has happened since the last call that is not an error; for people.
    pub fn warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// Looks whether all of it still runs.
    ///
    /// # Errors
    /// If a part has ended, or the supervisor has.
    pub fn check(&mut self) -> Result<(), StackError> {
        while let Some(report) = self.supervisor.try_next() {
            self.take(report)?;
        }
        if self.supervisor.is_closed() { Err(self.supervisor_gone()) } else { Ok(()) }
    }

    /// Ends all of it and starts it again, with its data as they were after provisioning.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn restart(&mut self) -> Result<(), StackError> {
        let names: Vec<String> = self.layout.services.iter().map(|service| service.process.name.clone()).collect();
        names.iter().rev().try_for_each(|name| self.stop_service(name))?;
        if let Some(data) = &self.layout.data {
            state::restore(&self.place.dir, data)?;
        }
        self.served.steps.retain(|step| !step.name.starts_with(start::START));
        self.start_services()
    }

    /// Ends all of it in good order. Returns what was not in order; for people.
    #[must_use]
    pub fn stop(mut self) -> Vec<String> {
        self.end();
        self.warnings()
    }

    /// Leaves it to its supervisor under a name, with which it is found and ended. It outlives this process.
    ///
    /// # Errors
    /// If a part of it has ended, or the supervisor does not take it; nothing is left running then.
    pub fn leave(mut self, name: &str) -> Result<Standing, StackError> {
        self.check()?;
        let standing = self.standing(name);
        self.supervisor.tell(&Order::Leave(Some(Box::new(standing.clone()))));
        match self.await_left() {
            Ok(()) => self.is_left = true,
            Err(error) => {
                self.supervisor.tell(&Order::Leave(None));
                return Err(error);
            }
        }
        Ok(standing)
    }

    fn await_left(&mut self) -> Result<(), StackError> {
        let deadline_ns = (self.options.now_ns)() + LEAVE_MAX_NS;
        loop {
            let report = self.supervisor.next(deadline_ns, &self.options);
            match report.map_err(|silence| self.silent("supervisor", silence, LEAVE_MAX_NS))? {
                Report::Left => return Ok(()),
                other => self.take(other)?,
            }
        }
    }

    /// What is to be known of it, under a name.
    #[must_use]
    pub fn standing(&self, name: &str) -> Standing {
        Standing {
            name: name.to_owned(),
            endpoint: self.layout.endpoint.clone(),
            state: self.place.dir.clone(),
            uid: start::uid(&self.place),
            served: self.served.clone(),
            processes: self.supervisor.started.clone(),
            status: self.status_pages(),
            certificate: self.certificate.clone(),
            credentials: self.layout.credentials.map(|path| self.place.path(path)),
            page_holds: self.layout.body.as_ref().and_then(Body::lasting).map(str::to_owned),
            php_profile: clock(&self.spec),
            limits: self.spec.limits(),
            ended: Vec::new(),
        }
    }

    /// Samples of its PHP functions; none where they are not sampled.
    #[must_use]
    pub fn php_samples(&self) -> Option<PhpSamples> {
        clock(&self.spec).map(|clock| PhpSamples { state: self.place.dir.clone(), clock })
    }

    /// Does nothing the second time, nor when it was left to its supervisor.
    fn end(&mut self) {
        if self.is_left {
            return;
        }
        if self.options.keep_state {
            self.supervisor.tell(&Order::KeepState);
        }
        for report in self.supervisor.close(self.options.now_ns) {
            // That something has ended is no error any more.
            let _ = self.take(report);
        }
        // When the supervisor was killed, or could not remove it, something is left.
        if !self.options.keep_state && self.place.dir.exists() {
            self.warnings.extend(clean::end(&self.place.dir, self.options.now_ns).told().err());
        }
    }

    fn start_services(&mut self) -> Result<(), StackError> {
        self.layout.services.clone().iter().try_for_each(|service| self.start_service(service, start::START))
    }

    /// Starts one and waits until it is ready. `doing` stands before its name in the step that this is.
    fn start_service(&mut self, service: &Service, doing: &str) -> Result<(), StackError> {
        let begin_ns = (self.options.now_ns)();
        let launch = start::launch(&service.process, service.stop, &self.spec, &self.place);
        self.supervisor.tell(&Order::Start(launch));
        self.await_ready(service)?;
        self.took(format!("{doing}{}", service.process.name), begin_ns);
        Ok(())
    }

    /// Ends one and waits until it has ended.
    fn stop_service(&mut self, name: &str) -> Result<(), StackError> {
        self.supervisor.tell(&Order::Stop { name: name.to_owned() });
        self.await_stop(name)?;
        self.supervisor.started.retain(|(started, _)| started != name);
        Ok(())
    }

    /// Notes a step that began at `begin_ns` and has ended.
    fn took(&mut self, name: String, begin_ns: u64) {
        self.served.steps.push(Step { name, ns: (self.options.now_ns)() - begin_ns });
    }

    fn await_ready(&mut self, service: &Service) -> Result<(), StackError> {
        let name = service.process.name.clone();
        let begin_ns = (self.options.now_ns)();
        let mut wrong_since_ns = None;
        loop {
            while let Some(report) = self.supervisor.try_next() {
                self.take(report)?;
            }
            if self.supervisor.is_closed() {
                return Err(self.supervisor_gone());
            }
            // Before it has been started, somebody else may answer at its endpoint.
            let runs = self.supervisor.started.iter().any(|(started, _)| *started == name);
            let look = if runs {
                self.asker.look(&service.ready, &self.layout)
            } else {
                Look::NotYet("has not been started".into())
            };
            let now_ns = (self.options.now_ns)();
            match look {
                Look::Ready => return self.check(),
                Look::Wrong(what) if now_ns - *wrong_since_ns.get_or_insert(now_ns) > WRONG_NS => {
                    return Err(self.failure(&name, what));
                }
                Look::NotYet(why) if now_ns - begin_ns > self.options.ready_timeout_ns => {
                    let seconds = self.options.ready_timeout_ns / 1_000_000_000;
                    return Err(self.failure(&name, format!("is not ready after {seconds} s ({why})")));
                }
                Look::Wrong(_) => {}
                Look::NotYet(_) => wrong_since_ns = None,
            }
            if self.options.stop.load(Ordering::Relaxed) {
                return Err(StackError::Interrupted);
            }
            std::thread::sleep(LOOK_UP);
        }
    }

    fn await_stop(&mut self, name: &str) -> Result<(), StackError> {
        let deadline_ns = (self.options.now_ns)() + STOP_MAX_NS;
        loop {
            let report = self.supervisor.next(deadline_ns, &self.options);
            let report = report.map_err(|silence| self.silent(name, silence, STOP_MAX_NS))?;
            let is_last = matches!(&report, Report::Stopped { name: stopped, .. } if stopped == name);
            self.take(report)?;
            if is_last {
                return Ok(());
            }
        }
    }

    /// What it means that nothing more was heard of a process, which was waited for so long.
    fn silent(&self, name: &str, silence: Silence, waited_ns: u64) -> StackError {
        match silence {
            Silence::Closed => self.supervisor_gone(),
            Silence::Interrupted => StackError::Interrupted,
            Silence::Late => self.failure(name, format!("has not ended after {} s", waited_ns / 1_000_000_000)),
        }
    }

    fn take(&mut self, report: Report) -> Result<(), StackError> {
        match report {
            Report::Started { name, pid } => self.supervisor.started.push((name, pid)),
            Report::Failed { name, why } => return Err(self.failure(&name, format!("cannot be started: {why}"))),
            Report::Ended { name, how } => return Err(self.ended(&name, how)),
            Report::Stopped { name, killed: true } => {
                self.warnings.push(format!("{name} did not end when it was asked to, and was killed"));
            }
            Report::Ready | Report::Stopped { .. } | Report::Left => {}
            Report::Unended { pids } => self.warnings.push(unended(&pids)),
            Report::LogCut { path } => self.warnings.push(format!("{path} had grown too long and was emptied")),
            Report::DiskFull => return Err(self.disk_full()),
        }
        Ok(())
    }

    fn ended(&self, name: &str, how: How) -> StackError {
        match self.failure(name, how.to_string()) {
            // Its values are checked by itself.
            StackError::Server { said, .. } if runs_own_program(&self.spec) && how == How::Code(2) => {
                StackError::Wrong(format!("{name}{}", said.replacen("plimsoll: ", "", 1)))
            }
            failure => failure,
        }
    }

    /// An error of a server, with what it wrote last.
    fn failure(&self, name: &str, what: String) -> StackError {
        let end = |folder: &str, log: &str| {
            let end = Folder::open(&self.place.path(folder)).and_then(|folder| folder.tail(log, SAID_BYTES_MAX));
            String::from_utf8_lossy(&end.unwrap_or_default()).into_owned()
        };
        let mut lines = end(OUTPUT, &format!("{name}.out"));
        if lines.trim().is_empty() {
            lines = end("log", "error.log");
        }
        if let (Some(own), Some(generated)) = (&self.spec.settings.config, &self.layout.main_config) {
            // The user knows the file by this name.
            lines = lines.replace(&self.place.text(generated), &own.display().to_string());
        }
        let full = if is_full(&self.place.dir) {
            format!(", and {} is full", self.place.dir.display())
        } else {
            String::new()
        };
        StackError::Server { name: name.to_owned(), what: what + &full + &self.kept(), said: said(&lines) }
    }

    /// Where its state directory stays after an error, which is all that is told then.
    fn kept(&self) -> String {
        match self.options.keep_state {
            true => format!(", and left configuration and logs in {}", self.place.dir.display()),
            false => String::new(),
        }
    }

    fn disk_full(&self) -> StackError {
        let (least_mib, dir) = (KEPT_BYTES >> 20, self.place.dir.display());
        let kept = self.kept();
        let what = format!("was ended: less than {least_mib} MiB were left on the file system of {dir}{kept}");
        StackError::Server { name: self.spec.label.clone(), what, said: String::new() }
    }

    fn supervisor_gone(&self) -> StackError {
        let ended = clean::end(&self.place.dir, self.options.now_ns).ended;
        let what = format!("lost its supervisor, which was ended from outside; {ended} process(es) were ended");
        StackError::Server { name: self.spec.label.clone(), what, said: String::new() }
    }
}

/// The warning about processes that cannot be ended.
fn unended(pids: &[i32]) -> String {
    let shown: Vec<String> = pids.iter().take(PIDS_SHOWN_MAX).map(ToString::to_string).collect();
    let more = if pids.len() > PIDS_SHOWN_MAX { " and others" } else { "" };
    format!("{} process(es) of the server could not be ended: {}{more}", pids.len(), shown.join(", "))
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}
