//! PH-07: loads with different workloads.

use crate::text::place;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{bytes, rate};
use model::{Evidence, FindingState, SweepEvidence};

/// Noise between two loads.
const SLACK: f64 = 0.95;
/// Bytes of a response may differ by this factor.
const FACTOR: f64 = 1.5;

pub(crate) const RULE: Rule = Rule {
    id: "PH-07",
    title: "different workloads",
    detects: "More connections had less goodput, or responses had different sizes.",
    fires: &[Fires::warning(
        "Every other load had less than 95 % of the goodput of one connection, or the bytes per response differ \
             from those at the first load by a factor of more than 1.5.",
    )],
    remarks: "",
    applies: Applies::Always,
    needs: &[Need::Loads, Need::Requests],
    conditions: "a sweep over connections that starts at one",
    check: Check::Sweep(check),
};

fn check(sweep: &SweepEvidence) -> Outcome {
    let Some((first, others)) = sweep.points.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Outcome::UNMET;
    };
    let size = |evidence: &Evidence| evidence.flow.bytes_received as f64 / evidence.flow.completed.max(1) as f64;
    let ratio = |evidence: &Evidence| size(evidence) / size(&first.evidence).max(1.0);
    let differs = others.iter().position(|p| p.evidence.flow.completed > 0 && !is_near(ratio(&p.evidence)));
    let message = if let Some(at) = differs {
        format!(
            "a response has {} at {} and {} at {}: different workloads",
            bytes(size(&first.evidence) as u64),
            place(sweep, 0),
            bytes(size(&others[at].evidence) as u64),
            place(sweep, at + 1)
        )
    } else {
        if sweep.over_rate || first.load != 1.0 {
            return Outcome::Unchecked("no load of one connection");
        }
        let most = others.iter().map(|point| point.goodput_per_s).fold(0.0, f64::max);
        if most >= SLACK * first.goodput_per_s {
            return Outcome::Pass;
        }
        format!(
            "one connection did {}, more of them {} at most: different workloads, or contention in the server",
            rate(first.goodput_per_s),
            rate(most)
        )
    };
    let remedy = "inspect the responses at both loads for a cache, a redirect or an error page".to_owned();
    let figures = [("first_per_s", first.goodput_per_s)];
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy, figures)
}

fn is_near(ratio: f64) -> bool {
    (1.0 / FACTOR..=FACTOR).contains(&ratio)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_sweep, finding, judged_sweep};

    #[test]
    fn less_than_one_connection_and_other_sizes_warn() {
        let found = finding(judged_sweep(&RULE, &clean_sweep(&[(1.0, 264.0), (2.0, 210.0), (4.0, 205.0)])));
        assert_eq!(found.state, FindingState::Warning);
        assert!(found.message.starts_with("one connection did 264/s, more of them 210/s at most"), "{}", found.message);
        let mut sweep = clean_sweep(&[(1.0, 100.0), (2.0, 200.0)]);
        sweep.points[1].evidence.flow.bytes_received /= 4;
        assert!(
            finding(judged_sweep(&RULE, &sweep))
                .message
                .starts_with("a response has 1,200 B at 1 connection and 300 B at 2")
        );
    }

    #[test]
    fn a_rising_curve_passes_and_without_one_connection_it_is_unchecked() {
        assert_eq!(judged_sweep(&RULE, &clean_sweep(&[(1.0, 100.0), (2.0, 96.0)])), Outcome::Pass);
        assert!(matches!(judged_sweep(&RULE, &clean_sweep(&[(2.0, 100.0), (4.0, 50.0)])), Outcome::Unchecked(_)));
        assert!(matches!(judged_sweep(&RULE, &clean_sweep(&[(1.0, 100.0)])), Outcome::Unchecked(_)));
    }
}
