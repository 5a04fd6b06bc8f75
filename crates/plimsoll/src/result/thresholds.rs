//! From a finished record to what came of the thresholds that it was put to.

use evidence::factors::differences;
use judge::threshold::{SLO, Threshold};
use model::human::time;
use model::{Baseline, KnownFigure, Quantile, ThresholdRecord, ThresholdState, VerdictState};
use report::factors::factors;
use report::figures::figures;
use report::record::AnyRecord;

/// Thresholds as they are told, and the baseline of those that are relative.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Asked {
    pub(crate) conditions: Vec<String>,
    pub(crate) baseline: Option<Baseline>,
}

impl Asked {
    /// The quantiles that conditions are about.
    pub(crate) fn quantiles(&self) -> Vec<Quantile> {
        let conditions = self.conditions.iter().filter_map(|condition| Threshold::parse_all(condition).ok());
        conditions.flatten().filter_map(|threshold| threshold.quantile()).collect()
    }

    /// What comes of each for a result.
    pub(super) fn judge(&self, record: AnyRecord<'_>) -> Vec<ThresholdRecord> {
        if self.conditions.is_empty() {
            return Vec::new();
        }
        let known = figures(record);
        let apart = self.baseline.as_ref().map(|baseline| differences(&factors(record), &baseline.factors));
        let apart = apart.unwrap_or_default();
        let not_whole = match state(record) {
            Some(VerdictState::Invalid) => Some("the result is INVALID"),
            _ if record.is_interrupted() => Some("the result is interrupted"),
            _ => None,
        };
        let one = |condition: &String| match Threshold::parse_all(condition).as_deref() {
            Ok([threshold]) => self.put(threshold, record, known.get(threshold.figure()).copied(), &apart),
            // Events may come from another version.
            _ => unread(condition),
        };
        let of_whole = |one: ThresholdRecord| match not_whole {
            Some(why) => ThresholdRecord { state: ThresholdState::Inconclusive, why: Some(why.to_owned()), ..one },
            None => one,
        };
        self.conditions.iter().map(one).map(of_whole).collect()
    }

    fn put(
        &self,
        threshold: &Threshold,
        of: AnyRecord<'_>,
        known: Option<KnownFigure>,
        apart: &[(String, String, String)],
    ) -> ThresholdRecord {
        let baseline = self.baseline.as_ref().and_then(|baseline| baseline.figures.get(threshold.figure())).copied();
        let record = threshold.judge(known, baseline);
        if !threshold.is_relative() {
            return record;
        }
        let unlike = apart.first().map(|(name, own, other)| {
            format!("not to be compared with the baseline (CP-01): {name}: {own}, not {other}")
        });
        let slo_ns = self.baseline.as_ref().and_then(|baseline| baseline.slo_ns);
        let objective = || (threshold.figure() == SLO).then(|| other_objective(of.slo_ns(), slo_ns)).flatten();
        match unlike.or_else(objective) {
            Some(why) => ThresholdRecord { state: ThresholdState::Inconclusive, why: Some(why), ..record },
            None => record,
        }
    }
}

/// Why shares of requests within an objective are not of the same thing in a result and its baseline; none where they are.
pub(crate) fn other_objective(own_ns: Option<u64>, baseline_ns: Option<u64>) -> Option<String> {
    let shown = |ns: Option<u64>| ns.map_or_else(|| "none".to_owned(), |ns| time(ns as f64));
    (own_ns != baseline_ns)
        .then(|| format!("the baseline has another objective (--slo): {}, not {}", shown(baseline_ns), shown(own_ns)))
}

/// The verdict; none of what takes no thresholds as a whole.
const fn state(record: AnyRecord<'_>) -> Option<VerdictState> {
    match record {
        AnyRecord::Run(record) => Some(record.verdict.state),
        AnyRecord::Sweep(record) => Some(record.verdict.state),
        AnyRecord::Capacity(record) => Some(record.verdict.state),
        AnyRecord::Sweeps(_) | AnyRecord::Compare(_) | AnyRecord::Experiment(_) | AnyRecord::Render(_) => None,
    }
}

