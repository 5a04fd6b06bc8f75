//! From a specification to a server that answers.

use super::build::{Built, build};
use super::connection::Connection;
use super::{Options, Running};
use crate::account::Account;
use crate::environment;
use crate::error::StackError;
use crate::layout::{Layout, Process, Stop};
use crate::own_account;
use crate::place::{self, Place, Source};
use crate::programs;
use crate::ready::Asker;
use crate::servers::command::fill_in;
use crate::servers::{CERTIFICATE, KEY, is_command, settle};
use crate::spec::Spec;
use crate::state::{self, OUTPUT};
use crate::supervisor::{How, Launch, Order, Report};
use model::{Served, Step};
use rcgen::{CertificateParams, DnType, KeyPair};
use rustix::process::geteuid;
use std::net::Ipv4Addr;
use std::path::Path;

/// What stands before the names of steps that start a process.
pub(super) const START: &str = "start ";
/// What a build has said, below the state directory.
const BUILD_LOG: &str = "out/build.out";
/// Starts before a port that was free and is taken again has become another problem.
const STARTS: usize = 3;
/// Time that a process of provisioning may take; ns.
const PROVISION_MAX_NS: u64 = 300_000_000_000;

pub(super) fn start(spec: &Spec, options: &Options) -> Result<Running, StackError> {
    let mut spec = spec.clone();
    settle(&mut spec)?;
    let built = build(&spec, options)?;
    let mut attempt = 1;
    loop {
        match start_once(&spec, options, built.as_ref()) {
            // Whoever took the port between our looking and the server's.
            Err(StackError::Server { said, .. })
                if attempt < STARTS && spec.settings.port == 0 && said.to_ascii_lowercase().contains("in use") => {}
            other => return other,
        }
        attempt += 1;
    }
}

fn start_once(spec: &Spec, options: &Options, built: Option<&Built>) -> Result<Running, StackError> {
    let asked = spec.settings.user.as_deref();
    // A command may be any program, and many look for the name of their user.
    let account = if is_command(spec) { Account::choose(asked)? } else { own_account::choose(asked)? };
    place::check_cpus(&spec.settings.cpus)?;
    place::check_port(spec.settings.port, account.as_ref())?;
    let ports = place::free_ports(spec.settings.address, spec.settings.port)?;
    let cpus = if spec.settings.cpus.is_empty() { options.cpus.clone() } else { spec.settings.cpus.clone() };
    let mut place = Place {
        dir: "/".into(),
        ports,
        account,
        own_program: options.own_program.clone(),
        binary: spec.settings.binary.clone(),
        cpus,
        source: Source::Installed,
        secret: place::secret()?,
    };
    // Before anything is made, so that a missing program leaves nothing behind.
    (spec.server.layout)(spec, &place)?;
    let (mut supervisor, dir) = Connection::open(options, spec.server.name, place.account.as_ref(), None)?;
    place.dir = dir;
    let (layout, certificate) = match prepare(spec, &place, built) {
        Ok(prepared) => prepared,
        Err(error) => {
            supervisor.close(options.now_ns);
            return Err(error);
        }
    };
    let served = served(spec, &place, &layout, built);
    let asker = Asker::new(uid(&place), supervisor.pid());
    let of_build = built.map_or(&[][..], |built| &built.warnings);
    let warnings = [of_build, &layout.warnings].concat();
    let mut running = Running {
        spec: spec.clone(),
        options: options.clone(),
        place,
        layout,
        supervisor,
        asker,
        served,
        certificate,
        build_log: built.map(|built| built.log.clone()),
        warnings,
        is_left: false,
    };
    if let Err(error) = running.provision().and_then(|()| running.start_services()) {
        // Nobody would be told where the directory is.
        running.options.keep_state &= !matches!(error, StackError::Interrupted);
        return Err(error);
    }
    Ok(running)
}

/// Whom servers run as.
pub(super) fn uid(place: &Place) -> u32 {
    place.account.as_ref().map_or_else(|| geteuid().as_raw(), |account| account.uid)
}

/// Fills the state directory.
fn prepare(spec: &Spec, place: &Place, built: Option<&Built>) -> Result<(Layout, Option<String>), StackError> {
    let mut layout = (spec.server.layout)(spec, place)?;
    let mut certificate = None;
    if spec.settings.tls && !is_command(spec) {
        let (chain, key) = self_signed(spec.settings.address)
            .map_err(|error| StackError::Machine { doing: "make a certificate".into(), reason: error.to_string() })?;
        layout = layout.file(CERTIFICATE, chain.as_str()).file(KEY, key);
        certificate = Some(chain);
    }
    if let Some(path) = &spec.settings.config {
        own_config(path, spec, place, &mut layout)?;
    }
    if let Some(built) = built {
        layout = layout.file(BUILD_LOG, built.log.as_slice());
    }
    state::fill(&place.dir, &layout.files, place.account.as_ref())?;
    Ok((layout, certificate))
}

