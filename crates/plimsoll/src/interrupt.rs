//! ^C, or the terminal going away: the first signal ends the load and keeps what was measured, a later one ends the program. Limits
//! of the kernel that come as signals end no result either.

use crate::exit::{CommandError, Exit};
use crate::sys;
use procfs::process::Process;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXCPU, SIGXFSZ};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A signal that comes so soon after the first one belongs to it: GNU `timeout` signals its child and then its process group, in
/// which the child is once more, and some terminals repeat ^C.
const SAME_SIGNAL_NS: u64 = model::NS_PER_S;

/// A flag that SIGINT, SIGTERM and SIGHUP set. The last is left alone for whoever wants it ignored: `nohup` is for runs that
/// outlive their terminal.
pub(crate) fn watch() -> Result<Arc<AtomicBool>, CommandError> {
    let stop = Arc::new(AtomicBool::new(false));
    let first_ns = Arc::new(AtomicU64::new(0));
    for signal in [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| *signal != SIGHUP || !is_ignored(SIGHUP)) {
        let (stop, first_ns) = (Arc::clone(&stop), Arc::clone(&first_ns));
        let action = move |now_ns: u64| match first_ns.compare_exchange(0, now_ns, Ordering::Relaxed, Ordering::Relaxed)
        {
            Ok(_) => {
                stop.store(true, Ordering::Relaxed);
                None
            }
            Err(first_ns) => (now_ns >= first_ns + SAME_SIGNAL_NS).then_some(i32::from(Exit::Interrupted.code())),
        };
        watch_for(signal, action)?;
    }
    let out_of_time = Arc::clone(&stop);
    // It comes again each second until the hard limit ends the program (setrlimit(2), RLIMIT_CPU).
    watch_for(SIGXCPU, move |_| {
        out_of_time.store(true, Ordering::Relaxed);
        None
    })?;
    Ok(stop)
}

/// Lets what is written beyond a limit of the size of files (`ulimit -f`) fail as on a full disk, where the signal of it would end
/// the program without a word. What is started from here has the signal as it was.
pub(crate) fn outlive_file_limit() -> Result<(), CommandError> {
    watch_for(SIGXFSZ, |_| None)
}

fn watch_for(signal: i32, action: impl Fn(u64) -> Option<i32> + Send + Sync + 'static) -> Result<(), CommandError> {
    let wrong = |error| CommandError::usage(format!("cannot watch for signal {signal}: {error}"));
    sys::on_signal(signal, action).map_err(wrong)
}

/// True if the program was started with the signal ignored; false where the kernel does not tell.
fn is_ignored(signal: i32) -> bool {
    let status = Process::myself().and_then(|own| own.status());
    status.is_ok_and(|status| status.sigign & (1 << (signal - 1)) != 0)
}