fn unread(condition: &str) -> ThresholdRecord {
    ThresholdRecord {
        condition: condition.to_owned(),
        state: ThresholdState::Inconclusive,
        value: None,
        limit: 0.0,
        baseline: None,
        ratio: None,
        why: Some("this plimsoll does not know the condition".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::RunRecord;

    const RUN: &str = include_str!("../../../report/tests/stored/run");

    fn run() -> RunRecord {
        serde_json::from_str(RUN).unwrap()
    }

    fn judged(conditions: &[&str], baseline: Option<&RunRecord>, record: &RunRecord) -> Vec<(ThresholdState, String)> {
        let baseline = baseline.map(|record| Baseline {
            name: "before".into(),
            factors: factors(AnyRecord::Run(record)),
            figures: figures(AnyRecord::Run(record)),
            slo_ns: record.plan.slo_ns,
        });
        let conditions = conditions.iter().map(|one| (*one).to_owned()).collect();
        let records = Asked { conditions, baseline }.judge(AnyRecord::Run(record));
        records.into_iter().map(|one| (one.state, one.why.unwrap_or_default())).collect()
    }

    #[test]
    fn thresholds_are_put_to_the_figures_of_the_record() {
        let states: Vec<_> = judged(&["goodput<900", "p99>1ms", "errors>1%", "rss>1GiB"], None, &run());
        let states: Vec<_> = states.into_iter().map(|(state, _)| state).collect();
        use ThresholdState::{Failed, Inconclusive, Passed};
        assert_eq!(states, [Passed, Failed, Passed, Inconclusive], "1,000/s, 4 ms, 0.1 %, and nobody saw the server");
    }

    /// `slo<-3%` was judged against a baseline whose share was of another objective.
    #[test]
    fn a_share_of_another_objective_is_not_compared() {
        let with = |slo_ms: Option<u64>| {
            let mut record = run();
            record.plan.slo_ns = slo_ms.map(|ms| ms * 1_000_000);
            record.requests.counts.within_slo = record.requests.counts.planned / 2;
            record
        };
        let judged = |own, baseline| judged(&["slo<-3%", "goodput<-3%"], Some(&with(baseline)), &with(own));
        let of_slo = |own, baseline| judged(own, baseline).swap_remove(0);
        assert_eq!(of_slo(Some(200), Some(200)).0, ThresholdState::Passed);
        let (state, why) = of_slo(Some(200), Some(100));
        assert_eq!(state, ThresholdState::Inconclusive);
        assert!(why.contains("another objective (--slo): 100 ms, not 200 ms"), "{why}");
        let other = judged(Some(200), Some(100)).swap_remove(1);
        assert!(!other.1.contains("objective"), "goodput is about no objective: {other:?}");
    }

    #[test]
    fn a_baseline_that_was_measured_otherwise_leaves_changes_open_and_names_the_factor() {
        let mut before = run();
        before.goodput_per_s.value = 1_100.0;
        assert_eq!(judged(&["goodput<-3%"], Some(&before), &run())[0].0, ThresholdState::Failed);
        before.plan.threads = 2;
        let judged = judged(&["goodput<-3%", "goodput<900"], Some(&before), &run());
        assert_eq!((judged[0].0, judged[1].0), (ThresholdState::Inconclusive, ThresholdState::Passed));
        assert_eq!(judged[0].1, "not to be compared with the baseline (CP-01): load threads: 1, not 2");
    }

    #[test]
    fn of_an_invalid_result_and_of_an_unknown_condition_nothing_passes() {
        let mut invalid = run();
        invalid.verdict.state = VerdictState::Invalid;
        let cut = RunRecord { interrupted: true, ..run() };
        let of_cut = judged(&["goodput<900"], None, &cut);
        assert_eq!(of_cut, [(ThresholdState::Inconclusive, "the result is interrupted".to_owned())], "it had passed");
        let known = judged(&["goodput<900"], None, &invalid);
        assert_eq!(known, [(ThresholdState::Inconclusive, "the result is INVALID".to_owned())]);
        assert_eq!(judged(&["elegance<3"], None, &run())[0].0, ThresholdState::Inconclusive);
        assert!(judged(&[], None, &run()).is_empty());
    }
}