/// Puts the user's configuration in the place of the generated one.
fn own_config(path: &Path, spec: &Spec, place: &Place, layout: &mut Layout) -> Result<(), StackError> {
    let wrong = |what: &str| StackError::Wrong(format!("config={}: {what}", path.display()));
    let Some(main) = &layout.main_config else {
        return Err(wrong(&format!("{} has no configuration file", spec.server.name)));
    };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error.to_string()))?;
    let Some((_, generated)) = layout.files.iter_mut().find(|(name, _)| name == main) else { return Ok(()) };
    // Some servers answer on a socket only, or have another in front.
    let has_port = String::from_utf8_lossy(generated).contains(&place.ports[0].to_string());
    if has_port && !text.contains("{port}") && spec.settings.port == 0 {
        return Err(wrong("write {port} where the server listens, or say with port=N which it is"));
    }
    *generated = fill_in(&text, spec, place).into();
    // What it serves is the user's affair.
    layout.body = None;
    Ok(())
}

/// A certificate for loopback and where the server listens, and its key, PEM.
fn self_signed(address: Ipv4Addr) -> Result<(String, String), rcgen::Error> {
    let mut names = ["localhost", "127.0.0.1", "::1"].map(String::from).to_vec();
    names.extend(Some(address).filter(|address| *address != Ipv4Addr::LOCALHOST).map(|address| address.to_string()));
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, "plimsoll serve");
    let key = KeyPair::generate()?;
    Ok((params.self_signed(&key)?.pem(), key.serialize_pem()))
}

fn served(spec: &Spec, place: &Place, layout: &Layout, built: Option<&Built>) -> Served {
    let named = layout.services.iter().find(|service| service.process.name == spec.server.name);
    let main = named.or_else(|| layout.services.last());
    let program = main.map(|main| main.process.program.clone()).unwrap_or_default();
    Served {
        server: spec.server.name.into(),
        label: spec.label.clone(),
        program: program.display().to_string(),
        // Read by who stores it: a program is large, and not everyone wants to know.
        program_sha256: String::new(),
        user: main.and_then(|main| account(&main.process, spec, place)).map(|account| account.name.clone()),
        cpus: place.cpus.clone(),
        steps: built.map(|built| Step { name: "build".into(), ns: built.ns }).into_iter().collect(),
    }
}

impl Running {
    /// Runs what is to be run once, and keeps the data as they are then.
    fn provision(&mut self) -> Result<(), StackError> {
        self.layout.provision.clone().iter().try_for_each(|process| self.run_once(process))?;
        if let (Some(first), false) = (self.layout.services.first().cloned(), self.layout.fill.is_empty()) {
            self.start_service(&first, "first start ")?;
            self.layout.fill.clone().iter().try_for_each(|process| self.run_once(process))?;
            let begin_ns = (self.options.now_ns)();
            self.stop_service(&first.process.name)?;
            self.took(format!("stop {}", first.process.name), begin_ns);
        }
        match &self.layout.data {
            Some(data) => state::save(&self.place.dir, data),
            None => Ok(()),
        }
    }

    fn run_once(&mut self, process: &Process) -> Result<(), StackError> {
        let begin_ns = (self.options.now_ns)();
        let launch = launch(process, Stop::TERM, &self.spec, &self.place);
        self.supervisor.tell(&Order::Start(launch));
        self.await_end(&process.name, begin_ns + PROVISION_MAX_NS)?;
        self.took(process.name.clone(), begin_ns);
        Ok(())
    }

    fn await_end(&mut self, name: &str, deadline_ns: u64) -> Result<(), StackError> {
        loop {
            match self.supervisor.next(deadline_ns, &self.options) {
                Ok(Report::Ended { name: ended, how: How::Code(0) }) if ended == name => {
                    self.supervisor.started.retain(|(started, _)| started != name);
                    return Ok(());
                }
                Ok(other) => self.take(other)?,
                Err(silence) => return Err(self.silent(name, silence, PROVISION_MAX_NS)),
            }
        }
    }
}

/// A process as the supervisor is told of it.
pub(super) fn launch(process: &Process, stop: Stop, spec: &Spec, place: &Place) -> Launch {
    let (program, args) = wrapped(process, &spec.settings.wrapper);
    Launch {
        name: process.name.clone(),
        program: program.into(),
        args,
        env: environment::of_process(process, spec, place),
        dir: if is_command(spec) {
            std::env::current_dir().unwrap_or_else(|_| place.dir.clone())
        } else {
            place.dir.clone()
        },
        output: place.path(OUTPUT).join(format!("{}.out", process.name)),
        account: account(process, spec, place).map(|account| (account.uid, account.gid)),
        cpus: place.cpus.clone(),
        has_pipes: false,
        stop,
    }
}

/// Whom a process runs as; none: as we do.
fn account<'a>(process: &Process, spec: &Spec, place: &'a Place) -> Option<&'a Account> {
    place.account.as_ref().filter(|_| !process.as_caller || spec.settings.user.is_some())
}

/// Program and arguments with the wrapper before them.
fn wrapped(process: &Process, wrapper: &[String]) -> (String, Vec<String>) {
    let own = process.program.display().to_string();
    let Some((first, rest)) = wrapper.split_first() else { return (own, process.args.clone()) };
    let first = programs::named(Path::new(first)).map_or_else(|_| first.clone(), |path| path.display().to_string());
    (first, rest.iter().cloned().chain([own]).chain(process.args.iter().cloned()).collect())
}
