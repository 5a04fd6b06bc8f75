//! Part of the page: what it says, and the goals it misses.

use crate::markdown::Page;

/// Runs from which on a goal is held to its very figure; fewer may miss it by what chance explains.
const EXACT_RUNS: u64 = 1000;
/// Standard errors that fewer runs may be off.
const ERRORS_MAX: f64 = 2.6;

/// Part of the page.
#[derive(Debug, Default)]
pub(super) struct Section {
    /// Heading, text and tables.
    pub(super) page: Page,
    /// Goals that were missed, each in a line.
    pub(super) missed: Vec<String>,
}

impl Section {
    /// Notes a share of so many runs that is outside its goal.
    pub(super) fn expect(&mut self, what: &str, share: f64, goal: std::ops::RangeInclusive<f64>, runs: u64) {
        let slack = |wanted: f64| match runs {
            EXACT_RUNS.. => 0.0,
            _ => ERRORS_MAX * (wanted * (1.0 - wanted) / runs as f64).sqrt(),
        };
        let (least, most) = (*goal.start(), *goal.end());
        if share < least - slack(least) || share > most + slack(most) {
            self.missed.push(format!("{what}: {}, expected {} to {}", percent(share), percent(least), percent(most)));
        }
    }
}

/// A share with one decimal place.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// Value that this share of the values stays at or below; sorts them.
pub(super) fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (values.len() as f64 * share).ceil() as usize;
    values.get(place.max(1) - 1).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::{Section, quantile};

    #[test]
    fn a_goal_is_exact_with_many_runs_and_allows_for_chance_with_few() {
        for (share, runs, misses) in [(0.94, 1000, 1), (0.95, 1000, 0), (0.92, 100, 0), (0.85, 100, 1)] {
            let mut section = Section::default();
            section.expect("held", share, 0.95..=1.0, runs);
            assert_eq!(section.missed.len(), misses, "{share} of {runs}: {:?}", section.missed);
        }
        let mut section = Section::default();
        section.expect("flagged", 0.123, 0.03..=0.07, 1000);
        assert_eq!(section.missed, ["flagged: 12.3 %, expected 3.0 % to 7.0 %"]);
    }

    #[test]
    fn quantiles_are_values_of_the_sample() {
        let mut values = vec![3.0, 1.0, 2.0, 4.0];
        assert_eq!(
            (quantile(&mut values, 0.5), quantile(&mut values, 0.95), quantile(&mut values, 0.0)),
            (2.0, 4.0, 1.0)
        );
        assert!(quantile(&mut [], 0.5).is_nan());
    }
}
