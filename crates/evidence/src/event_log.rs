//! Events of a measurement, read back from the log that was written while it ran.
//!
//! A log may come from anywhere. One line of it is in memory at a time, and what the evidence takes for granted of numbers and
//! times is checked before it is made.

use crate::interval_log::{Interval, Intervals, LogError};
use crate::lines;
use model::{
    COMPARE_ARMS_MAX, COMPARE_AT_ONCE, COMPARE_BLOCKS_MAX, COMPARE_WINDOWS_MAX, CapacitySettings, CompareLoad,
    CompareSettings, Event, NS_PER_S, Plausible, SessionEvent, Tick,
};
use std::collections::BTreeSet;
use std::io::{self, BufRead};
use std::iter::Peekable;
use thiserror::Error;

/// Longest line: a plan of as many requests as the largest file of them has.
const LINE_MAX_BYTES: u64 = 256 << 20;
/// Longest tick; they are cut each second.
const TICK_MAX_NS: u64 = 2 * NS_PER_S;
/// Largest load: connections, or requests per second.
const LOAD_MAX: f64 = 1e12;
/// Loads and widths of a bracket that a search for a capacity can have been told.
const SEARCHED_PER_S: std::ops::RangeInclusive<f64> = 1e-6..=LOAD_MAX;
const WIDTH: std::ops::RangeInclusive<f64> = 1e-4..=1.0;
/// Loads of a block at most.
const LOADS_MAX: usize = 3;

/// Reason why a log cannot be read back.
#[derive(Debug, Error)]
pub enum EventsError {
    /// An error of the system, or a line that no log has.
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    /// A line that is no event of a measurement.
    #[error("line {number}: {why}")]
    Line {
        /// From 1.
        number: u64,
        /// What is wrong with it.
        why: String,
    },
}

/// Events in order, ticks with their histograms, up to where the log breaks off. After an error there is nothing more to be
/// read.
pub struct Events<E, H: BufRead> {
    log: E,
    histograms: Peekable<Intervals<H>>,
    line: Vec<u8>,
    /// Lines read.
    number: u64,
    /// Begin of the last tick; ns.
    ticked_ns: u64,
}

impl<E: BufRead, H: BufRead> Events<E, H> {
    /// Those of `log`, with the interval log of their `histograms`.
    pub fn new(log: E, histograms: H) -> Self {
        let histograms = Intervals::new(histograms).peekable();
        Self { log, histograms, line: Vec::new(), number: 0, ticked_ns: 0 }
    }

    fn read_next(&mut self) -> Result<Option<Event>, EventsError> {
        if !lines::next(&mut self.log, &mut self.line, LINE_MAX_BYTES)? {
            return Ok(None);
        }
        self.number += 1;
        let number = self.number;
        // Names that serde does not know stand in its messages as they are.
        let wrong = |why: String| EventsError::Line { number, why: why.replace('\n', " ") };
        serde_json::from_slice::<Plausible>(&self.line).map_err(|error| wrong(error.to_string()))?;
        let mut event: Event = serde_json::from_slice(&self.line).map_err(|error| wrong(error.to_string()))?;
        self.check(&event).map_err(|why| wrong(why.to_owned()))?;
        let is_whole = match &mut event {
            Event::Tick(tick) => fill(tick, &mut self.histograms),
            _ => true,
        };
        Ok(is_whole.then_some(event))
    }

    /// Fails on what no measurement tells.
    fn check(&mut self, event: &Event) -> Result<(), &'static str> {
        match event {
            Event::Tick(tick) => {
                let length_ns = tick.to_ns.checked_sub(tick.from_ns).ok_or("a tick ends before it begins")?;
                if length_ns > TICK_MAX_NS {
                    return Err("a tick is longer than a second");
                }
                if tick.from_ns < self.ticked_ns {
                    return Err("a tick begins before the one before it");
                }
                self.ticked_ns = tick.from_ns;
                Ok(())
            }
            Event::Started { plan, .. } if plan.requests.is_empty() => Err("a plan without a request"),
            Event::Session(SessionEvent::Point { load, .. }) if !(*load > 0.0 && *load <= LOAD_MAX) => {
                Err("a load that nobody can put on a server")
            }
            Event::Session(SessionEvent::Trial { trial, .. }) if !SEARCHED_PER_S.contains(&trial.load_per_s) => {
                Err("a load that nobody can put on a server")
            }
            Event::Session(SessionEvent::Search { settings, .. }) if !can_be_searched(settings) => {
                Err("a search that nobody can make")
            }
            Event::Session(SessionEvent::Blocks { settings, arms, .. }) if !can_be_compared(settings, arms.len()) => {
                Err("a comparison that nobody can make")
            }
            _ => Ok(()),
        }
    }
}

