//! The client paused: a process that stands still in bursts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::bursts::{Bursts, Cycle};

/// How often a gap looks whether it is to end.
const LOOK: Duration = Duration::from_millis(20);

/// A process that stands still, until this value ends.
struct Stopped<'a>(&'a OwnedFd);

impl<'a> Stopped<'a> {
    fn new(process: &'a OwnedFd) -> Result<Self> {
        pidfd_send_signal(process, Signal::STOP).context("pausing plimsoll")?;
        Ok(Self(process))
    }
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        let _ = pidfd_send_signal(self.0, Signal::CONT);
    }
}

/// Pauses `pid`, a child of this process that still runs, until `ended`; returns the share of the time for which it stood
/// still.
pub(super) fn pause(pid: i32, bursts: Bursts, ended: &AtomicBool) -> Result<f64> {
    // Its number may be another's once it has ended; the descriptor stays its own.
    let pid = Pid::from_raw(pid).context("a process has a number")?;
    let process = pidfd_open(pid, PidfdFlags::empty()).context("plimsoll")?;
    let began = Instant::now();
    let mut still = Duration::ZERO;
    for Cycle { before, burst, after } in bursts {
        if !sleep(before, ended) {
            break;
        }
        // It may end just now.
        let Ok(stopped) = Stopped::new(&process) else { break };
        let since = Instant::now();
        sleep(burst, ended);
        drop(stopped);
        still += since.elapsed();
        if !sleep(after, ended) {
            break;
        }
    }
    Ok(still.as_secs_f64() / began.elapsed().as_secs_f64().max(f64::MIN_POSITIVE))
}

/// Sleeps in short steps; whether all of `time` has passed before it `ended`.
pub(super) fn sleep(time: Duration, ended: &AtomicBool) -> bool {
    let until = Instant::now() + time;
    while !ended.load(Ordering::Relaxed) {
        match until.checked_duration_since(Instant::now()) {
            Some(left) => std::thread::sleep(left.min(LOOK)),
            None => return true,
        }
    }
    false
}
