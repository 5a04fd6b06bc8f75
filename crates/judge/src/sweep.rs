//! Judging a sweep: the rules of a run merged over its points, and the rules of the curve.
//!
//! A sweep makes claims about its peak. Where a rule fired decides how much it can hurt them: up to the peak it counts
//! in full (a saturated client only bounds, as throughput is the claim); at the first load past the peak a fault of the
//! client bounds the peak, as that point is the proof that it is one; anything further up is a warning at most, as
//! servers are expected to fail somewhere past their peak.

use crate::facts::disturbed::is_disturbed;
use crate::facts::saturation::peak_index;
use crate::need::NO_LOADS;
use crate::text::place;
use crate::{Outcome, Rule, agents, rules, verdict};
use model::human::plural;
use model::{DISTURBANCE_RULES, Finding, FindingState, SweepEvidence, Verdict};
use std::collections::BTreeSet;

/// Judges a sweep: one finding for each rule, its worst state, and the loads it fired at.
#[must_use]
pub fn judge_sweep(sweep: &SweepEvidence) -> Verdict {
    verdict(rules().iter().map(|rule| {
        let of_sweep = rule.judge_sweep(sweep);
        (rule.id, of_sweep.unwrap_or_else(|| over_points(sweep, rule)))
    }))
}

/// The points that the answers of a sweep rest on, by position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carriers {
    /// The peak, and the next load, which shows that it is one.
    pub peak: Vec<usize>,
    /// The lowest load, whose response time has no queue in it, the last on the way up, and those of the peak.
    pub knee: Vec<usize>,
}

impl Carriers {
    /// Of the points of a sweep; none without points. Where there is a choice an undisturbed load is taken.
    #[must_use]
    pub fn of(sweep: &SweepEvidence) -> Option<Self> {
        let points = &sweep.points;
        let at = peak_index(points)?;
        let disturbed = |i: &usize| is_disturbed(points[*i].evidence.disturbance.as_ref());
        let first = |mut range: std::ops::Range<usize>| range.clone().find(|i| !disturbed(i)).or_else(|| range.next());
        let peak: Vec<usize> = [Some(at), first(at + 1..points.len())].into_iter().flatten().collect();
        let below = (0..at).rev().find(|i| !disturbed(i)).or_else(|| at.checked_sub(1));
        let mut knee: Vec<usize> = [first(0..at), below].into_iter().flatten().chain(peak.iter().copied()).collect();
        knee.sort_unstable();
        knee.dedup();
        Some(Self { peak, knee })
    }

    fn all(self) -> BTreeSet<usize> {
        self.peak.into_iter().chain(self.knee).collect()
    }
}

/// One rule over all points: unchecked when it fired nowhere and lacked data anywhere.
fn over_points(sweep: &SweepEvidence, rule: &Rule) -> Outcome {
    let Some(peak) = peak_index(&sweep.points) else { return Outcome::Unchecked(NO_LOADS) };
    let carriers: BTreeSet<usize> = Carriers::of(sweep).map_or_else(BTreeSet::new, |carriers| carriers.all());
    let mut fired = Vec::new();
    let mut unchecked = None;
    for (i, point) in sweep.points.iter().enumerate() {
        match agents::outcome(rule, &point.evidence) {
            None | Some(Outcome::Pass) => {}
            Some(Outcome::Unchecked(reason)) => unchecked = Some(reason),
            Some(Outcome::Fired(finding)) => {
                let state = weigh(&finding, i, peak, &carriers);
                fired.push((i, Finding { state, ..finding }));
            }
        }
    }
    match (fired.is_empty(), unchecked) {
        (false, _) => Outcome::Fired(merge(sweep, fired, peak)),
        (true, Some(reason)) => Outcome::Unchecked(reason),
        (true, None) => Outcome::Pass,
    }
}

/// Rules about latencies alone: what a sweep claims is its goodput.
const OF_LATENCIES: [&str; 2] = ["CL-15", "LD-02"];

/// What a finding at point `i` does to a sweep whose peak is at point `peak`.
fn weigh(finding: &Finding, i: usize, peak: usize, carriers: &BTreeSet<usize>) -> FindingState {
    let of_client = finding.rule.starts_with("CL-");
    let of_disturbance = DISTURBANCE_RULES.contains(&finding.rule.as_str());
    let limit = match i {
        // Where neither peak nor knee rests on it, the load is marked and says nothing of them.
        i if of_disturbance && !carriers.contains(&i) => FindingState::Warning,
        _ if OF_LATENCIES.contains(&finding.rule.as_str()) => FindingState::Warning,
        i if i <= peak && finding.rule == "CL-01" => FindingState::Bound,
        i if i <= peak => FindingState::Invalid,
        i if i == peak + 1 && of_client => FindingState::Bound,
        _ => FindingState::Warning,
    };
    finding.state.min(limit)
}