impl<E: BufRead, H: BufRead> Iterator for Events<E, H> {
    type Item = Result<Event, EventsError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read_next().transpose()
    }
}

/// True if a search for a capacity can have been told this.
fn can_be_searched(settings: &CapacitySettings) -> bool {
    let loads = [settings.from_per_s, settings.to_per_s, settings.start_per_s];
    let times = &settings.times;
    loads.iter().all(|load| SEARCHED_PER_S.contains(load))
        && WIDTH.contains(&settings.width)
        && (1..=times.full_ns).contains(&times.short_ns)
}

/// True if a comparison of so many variants can have been told this.
fn can_be_compared(settings: &CompareSettings, arms: usize) -> bool {
    let is_share = |share: f64| share > 0.0 && share < 1.0;
    let is_load = |load: &CompareLoad| match load {
        CompareLoad::Fixed | CompareLoad::Saturated => true,
        CompareLoad::Capacity => settings.capacity.is_some(),
        CompareLoad::Canary | CompareLoad::Stored => false,
    };
    (2..=COMPARE_ARMS_MAX).contains(&settings.arms)
        && settings.arms == arms as u64
        && (1..=COMPARE_BLOCKS_MAX).contains(&settings.blocks_max)
        && !settings.loads.is_empty()
        && settings.loads.len() <= LOADS_MAX
        && settings.loads.iter().all(is_load)
        && SEARCHED_PER_S.contains(&settings.rate_per_s)
        && is_share(settings.margin)
        && settings.precision.is_none_or(is_share)
        && settings.duet.as_ref().is_none_or(|_| arms == 2 && settings.loads == [CompareLoad::Fixed])
        && settings.windows.is_none_or(|windows| (1..=COMPARE_WINDOWS_MAX).contains(&windows))
        && settings
            .at_once
            .is_none_or(|at_once| settings.windows.is_some() && settings.arms == COMPARE_AT_ONCE && at_once.turn_ns > 0)
}

