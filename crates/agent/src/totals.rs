//! Totals of an agent: the sum of its ticks, made at both ends and compared.

use model::{Cohort, Fairness, Flow, MixCount, Tick};
use serde::{Deserialize, Serialize};

/// Largest total: sums over all agents do not overflow.
const TOTAL_MAX: u64 = 1 << 56;

/// Sum of ticks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Ticks.
    pub ticks: u64,
    /// Traffic.
    pub flow: Flow,
    /// Requests of the measured window.
    pub cohort: Cohort,
    /// Values in the histograms, all together.
    pub values: u64,
}

impl Totals {
    /// Adds a tick, whose numbers are plausible each; false once the sum is one of no load.
    pub fn add(&mut self, tick: &Tick) -> bool {
        self.ticks += 1;
        self.flow.add(&tick.flow);
        self.cohort.add(&tick.cohort);
        let histograms = tick.histograms.each().into_iter().chain(tick.set_aside.each());
        self.values = self.values.saturating_add(histograms.map(|(_, histogram)| histogram.count()).sum());
        self.largest() <= TOTAL_MAX
    }

    fn largest(&self) -> u64 {
        let Flow {
            sent,
            completed,
            good,
            failed,
            bytes_received,
            bytes_sent,
            opened,
            grown,
            resumed,
            fruitless,
            outstanding_ns,
        } = self.flow;
        let fruitless = fruitless.all();
        let Cohort { counts, status, failures, mix, fairness } = &self.cohort;
        let flow = [
            sent,
            completed,
            good,
            failed,
            bytes_received,
            bytes_sent,
            opened,
            grown,
            resumed,
            fruitless,
            outstanding_ns,
        ];
        let maps = status.values().chain(failures.values()).copied();
        let mix = mix.iter().flat_map(|MixCount { completed, good, response_ns }| [*completed, *good, *response_ns]);
        // The least of all times is no sum, and squares are added up to the largest number that there is.
        let fairness = fairness.as_ref().map(
            |Fairness { connections, answered, starved, starved_ns: _, quiet_ns: _, responses, squares: _ }| {
                [*connections, *answered, *starved, *responses]
            },
        );
        let counted = flow.into_iter().chain(counts.each()).chain(maps).chain(mix);
        counted.chain(fairness.into_iter().flatten()).chain([self.values]).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Counts, Phase};

    #[test]
    fn ticks_add_up_until_no_load_has_so_many() {
        let mut tick = Tick::empty(Phase::Measure, 0, 1);
        tick.flow.sent = 1 << 55;
        tick.histograms.response.record(7);
        let mut totals = Totals::default();
        assert!(totals.add(&tick) && totals.add(&tick));
        assert_eq!((totals.ticks, totals.flow.sent, totals.values), (2, 1 << 56, 2));
        assert!(!totals.add(&tick));
    }

    /// A counter that was left out of the largest had no limit: sums over agents overflowed.
    #[test]
    fn each_counter_of_the_cohort_has_a_limit() {
        let names = serde_json::to_value(Counts::default()).unwrap();
        let names: Vec<_> = names.as_object().unwrap().keys().cloned().collect();
        assert_eq!(names.len(), Counts::default().each().len());
        for name in names {
            let mut counts = serde_json::to_value(Counts::default()).unwrap();
            counts[&name] = (TOTAL_MAX + 1).into();
            let mut tick = Tick::empty(Phase::Measure, 0, 1);
            tick.cohort.counts = serde_json::from_value(counts).unwrap();
            assert!(!Totals::default().add(&tick), "{name}");
        }
    }

    #[test]
    fn connections_that_were_counted_have_a_limit_and_the_squares_of_a_long_load_have_none() {
        let fairness = Fairness { responses: 1 << 40, squares: u64::MAX, ..Fairness::default() };
        let mut tick = Tick::empty(Phase::Measure, 0, 1);
        tick.cohort.fairness = Some(fairness);
        assert!(Totals::default().add(&tick));
        tick.cohort.fairness = Some(Fairness { connections: TOTAL_MAX + 1, ..fairness });
        assert!(!Totals::default().add(&tick));
    }
}
