//! Servers under test: how this program starts them.

use crate::exit::CommandError;
use stack::{Options, Spec, StackError};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Time a server is given to answer before it is measured.
pub(crate) const READY_TIMEOUT_NS: u64 = 30 * model::NS_PER_S;

/// Reads what `--serve` asks for. Each must be installed and make sense before any is started.
pub(crate) fn specs(texts: &[String]) -> Result<Vec<Spec>, CommandError> {
    let own = own_program()?;
    let read = |text: &String| {
        let spec = Spec::parse(text)?;
        // What is still to be built cannot be there yet.
        if spec.settings.build.is_none() {
            stack::print_config(&spec, &own)?;
        }
        Ok(spec)
    };
    texts.iter().map(read).collect::<Result<_, _>>().map_err(command_error)
}

/// The CPUs that a server leaves to the load; empty when it leaves none or has them all.
pub(crate) fn left(usable: &[u32], server: &[u32]) -> Vec<u32> {
    if server.is_empty() { Vec::new() } else { usable.iter().copied().filter(|cpu| !server.contains(cpu)).collect() }
}

/// How servers are started; `stop` ends a start early.
pub(crate) fn options(stop: Arc<AtomicBool>, ready_timeout_ns: u64) -> Result<Options, CommandError> {
    let own_program = own_program()?;
    Ok(Options {
        supervisor: vec![own_program.clone().into(), "keep".into()],
        own_program,
        now_ns: clock::monotonic_ns,
        cpus: Vec::new(),
        ready_timeout_ns,
        stop,
        keep_state: false,
    })
}

/// The path of this program.
pub(crate) fn own_program() -> Result<PathBuf, CommandError> {
    std::env::current_exe()
        .map_err(|error| CommandError::usage(format!("cannot find the program of plimsoll itself: {error}")))
}

/// What stops a server is the server's fault or the user's.
pub(crate) fn command_error(error: StackError) -> CommandError {
    match error {
        StackError::Interrupted => CommandError::interrupted(),
        error if error.is_usage() => CommandError::usage(error),
        error => CommandError::target(error),
    }
}
