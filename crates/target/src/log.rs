//! The log of a target: JSON lines with what no client can know for itself, stamped on `CLOCK_MONOTONIC`.
//!
//! `{"started_ns": S, "listen": "..."}` once; `{"stall_begin_ns": B, "stall_end_ns": E}` when a stall is over;
//! `{"arrivals_from_ns": T, "per_ms": [...]}` about once a second: requests by the millisecond their last byte
//! was read in, the first from T on, consecutive lines without gap. `{"arrivals_lost_from_ns": T,
//! "until_ns": U}` stands for arrivals the log came too late for.

use std::io::{self, Write};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use super::stats::{NS_PER_MS, RING_MS, WorkerStats};
use super::{Shared, Stall, page};

/// Between two lines of arrivals, and how long a worker may take from stamping a request to counting it.
const PERIOD: Duration = Duration::from_millis(500);
const PERIOD_MS: u64 = 1_000;
const SETTLE_MS: u64 = 1_000;

/// Tells the log's thread that the server has stopped.
#[derive(Debug, Default)]
pub(super) struct StopSignal {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl StopSignal {
    pub(super) fn set(&self) {
        *self.stopped.lock().expect("no thread panics with it") = true;
        self.changed.notify_all();
    }

    /// Waits one period; whether the server has stopped.
    fn wait(&self) -> bool {
        let stopped = self.stopped.lock().expect("no thread panics with it");
        *self.changed.wait_timeout_while(stopped, PERIOD, |stopped| !*stopped).expect("no thread panics with it").0
    }
}

/// Writes the log until the workers have stopped and everything they counted is written.
pub(super) fn run(shared: &Shared, stop: &StopSignal, out: impl Write) -> io::Result<()> {
    let mut log = Log { epoch_ns: shared.clock.epoch_ns(), stalls: 0, written_ms: 0, out };
    log.start(&page::json_string(&shared.address.to_string()))?;
    loop {
        let stopped = stop.wait();
        let now_ns = shared.clock.now_ns();
        if let Some(stall) = &shared.config.stall {
            log.stalls(stall, now_ns, stopped)?;
        }
        log.arrivals(&shared.stats, now_ns / NS_PER_MS, stopped)?;
        log.out.flush()?;
        if stopped {
            return Ok(());
        }
    }
}

struct Log<W> {
    epoch_ns: u64,
    /// Stalls written so far.
    stalls: u64,
    /// Arrivals before this millisecond since the start are written.
    written_ms: u64,
    out: W,
}

impl<W: Write> Log<W> {
    fn start(&mut self, listen: &str) -> io::Result<()> {
        writeln!(self.out, "{{\"started_ns\":{},\"listen\":{listen}}}", self.epoch_ns)?;
        self.out.flush()
    }

    /// The stalls that are over; when the server `stopped` within one, that ended there.
    fn stalls(&mut self, stall: &Stall, now_ns: u64, stopped: bool) -> io::Result<()> {
        loop {
            let next = stall.nth(self.stalls + 1);
            let cut_short = stopped && next.begin_ns < now_ns;
            if next.end_ns > now_ns && !cut_short {
                return Ok(());
            }
            self.stalls += 1;
            let (begin_ns, end_ns) = (self.epoch_ns + next.begin_ns, self.epoch_ns + next.end_ns.min(now_ns));
            writeln!(self.out, "{{\"stall_begin_ns\":{begin_ns},\"stall_end_ns\":{end_ns}}}")?;
        }
    }

    /// The arrivals that are settled, in lines of one second; all of them when the server has `stopped`.
    fn arrivals(&mut self, workers: &[WorkerStats], now_ms: u64, stopped: bool) -> io::Result<()> {
        let oldest_ms = (now_ms + 1).saturating_sub(RING_MS as u64);
        if self.written_ms < oldest_ms {
            let (from_ns, until_ns) = (self.at_ns(self.written_ms), self.at_ns(oldest_ms));
            writeln!(self.out, "{{\"arrivals_lost_from_ns\":{from_ns},\"until_ns\":{until_ns}}}")?;
            self.written_ms = oldest_ms;
        }
        let settled_ms = if stopped { now_ms + 1 } else { now_ms.saturating_sub(SETTLE_MS) };
        while self.written_ms + PERIOD_MS <= settled_ms || (stopped && self.written_ms < settled_ms) {
            let until_ms = settled_ms.min(self.written_ms + PERIOD_MS);
            write!(self.out, "{{\"arrivals_from_ns\":{},\"per_ms\":[", self.at_ns(self.written_ms))?;
            for millisecond in self.written_ms..until_ms {
                let comma = if millisecond == self.written_ms { "" } else { "," };
                let arrivals: u32 = workers.iter().map(|worker| worker.take_arrivals(millisecond)).sum();
                write!(self.out, "{comma}{arrivals}")?;
            }
            writeln!(self.out, "]}}")?;
            self.written_ms = until_ms;
        }
        Ok(())
    }

    const fn at_ns(&self, millisecond: u64) -> u64 {
        self.epoch_ns + millisecond * NS_PER_MS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> Log<Vec<u8>> {
        Log { epoch_ns: 10_000_000_000, stalls: 0, written_ms: 0, out: Vec::new() }
    }

    fn text(log: Log<Vec<u8>>) -> String {
        String::from_utf8(log.out).unwrap()
    }

    #[test]
    fn stalls_are_written_once_over_and_cut_by_the_stop() {
        let stall = Stall { every_ns: 1_000, length_ns: 300 };
        let mut log = log();
        log.stalls(&stall, 1_200, false).unwrap();
        assert!(log.out.is_empty());
        log.stalls(&stall, 1_300, false).unwrap();
        log.stalls(&stall, 1_999, false).unwrap();
        log.stalls(&stall, 2_100, true).unwrap();
        assert_eq!(
            text(log),
            "{\"stall_begin_ns\":10000001000,\"stall_end_ns\":10000001300}\n\
             {\"stall_begin_ns\":10000002000,\"stall_end_ns\":10000002100}\n"
        );
    }

    #[test]
    fn arrivals_wait_until_settled_and_are_all_written_at_the_stop() {
        let workers = [WorkerStats::new(true), WorkerStats::new(true)];
        let mut log = log();
        for (worker, millisecond) in [(0, 0), (1, 0), (1, 2), (0, 1_001)] {
            workers[worker].arrival(millisecond * NS_PER_MS);
        }
        log.arrivals(&workers, 1_999, false).unwrap();
        assert!(log.out.is_empty());
        log.arrivals(&workers, 2_000, false).unwrap();
        log.arrivals(&workers, 1_002, true).unwrap();
        let text = text(log);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("{\"arrivals_from_ns\":10000000000,\"per_ms\":[2,0,1,0,0,"), "{text}");
        assert_eq!(lines[0].matches(',').count(), 1_000);
        assert_eq!(lines[1], "{\"arrivals_from_ns\":11000000000,\"per_ms\":[0,1,0]}");
    }

    #[test]
    fn a_late_log_says_what_it_lost() {
        let workers = [WorkerStats::new(true)];
        let mut log = log();
        let now_ms = RING_MS as u64 + 99;
        log.arrivals(&workers, now_ms, false).unwrap();
        assert!(text(log).starts_with("{\"arrivals_lost_from_ns\":10000000000,\"until_ns\":10100000000}\n"));
    }
}