/// The worst finding, of equals the one closest to the peak, with its load and the number of others.
fn merge(sweep: &SweepEvidence, fired: Vec<(usize, Finding)>, peak: usize) -> Finding {
    let positions: Vec<_> = fired.iter().map(|(i, _)| *i).collect();
    let worst = fired.into_iter().max_by_key(|(i, finding)| (finding.state, std::cmp::Reverse(i.abs_diff(peak))));
    let (at, mut finding) = worst.expect("merge is called with at least one finding");
    let everywhere = positions.len() == sweep.points.len();
    // What holds of every load, whatever its figures, needs no place.
    if !(everywhere && finding.state == FindingState::Note) {
        let others = match positions.len() - 1 {
            0 => String::new(),
            _ if everywhere => " and all other loads".to_owned(),
            n => format!(" and {}", plural(n as u64, "other load")),
        };
        let past = if positions[0] > peak { "past the peak, " } else { "" };
        finding.message = format!("{past}at {}{others}: {}", place(sweep, at), finding.message);
    }
    finding.evidence.insert("load".to_owned(), sweep.points[at].load);
    finding.evidence.insert("points_fired".to_owned(), positions.len() as f64);
    finding.evidence.insert("points".to_owned(), sweep.points.len() as f64);
    finding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Mutate, clean_sweep};
    use model::VerdictState;

    /// Peak at 4 connections, the third of five points.
    fn curve() -> SweepEvidence {
        clean_sweep(&[(1.0, 100.0), (2.0, 170.0), (4.0, 176.0), (8.0, 175.0), (16.0, 174.0)])
    }

    fn finding<'a>(verdict: &'a Verdict, rule: &str) -> &'a Finding {
        verdict.findings.iter().find(|finding| finding.rule == rule).expect("the rule fired")
    }

    #[test]
    fn a_clean_sweep_is_valid_with_each_note_once() {
        let verdict = judge_sweep(&curve());
        assert_eq!(verdict.state, VerdictState::Valid, "{verdict:#?}");
        let notes: Vec<_> = verdict.findings.iter().map(|finding| finding.rule.as_str()).collect();
        assert_eq!(notes, ["LD-03", "LD-07", "LD-08", "ST-06"]);
        assert!(finding(&verdict, "LD-03").message.starts_with("closed loop: "));
    }

    #[test]
    fn a_busy_client_at_or_next_to_the_peak_bounds_and_further_up_warns() {
        for (i, expected) in [(2, FindingState::Bound), (3, FindingState::Bound), (4, FindingState::Warning)] {
            let mut sweep = curve();
            sweep.points[i].evidence.threads[0].busy_max = 0.97;
            assert_eq!(finding(&judge_sweep(&sweep), "CL-01").state, expected, "point {i}");
        }
    }

    #[test]
    fn errors_past_the_peak_warn_and_at_the_peak_invalidate() {
        let mut sweep = curve();
        for point in &mut sweep.points[3..] {
            point.evidence.fail("first_byte.timeout", 50_000);
        }
        let verdict = judge_sweep(&sweep);
        assert_eq!(verdict.state, VerdictState::Valid);
        let errors = finding(&verdict, "ER-01");
        assert_eq!(errors.state, FindingState::Warning);
        assert!(
            errors.message.starts_with("past the peak, at 8 connections and 1 other load: 50,000 of"),
            "{}",
            errors.message
        );
        assert_eq!((errors.evidence["points_fired"], errors.evidence["load"]), (2.0, 8.0));

        sweep.points[2].evidence.fail("first_byte.timeout", 50_000);
        assert_eq!(finding(&judge_sweep(&sweep), "ER-01").state, FindingState::Invalid);
    }

    #[test]
    fn the_load_of_the_figures_is_named_and_the_others_counted() {
        let mut sweep = curve();
        for i in [0, 2] {
            sweep.points[i].evidence.settled = false;
        }
        let settled = judge_sweep(&sweep);
        let message = &finding(&settled, "ST-01").message;
        assert!(message.starts_with("at 4 connections and 1 other load: "), "{message}");
        for point in &mut sweep.points {
            point.evidence.settled = false;
        }
        let settled = judge_sweep(&sweep);
        let message = &finding(&settled, "ST-01").message;
        assert!(message.starts_with("at 4 connections and all other loads: "), "{message}");
    }

    #[test]
    fn a_rule_without_data_at_one_point_is_not_passed() {
        let mut sweep = curve();
        sweep.points[1].evidence.threads.clear();
        // With two iterations nobody can tell a mode or an outlier.
        assert_eq!(judge_sweep(&sweep).unchecked, ["CL-01", "ST-04", "ST-07"]);
    }

    #[test]
    fn an_empty_sweep_passes_nothing() {
        let mut sweep = curve();
        sweep.points.clear();
        assert_eq!(judge_sweep(&sweep).unchecked.len(), rules().len());
    }
}