/// Gives a tick its histograms, which are the next in their log; false when they have not been written any more.
fn fill(tick: &mut Tick, intervals: &mut Peekable<impl Iterator<Item = Result<Interval, LogError>>>) -> bool {
    // Of ticks shorter than the log's milliseconds the next may have the same times.
    let mut seen = BTreeSet::new();
    let (from_ns, to_ns) = (tick.from_ns, tick.to_ns);
    let is_next = |next: &Result<Interval, LogError>, seen: &BTreeSet<String>| match next {
        Ok(next) => next.is_of(from_ns, to_ns) && !seen.contains(&next.tag),
        // What cannot be read any more ends the log.
        Err(_) => false,
    };
    while let Some(Ok(interval)) = intervals.next_if(|next| is_next(next, &seen)) {
        if let Some(histogram) = interval.place(&mut tick.histograms, &mut tick.set_aside) {
            *histogram = interval.histogram;
        }
        seen.insert(interval.tag);
    }
    tick.cohort.counts.completed == 0 || !tick.histograms.response.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval_log::write_tick;
    use crate::testing::seed;
    use model::MergedHistogram;

    /// The events of `log`, as far as they can be read, and why not further.
    fn read(log: &str, histograms: &[u8]) -> (usize, Option<String>) {
        let (mut events, mut error) = (0, None);
        for event in Events::new(log.as_bytes(), histograms) {
            match event {
                Ok(_) => events += 1,
                Err(why) => {
                    error = Some(why.to_string());
                    break;
                }
            }
        }
        (events, error)
    }

    /// A tick line from `from_ns` to `to_ns`.
    fn tick(from_ns: u64, to_ns: u64) -> String {
        let tick = seed().lines().find(|line| line.contains(r#""event":"tick""#)).expect("a tick").to_owned();
        tick.replace(r#""from_ns":0,"#, &format!(r#""from_ns":{from_ns},"#))
            .replace(r#""to_ns":1000000000,"#, &format!(r#""to_ns":{to_ns},"#))
            + "\n"
    }

    #[test]
    fn every_event_of_a_log_is_read() {
        let lines = seed().lines().count();
        assert!(lines > 8);
        assert_eq!(read(&seed(), b""), (lines, None));
    }

    #[test]
    fn a_line_that_does_not_end_is_left_out() {
        let log = format!("{}{}", seed(), r#"{"event":"tick","pha"#);
        assert_eq!(read(&log, b""), (seed().lines().count(), None));
    }

    #[test]
    fn ticks_that_no_load_has_are_refused_before_anything_is_computed() {
        for (log, why) in [
            (tick(5, 4), "line 1: a tick ends before it begins"),
            // Slice by slice this one was followed for ever.
            (tick(0, 1 << 56), "line 1: a tick is longer than a second"),
            (tick(0, u64::MAX), "line 1: no measurement has the number 18446744073709551615"),
            (tick(7, 8) + &tick(6, 8), "line 2: a tick begins before the one before it"),
        ] {
            let (_, error) = read(&log, b"");
            assert!(error.as_ref().is_some_and(|error| error.starts_with(why)), "{why}: {error:?}");
        }
    }

    #[test]
    fn plans_and_loads_that_cannot_be_are_refused() {
        let plan = seed().replace(r#"[{"method":"GET","path":"/","headers":[],"body_bytes":0}]"#, "[]");
        assert!(read(&plan, b"").1.is_some_and(|error| error.contains("a plan without a request")));
        for load in ["0.0", "-1.0", "1e13"] {
            let point =
                format!("{{\"event\":\"session\",\"session\":\"point\",\"directory\":\"a\",\"load\":{load}}}\n");
            assert!(read(&point, b"").1.is_some_and(|error| error.contains("a load that nobody")), "{load}");
        }
    }

    #[test]
    fn searches_that_cannot_be_are_refused() {
        let settings = |from_per_s: &str, width: &str, full_ns: &str| {
            let times = format!(r#"{{"short_ns":3,"full_ns":{full_ns},"overhead_ns":1,"budget_ns":9}}"#);
            let loads = format!(r#""from_per_s":{from_per_s},"to_per_s":1000.0,"start_per_s":5.0,"width":{width}"#);
            let begin = r#"{"event":"session","session":"search","pilot_per_s":9.0,"settings":{"#;
            format!("{begin}{loads},\"times\":{times},\"seed\":1}}}}\n")
        };
        assert_eq!(read(&settings("1.0", "0.03", "6"), b""), (1, None));
        for (from_per_s, width, full_ns) in [("0.0", "0.03", "6"), ("1.0", "0.0", "6"), ("1.0", "0.03", "2")] {
            let (_, error) = read(&settings(from_per_s, width, full_ns), b"");
            assert!(error.is_some_and(|error| error.contains("a search that nobody can make")), "{from_per_s} {width}");
        }
    }

    /// A block of 2^56 windows took all memory before it was found that nobody had measured it.
    #[test]
    fn comparisons_that_cannot_be_are_refused() {
        let settings = |more: &str| {
            let plan = r#""arms":2,"loads":["fixed"],"rate_per_s":10.0,"connections":1,"seed":1,"blocks_max":6,"precision":null"#;
            let rest = r#""margin":0.02,"fail_if":[],"is_aa":false,"times":{"window_ns":1,"block_ns":1,"budget_ns":1}"#;
            let arms = r#"[{"name":"a","target":"a"},{"name":"b","target":"b"}]"#;
            let begin = r#"{"event":"session","session":"blocks","settings":{"#;
            format!("{begin}{plan},{rest}{more}}},\"arms\":{arms},\"check\":[]}}\n")
        };
        for possible in ["", r#","windows":4"#, r#","windows":2,"at_once":{"turn_ns":1,"window_ns":2}"#] {
            assert_eq!(read(&settings(possible), b""), (1, None), "{possible}");
        }
        for windows in [
            r#","windows":0"#,
            r#","windows":72057594037927936"#,
            r#","windows":2,"at_once":{"turn_ns":0,"window_ns":2}"#,
            r#","at_once":{"turn_ns":1,"window_ns":2}"#,
        ] {
            let (_, error) = read(&settings(windows), b"");
            assert!(error.is_some_and(|error| error.contains("a comparison that nobody")), "{windows}");
        }
    }

    #[test]
    fn a_tick_without_its_histograms_ends_the_log() {
        let completed = |tick: String| tick.replace(r#""completed":0,"#, r#""completed":1,"#);
        let log = completed(tick(0, 1_000_000_000)) + &completed(tick(1_000_000_000, 2_000_000_000));
        assert_eq!(read(&log, b""), (0, None));
        let Some(Ok(Event::Tick(mut first))) = Events::new(tick(0, 1_000_000_000).as_bytes(), &b""[..]).next() else {
            panic!("no tick")
        };
        let mut response = MergedHistogram::default();
        response.record(5_000_000);
        first.histograms.response = response;
        let mut histograms = Vec::new();
        write_tick(&mut histograms, &first).unwrap();
        assert_eq!(read(&log, &histograms), (1, None));
        // Of the compressed counts too, not only of their checksum.
        histograms.truncate(histograms.len() - 21);
        histograms.push(b'\n');
        assert_eq!(read(&log, &histograms), (0, None), "a damaged histogram ends it too");
    }
}
