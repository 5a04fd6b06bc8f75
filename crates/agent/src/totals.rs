//! Totals of an agent: the sum of its ticks, made at both ends and compared.

use model::{Cohort, Flow, Tick};
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
        let Cohort { planned, broken_response_ns, censored, body_checked, status, failures, mix, .. } = &self.cohort;
        let compared = [self.cohort.bodies_compared, self.cohort.bodies_other];
        let cohort = [self.cohort.sent, self.cohort.completed, self.cohort.good];
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
        let mix = mix.iter().flat_map(|item| [item.completed, item.good, item.response_ns]);
        let rest = [*planned, *broken_response_ns, *censored, *body_checked, self.values];
        flow.into_iter().chain(cohort).chain(maps).chain(mix).chain(rest).chain(compared).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Phase;

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
}
