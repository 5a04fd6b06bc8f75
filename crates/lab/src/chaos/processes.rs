//! Signals to processes that were started here, and waits that end.

use procfs::process::Process;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::process::Child;
use std::time::Duration;

/// How often one looks whether all has gone, and how often at most: databases are given 20 s to end.
const LOOK_UP: Duration = Duration::from_millis(10);
const LOOKS_MAX: usize = 2000;

/// True if it is there and no zombie.
pub(super) fn is_alive(pid: i32) -> bool {
    Process::new(pid).and_then(|process| process.stat()).is_ok_and(|stat| stat.state != 'Z')
}

/// Sends plimsoll a signal and waits for its end.
pub(super) fn end(plimsoll: &mut Child, signal: Signal) -> Result<Option<i32>, String> {
    kill(plimsoll.id().cast_signed(), signal)?;
    wait_for(plimsoll)
}

pub(super) fn wait_for(plimsoll: &mut Child) -> Result<Option<i32>, String> {
    if wait(|| !matches!(plimsoll.try_wait(), Ok(None))) {
        return plimsoll.wait().map(|status| status.code()).map_err(|error| error.to_string());
    }
    let _ = plimsoll.kill();
    let _ = plimsoll.wait();
    Err("plimsoll does not end".into())
}

pub(super) fn kill(pid: i32, signal: Signal) -> Result<(), String> {
    let pid = Pid::from_raw(pid).ok_or("no number of a process")?;
    kill_process(pid, signal).map_err(|error| format!("cannot send {signal:?}: {error}"))
}

/// Sends a signal to a child that leads a group of its own, and to all that is in it.
pub(super) fn kill_group(leader: &Child, signal: Signal) -> Result<(), String> {
    kill_process_group(Pid::from_child(leader), signal).map_err(|error| format!("cannot send {signal:?}: {error}"))
}

/// Looks until it is so; false when it never is.
pub(super) fn wait(mut is_so: impl FnMut() -> bool) -> bool {
    (0..LOOKS_MAX).any(|look| {
        if look > 0 {
            std::thread::sleep(LOOK_UP);
        }
        is_so()
    })
}
