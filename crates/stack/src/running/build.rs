//! Building of a server's program: under a supervisor of its own, so that nothing of it stays, and in bounded time.

use super::connection::{Connection, Silence};
use super::{Options, unended};
use crate::account::Account;
use crate::clean;
use crate::environment;
use crate::error::{StackError, said};
use crate::layout::Stop;
use crate::spec::Spec;
use crate::state::OUTPUT;
use crate::supervisor::{How, Launch, Order, Report};
use crate::tree::Folder;
use std::path::Path;

/// Time that a build may take; s.
const BUILD_MAX_S: u64 = 3600;
/// End of its output that is kept.
const LOG_MAX_BYTES: u64 = 4 << 20;
const NAME: &str = "build";
const LOG: &str = "build.out";

/// A program that was made.
pub(super) struct Built {
    /// The end of what its build has written.
    pub(super) log: Vec<u8>,
    pub(super) ns: u64,
    /// What was not in order; for people.
    pub(super) warnings: Vec<String>,
}

/// Makes the program, if it is to be made.
pub(super) fn build(spec: &Spec, options: &Options) -> Result<Option<Built>, StackError> {
    let Some(command) = &spec.settings.build else { return Ok(None) };
    let begin_ns = (options.now_ns)();
    // It writes where its sources are, and these are the caller's unless a user is named.
    let account = match &spec.settings.user {
        Some(user) => Account::choose(Some(user))?,
        None => None,
    };
    let (mut supervisor, dir) = Connection::open(options, NAME, account.as_ref(), None)?;
    match launch(command, spec, account.as_ref(), &dir) {
        Ok(launch) => supervisor.tell(&Order::Start(launch)),
        Err(error) => {
            supervisor.close(options.now_ns);
            return Err(error);
        }
    }
    let mut warnings = Vec::new();
    let ended = await_end(&mut supervisor, &mut warnings, begin_ns + BUILD_MAX_S * 1_000_000_000, options);
    let log = log(&dir);
    supervisor.close(options.now_ns);
    if dir.exists() {
        clean::end(&dir, options.now_ns);
    }
    let what = match ended {
        Ok(How::Code(0)) => return Ok(Some(Built { log, ns: (options.now_ns)() - begin_ns, warnings })),
        Ok(how) => how.to_string(),
        Err(Unended::Interrupted) => return Err(StackError::Interrupted),
        Err(Unended::Because(what)) => what,
    };
    let what = format!("cannot be built by {command:?} ({what})");
    Err(StackError::Server { name: spec.server.name.into(), what, said: said(&String::from_utf8_lossy(&log)) })
}

/// Why a build has not come to an end of its own.
enum Unended {
    Interrupted,
    Because(String),
}

fn await_end(
    supervisor: &mut Connection,
    warnings: &mut Vec<String>,
    deadline_ns: u64,
    options: &Options,
) -> Result<How, Unended> {
    loop {
        let what = match supervisor.next(deadline_ns, options) {
            Ok(Report::Ended { how, .. }) => return Ok(how),
            Ok(Report::Unended { pids }) => {
                warnings.push(unended(&pids));
                continue;
            }
            Ok(
                Report::Ready | Report::Started { .. } | Report::Stopped { .. } | Report::LogCut { .. } | Report::Left,
            ) => continue,
            Ok(Report::Failed { why, .. }) => format!("it cannot be started: {why}"),
            Ok(Report::DiskFull) => "no room is left on the disk".to_owned(),
            Err(Silence::Interrupted) => return Err(Unended::Interrupted),
            Err(Silence::Late) => format!("it has not ended after {BUILD_MAX_S} s"),
            Err(Silence::Closed) => "its supervisor was ended from outside".to_owned(),
        };
        return Err(Unended::Because(what));
    }
}

fn launch(command: &str, spec: &Spec, account: Option<&Account>, dir: &Path) -> Result<Launch, StackError> {
    let here = std::env::current_dir().map_err(|error| StackError::file("find", Path::new("."), &error))?;
    Ok(Launch {
        name: NAME.into(),
        program: "/bin/sh".into(),
        args: vec!["-c".into(), command.into()],
        env: environment::of_build(spec, dir, account.is_none()),
        dir: here,
        output: dir.join(OUTPUT).join(LOG),
        account: account.map(|account| (account.uid, account.gid)),
        cpus: Vec::new(),
        has_pipes: false,
        stop: Stop::TERM,
    })
}

/// What it has written, or the end of that.
fn log(dir: &Path) -> Vec<u8> {
    let Ok(output) = Folder::open(&dir.join(OUTPUT)) else { return Vec::new() };
    let written_bytes = output.length(c"build.out").unwrap_or(0);
    let kept = output.tail(LOG, LOG_MAX_BYTES).unwrap_or_default();
    match written_bytes.checked_sub(LOG_MAX_BYTES) {
        None | Some(0) => kept,
        Some(left_out) => [format!("({left_out} bytes before this were left out)\n").into_bytes(), kept].concat(),
    }
}
