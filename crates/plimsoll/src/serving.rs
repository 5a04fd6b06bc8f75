//! Servers under test: how this program starts them.

use crate::exit::Trouble;
use stack::{Options, StackError};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How servers are started; `stop` ends a start early.
pub(crate) fn options(stop: Arc<AtomicBool>, patience_ns: u64) -> Result<Options, Trouble> {
    let own_program = own_program()?;
    Ok(Options {
        keeper: vec![own_program.clone().into(), "keep".into()],
        own_program,
        now_ns: engine::clock::monotonic_ns,
        cpus: Vec::new(),
        patience_ns,
        stop,
        keep_state: false,
    })
}

/// The path of this program.
pub(crate) fn own_program() -> Result<PathBuf, Trouble> {
    std::env::current_exe()
        .map_err(|error| Trouble::usage(format!("cannot find the program of plimsoll itself: {error}")))
}

/// What stops a server is the server's fault or the user's.
pub(crate) fn trouble(error: StackError) -> Trouble {
    match error {
        StackError::Interrupted => Trouble::interrupted(),
        error if error.is_usage() => Trouble::usage(error),
        error => Trouble::target(error),
    }
}
