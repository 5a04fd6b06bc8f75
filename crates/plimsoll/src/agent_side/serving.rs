//! Server under test on this machine for a coordinator on another one: the agent's side of `--serve` with `--server-host`, on a
//! thread of its own, so that heartbeats go on while it starts. The server ends with the thread.

use crate::exit::{CommandError, Exit};
use crate::serving;
use agent::{Report, ServerRuns, StartServer};
use model::Served;
use observe::sha256;
use stack::Running;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

/// What the coordinator wants.
pub(super) enum Wanted {
    Start(Box<StartServer>),
    Restart,
    Check,
}

/// The thread; it ends its server with this value, which waits for that.
pub(super) struct Serving {
    to: Option<Sender<Wanted>>,
    thread: Option<JoinHandle<()>>,
    /// Ends a start early.
    stop: Arc<AtomicBool>,
}

impl Serving {
    /// Starts it; `report` tells the coordinator.
    pub(super) fn new(report: impl Fn(Report) + Send + 'static) -> io::Result<Self> {
        let (to, inbox) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = Builder::new().name("server".into()).spawn(move || keep(&inbox, &stopped, &report))?;
        Ok(Self { to: Some(to), thread: Some(thread), stop })
    }

    pub(super) fn want(&self, wanted: Wanted) {
        if let Some(to) = &self.to {
            // A thread that has panicked has said so, and nothing comes of it any more.
            let _ = to.send(wanted);
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.to = None;
        // One that has panicked has dropped its server too.
        self.thread.take().into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// A server that was started.
struct Server {
    running: Running,
    /// Of its program, as it was when it was started: that takes a while.
    program_sha256: String,
}

fn keep(inbox: &Receiver<Wanted>, stop: &Arc<AtomicBool>, report: &dyn Fn(Report)) {
    let mut server = None;
    for wanted in inbox {
        report(match carry_out(wanted, &mut server, stop) {
            Ok(runs) => Report::ServerRuns(Box::new(runs)),
            Err(CommandError { exit, message }) => Report::Failed { is_target: exit == Exit::Target, why: message },
        });
    }
}

fn carry_out(wanted: Wanted, server: &mut Option<Server>, stop: &Arc<AtomicBool>) -> Result<ServerRuns, CommandError> {
    if let Wanted::Start(wanted) = wanted {
        return runs(server.insert(start(&wanted, stop)?));
    }
    // A coordinator orders this of a server that was started; one that was not is told again.
    let server = server.as_mut().ok_or_else(|| CommandError::usage("no server was started"))?;
    match wanted {
        Wanted::Restart => server.running.restart(),
        Wanted::Check | Wanted::Start(_) => server.running.check(),
    }
    .map_err(serving::command_error)?;
    runs(server)
}

fn start(StartServer { server, address }: &StartServer, stop: &Arc<AtomicBool>) -> Result<Server, CommandError> {
    let mut spec = serving::specs(std::slice::from_ref(server))?.pop().unwrap_or_else(|| unreachable!("one is read"));
    spec.settings.address = *address;
    let options = serving::options(Arc::clone(stop), serving::READY_TIMEOUT_NS)?;
    let running = Running::start(&spec, &options).map_err(serving::command_error)?;
    match running.request() {
        Some(_) => Err(CommandError::usage("request=... is for a server on the machine of plimsoll; leave it out")),
        None => {
            let program_sha256 = sha256(Path::new(&running.served().program)).unwrap_or_default();
            Ok(Server { running, program_sha256 })
        }
    }
}

/// What is to be known of it now.
fn runs(Server { running, program_sha256 }: &mut Server) -> Result<ServerRuns, CommandError> {
    Ok(ServerRuns {
        url: serving::measured(running)?.to_owned(),
        processes: running.processes().map(|(name, pid)| (name.to_owned(), pid)).collect(),
        status: running.status_pages(),
        certificate: running.certificate().map(str::to_owned),
        served: Served { program_sha256: program_sha256.clone(), ..running.served().clone() },
        warnings: running.warnings(),
    })
}
