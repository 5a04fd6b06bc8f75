//! Events of a measurement, as they are found on the disk.

use model::{Event, Phase, SessionEvent};
use std::collections::BTreeSet;
use std::path::Path;

/// Name of the file.
pub(super) const EVENTS: &str = "events.jsonl";

/// The same of the samples of a profile.
pub(super) const SAMPLES: &str = "profile.samples";

/// What a log says, up to where it breaks off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Log {
    /// Length of the ticks of the measured window; ns.
    pub(super) measured_ns: u64,
    /// Loads that are part of the result, as bits.
    pub(super) loads: BTreeSet<u64>,
    /// Trials that are part of the result, of a search for a capacity or a comparison.
    pub(super) trials: usize,
    /// The first line that is no event, but for a last one that was not written to its end.
    pub(super) wrong_line: Option<usize>,
}

impl Log {
    /// Loads and trials that are part of the result.
    pub(super) fn parts(&self) -> usize {
        self.loads.len() + self.trials
    }

    /// The log at `path`; an empty one when it is gone.
    pub(super) fn of(path: &Path) -> Self {
        Self::read(&std::fs::read(path).unwrap_or_default())
    }

    fn read(bytes: &[u8]) -> Self {
        let mut log = Self::default();
        let whole = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
        for (index, line) in whole.enumerate() {
            match serde_json::from_slice(line) {
                Ok(event) => log.take(&event),
                Err(_) => {
                    log.wrong_line = Some(index + 1);
                    break;
                }
            }
        }
        log
    }

    fn take(&mut self, event: &Event) {
        match event {
            Event::Tick(tick) if tick.phase == Phase::Measure => {
                self.measured_ns += tick.to_ns.saturating_sub(tick.from_ns);
            }
            Event::Session(SessionEvent::Point { load, .. }) => {
                self.loads.insert(load.to_bits());
            }
            Event::Session(SessionEvent::Trial { .. } | SessionEvent::Compared { .. }) => self.trials += 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Tick, TrialMade};

    fn tick(phase: Phase, from_ns: u64, to_ns: u64) -> String {
        let event = Event::Tick(Box::new(Tick::empty(phase, from_ns, to_ns)));
        serde_json::to_string(&event).expect("JSON") + "\n"
    }

    fn point(load: f64) -> String {
        let event = Event::Session(SessionEvent::Point { directory: "points/01".into(), load });
        serde_json::to_string(&event).expect("JSON") + "\n"
    }

    #[test]
    fn ticks_of_the_window_and_loads_are_counted_up_to_a_line_that_was_cut() {
        let text = tick(Phase::Warmup, 0, 5) + &tick(Phase::Measure, 5, 15) + &tick(Phase::Measure, 15, 25);
        let text = text + &point(2.0) + &point(2.0) + &point(4.0) + &tick(Phase::Drain, 25, 26);
        let log = Log::read((text.clone() + "{\"event\":\"tick\",\"pha").as_bytes());
        assert_eq!((log.measured_ns, log.loads.len(), log.wrong_line), (20, 2, None));
        let made = SessionEvent::Trial { directory: "points/02".into(), trial: TrialMade::default() };
        let trial = serde_json::to_string(&Event::Session(made)).expect("JSON") + "\n";
        assert_eq!(Log::read((trial.clone() + &trial).as_bytes()).parts(), 2, "each counts, whatever its load");
        let log = Log::read((text + "{\"event\":\"tick\",\"pha\n" + &tick(Phase::Measure, 25, 35)).as_bytes());
        assert_eq!((log.measured_ns, log.wrong_line), (20, Some(8)));
        assert_eq!(Log::of(Path::new("/nowhere")), Log::default());
    }
}
