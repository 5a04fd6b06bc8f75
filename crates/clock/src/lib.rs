//! The one place where time is read. Everything else takes `now` as a parameter.

use nix::time::clock_getcpuclockid;
use nix::unistd::Pid;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::time::Duration;

/// A monotonic clock that counts from when it was started.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch_ns: u64,
}

impl Clock {
    /// A clock that reads 0 now.
    #[must_use]
    pub fn start() -> Self {
        Self { epoch_ns: read(ClockId::Monotonic) }
    }

    /// A clock that started at `epoch_ns` of `CLOCK_MONOTONIC`, which is past.
    #[must_use]
    pub const fn started_at(epoch_ns: u64) -> Self {
        Self { epoch_ns }
    }

    /// Time since the start; ns.
    #[inline]
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        read(ClockId::Monotonic).saturating_sub(self.epoch_ns)
    }

    /// The start on `CLOCK_MONOTONIC`, which all processes of a machine share; ns.
    #[must_use]
    pub const fn epoch_ns(&self) -> u64 {
        self.epoch_ns
    }
}

/// `CLOCK_MONOTONIC`, for waits outside any measurement; ns.
#[inline]
#[must_use]
pub fn monotonic_ns() -> u64 {
    read(ClockId::Monotonic)
}

/// Time left until an instant of [`monotonic_ns`], as a time-out of a socket: at least a millisecond, which is the shortest
/// that all of them know; none when the instant has passed.
#[must_use]
pub fn left_until(until_ns: u64) -> Option<Duration> {
    match until_ns.saturating_sub(monotonic_ns()) {
        0 => None,
        left_ns => Some(Duration::from_nanos(left_ns).max(Duration::from_millis(1))),
    }
}

/// Time that this machine has been suspended since it was started, in which `CLOCK_MONOTONIC` stood still; ns.
///
/// Two clocks are read for it, and whatever keeps the thread between the two makes it less: it is never too much.
#[must_use]
pub fn suspended_ns() -> u64 {
    let with_ns = read(ClockId::Boottime);
    with_ns.saturating_sub(read(ClockId::Monotonic))
}

/// User and system CPU time of the calling thread so far; ns.
#[inline]
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    read(ClockId::ThreadCPUTime)
}

/// User and system CPU time of the own process so far, all threads; ns.
#[inline]
#[must_use]
pub fn process_cpu_ns() -> u64 {
    read(ClockId::ProcessCPUTime)
}

/// User and system CPU time of any process so far, all threads, those that have ended included; none once it is gone; ns.
///
/// `/proc/PID/stat` tells the same time in steps of 10 ms, user and system apart, so that a window of a second would be known
/// to 2 % only.
#[must_use]
pub fn cpu_ns_of(pid: i32) -> Option<u64> {
    let clock = clock_getcpuclockid(Pid::from_raw(pid)).ok()?;
    let used = nix::time::clock_gettime(clock).ok()?;
    Some(used.tv_sec().cast_unsigned() * model::NS_PER_S + used.tv_nsec().cast_unsigned())
}

/// Wall-clock time, RFC 3339 in UTC, to the millisecond.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub fn wall_clock() -> String {
    let now = jiff::Timestamp::now();
    format!("{now:.3}")
}

/// Wall-clock time; s since 1970, UTC.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub fn unix_s() -> u64 {
    jiff::Timestamp::now().as_second().max(0).cast_unsigned()
}

#[inline]
fn read(id: ClockId) -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(id);
    tv_sec.cast_unsigned() * model::NS_PER_S + tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_time_of_a_process_is_that_which_it_tells_of_itself() {
        let before_ns = process_cpu_ns();
        let told_ns = cpu_ns_of(std::process::id().cast_signed()).expect("it is there");
        assert!((before_ns..=process_cpu_ns()).contains(&told_ns), "{before_ns} {told_ns}");
        assert_eq!(cpu_ns_of((1 << 22) + 1), None, "no process has a number as high as this");
    }

    #[test]
    fn clock_counts_from_its_start_and_never_backwards() {
        let clock = Clock::start();
        let first = clock.now_ns();
        assert!(first < model::NS_PER_S && clock.now_ns() >= first);
    }

    #[test]
    fn time_suspended_never_shrinks_but_by_the_time_between_two_readings() {
        let before = suspended_ns();
        assert!(suspended_ns() + model::NS_PER_S > before);
    }

    #[test]
    fn wall_clock_is_rfc_3339_utc() {
        let text = wall_clock();
        assert!(text.ends_with('Z') && text.len() == "2026-01-01T00:00:00.000Z".len(), "{text}");
    }
}
