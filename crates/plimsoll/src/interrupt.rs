//! ^C, or the terminal going away: the first signal ends the load and keeps what was measured, a later one ends the program.

use crate::exit::{CommandError, Exit};
use procfs::process::Process;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// A signal that comes so soon after the first one belongs to it: GNU `timeout` signals its child and then its process group, in
/// which the child is once more, and some terminals repeat ^C.
const SAME_SIGNAL: Duration = Duration::from_secs(1);

/// A flag that SIGINT, SIGTERM and SIGHUP set. The last is left alone for whoever wants it ignored: `nohup` is for runs that
/// outlive their terminal.
pub(crate) fn watch() -> Result<Arc<AtomicBool>, CommandError> {
    let watched: Vec<i32> =
        [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| *signal != SIGHUP || !is_ignored(SIGHUP)).collect();
    let (stop, ends_at_once) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    for signal in &watched {
        flag::register_conditional_shutdown(*signal, i32::from(Exit::Interrupted.code()), Arc::clone(&ends_at_once))
            .and_then(|_| flag::register(*signal, Arc::clone(&stop)))
            .map_err(|error| cannot_watch(*signal, &error))?;
    }
    let mut signals = Signals::new(&watched).map_err(|error| cannot_watch(SIGINT, &error))?;
    let arm_after_the_first = move || {
        if signals.forever().next().is_some() {
            thread::sleep(SAME_SIGNAL);
            ends_at_once.store(true, Ordering::Relaxed);
        }
    };
    let builder = thread::Builder::new().name("signals".to_owned());
    builder.spawn(arm_after_the_first).map_err(|error| cannot_watch(SIGINT, &error))?;
    Ok(stop)
}

fn cannot_watch(signal: i32, error: &std::io::Error) -> CommandError {
    CommandError::usage(format!("cannot watch for signal {signal}: {error}"))
}

/// True if the program was started with the signal ignored; false where the kernel does not tell.
fn is_ignored(signal: i32) -> bool {
    let status = Process::myself().and_then(|own| own.status());
    status.is_ok_and(|status| status.sigign & (1 << (signal - 1)) != 0)
}
