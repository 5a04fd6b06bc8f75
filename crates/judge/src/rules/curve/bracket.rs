//! SA-02: width of the capacity bracket.

use crate::facts::saturation::held;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{percent, rate};
use model::{FindingState, SweepEvidence};

/// The width that a search for a capacity aims at.
const WIDTH: f64 = 0.02;

pub(crate) const RULE: Rule = Rule {
    id: "SA-02",
    title: "coarse capacity bracket",
    detects: "The capacity is known only to lie between two measured rates, or below one.",
    fires: &[
        Fires::invalid("No rate met the goal, and faults of the client or lost CPU time may be the reason."),
        Fires::bound("No rate met the goal, or fresh trials did not confirm an end of the bracket."),
        Fires::note(
            "The two rates of a sweep are more than 2 % apart, or those of a capacity more than 1.5 times the width \
             that was asked for.",
        ),
    ],
    remarks: "",
    applies: Applies::Always,
    needs: &[Need::Requests],
    conditions: "a sweep over rates with one sustained below one that was not, or a search for a capacity",
    check: Check::Sweep(check),
};

fn check(sweep: &SweepEvidence) -> Outcome {
    let points = &sweep.points;
    if !sweep.over_rate {
        return Outcome::Pass; // a plateau over connections is no point between two loads
    }
    let Some(high) = points.iter().position(|point| !held(point)) else {
        return if points.len() < 2 { Outcome::UNMET } else { Outcome::Pass };
    };
    let Some(low) = high.checked_sub(1) else {
        return Outcome::Unchecked("no rate was sustained");
    };
    let (low, high) = (points[low].load, points[high].load);
    let width = high / low - 1.0;
    if width <= WIDTH {
        return Outcome::Pass;
    }
    let message =
        format!("the capacity is between {} and {}, {} apart: quote the range", rate(low), rate(high), percent(width));
    let remedy = format!("refine the sweep: --from {low:.0} --to {high:.0}");
    Outcome::fired(RULE.id, FindingState::Note, message, remedy, [("low", low), ("high", high), ("width", width)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_sweep, finding, judged_sweep};

    /// Rates of which the second and later were offered in full and came back as given.
    fn rates(curve: &[(f64, f64)]) -> SweepEvidence {
        let mut sweep = clean_sweep(curve);
        sweep.over_rate = true;
        for point in &mut sweep.points {
            point.evidence.cohort.counts.planned = (point.load * 30.0) as u64;
        }
        sweep
    }

    #[test]
    fn the_range_is_named_and_a_close_one_is_silent() {
        let found = finding(judged_sweep(&RULE, &rates(&[(1000.0, 1000.0), (2000.0, 1999.0), (4000.0, 2100.0)])));
        assert_eq!(found.state, FindingState::Note);
        assert_eq!(found.message, "the capacity is between 2,000/s and 4,000/s, 100 % apart: quote the range");
        assert_eq!(found.remedy, "refine the sweep: --from 2000 --to 4000");
        assert_eq!(judged_sweep(&RULE, &rates(&[(2000.0, 2000.0), (2030.0, 1950.0)])), Outcome::Pass);
    }

    #[test]
    fn connections_and_rates_that_were_all_held_pass() {
        assert_eq!(judged_sweep(&RULE, &clean_sweep(&[(1.0, 100.0), (2.0, 110.0)])), Outcome::Pass);
        assert_eq!(judged_sweep(&RULE, &rates(&[(1000.0, 1000.0), (2000.0, 2000.0)])), Outcome::Pass);
        assert!(matches!(judged_sweep(&RULE, &rates(&[(2000.0, 1500.0), (4000.0, 1500.0)])), Outcome::Unchecked(_)));
        assert!(matches!(judged_sweep(&RULE, &rates(&[(1000.0, 1000.0)])), Outcome::Unchecked(_)));
    }
}
