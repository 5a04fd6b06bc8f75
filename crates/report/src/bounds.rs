//! Bounds: on which side of a number of a result the true one is, and which numbers are not known, by the findings of its
//! verdict.

use model::{
    Bound, DISTURBANCE_RULES, Finding, FindingState, KnownFigure, Quantile, RunRecord, SweepRecord, Verdict,
    VerdictState, bounding,
};

/// A quantile of the response time, which is `ns` by its histogram. None where too few requests lie beyond it, where it was
/// not stored, and without a response.
pub(crate) fn response_quantile(
    verdict: &Verdict,
    quantile: Quantile,
    ns: impl Into<Option<u64>>,
) -> Option<KnownFigure> {
    let known = known_quantile(verdict, quantile, ns.into(), response_bound(verdict, quantile))?;
    // What had no response yet is in no histogram, and may have waited for longer than what the histogram has.
    let at_least_ns = match known.bound {
        Some(Bound::AtLeast) => figure(verdict, bounding::QUANTILE_CUT, &quantile.at_least_figure()).unwrap_or(0.0),
        _ => 0.0,
    };
    Some(KnownFigure { value: known.value.max(at_least_ns), ..known })
}

/// The same of the service time, which begins when the request is sent.
pub(crate) fn service_quantile(verdict: &Verdict, quantile: Quantile, ns: Option<u64>) -> Option<KnownFigure> {
    known_quantile(verdict, quantile, ns, service_bound(verdict, quantile))
}

fn known_quantile(verdict: &Verdict, quantile: Quantile, ns: Option<u64>, bound: Option<Bound>) -> Option<KnownFigure> {
    // No response takes 0 ns.
    let ns = ns.filter(|ns| *ns > 0)?;
    let is_withheld = has_figure(verdict, bounding::QUANTILE_WITHHELD, &quantile.tail_figure());
    (!is_withheld).then(|| KnownFigure { bound, ..KnownFigure::exactly(ns as f64) })
}

/// The side on which the true quantile of the response time is: above where the timeout has cut it, below where most of it may
/// be the client's own send delay. Also of a quantile that is not known.
pub(crate) fn response_bound(verdict: &Verdict, quantile: Quantile) -> Option<Bound> {
    let is_late = || has_figure(verdict, bounding::QUANTILE_DELAYED, &quantile.at_most_figure());
    service_bound(verdict, quantile).or_else(|| is_late().then_some(Bound::AtMost))
}

fn service_bound(verdict: &Verdict, quantile: Quantile) -> Option<Bound> {
    match has_figure(verdict, bounding::QUANTILE_CUT, &quantile.at_least_figure()) {
        true => Some(Bound::AtLeast),
        false => is_disturbed(verdict).then_some(Bound::AtMost),
    }
}

/// True if `rule` has fired with a figure of this name.
fn has_figure(verdict: &Verdict, rule: &str, name: &str) -> bool {
    figure(verdict, rule, name).is_some()
}

/// The figure of this name with which `rule` has fired; none if it has not.
fn figure(verdict: &Verdict, rule: &str, name: &str) -> Option<f64> {
    finding_of(verdict, rule)?.evidence.get(name).copied()
}

/// True if CPU time that was taken makes the numbers bounds.
pub(crate) fn is_disturbed(verdict: &Verdict) -> bool {
    DISTURBANCE_RULES.iter().any(|rule| is_bound_by(verdict, rule))
}

/// True if the goodput is only a lower bound; that there was no good response is none.
pub(crate) fn is_goodput_bound(record: &RunRecord) -> bool {
    if record.goodput_per_s.value <= 0.0 {
        return false;
    }
    bounding::GOODPUT_AT_LEAST.iter().any(|rule| is_bound_by(&record.verdict, rule)) || is_disturbed(&record.verdict)
}

/// True if the goodput of the peak is only a lower bound: not even that in an invalid sweep, and where there was none.
pub(crate) fn is_peak_bound(record: &SweepRecord) -> bool {
    let is_known =
        record.verdict.state != VerdictState::Invalid && record.peak.is_some_and(|peak| peak.goodput_per_s > 0.0);
    if !is_known {
        return false;
    }
    let is_bound = bounding::PEAK_AT_LEAST.iter().any(|rule| is_bound_by(&record.verdict, rule));
    is_bound || is_disturbed(&record.verdict)
}

/// The finding of `rule`, if it fired.
pub(crate) fn finding_of<'a>(verdict: &'a Verdict, rule: &str) -> Option<&'a Finding> {
    verdict.findings.iter().find(|finding| finding.rule == rule)
}

/// True if `rule` made a number a bound.
pub(crate) fn is_bound_by(verdict: &Verdict, rule: &str) -> bool {
    finding_of(verdict, rule).is_some_and(|finding| finding.state == FindingState::Bound)
}

/// The sign that stands before a value that may be a bound.
pub(crate) fn sign(bound: Option<Bound>) -> &'static str {
    bound.map_or("", Bound::sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(rule: &str) -> Finding {
        let (state, evidence) = (FindingState::Bound, std::collections::BTreeMap::new());
        Finding { rule: rule.to_owned(), state, message: String::new(), remedy: String::new(), evidence }
    }

    /// "goodput >= 0.00/s", of a server that had given no good response.
    #[test]
    fn a_load_without_a_good_response_was_a_lower_bound() {
        let mut run: RunRecord = serde_json::from_str(include_str!("../tests/stored/run")).expect("a run");
        run.verdict.findings = vec![finding(bounding::GOODPUT_AT_LEAST[0])];
        assert!(is_goodput_bound(&run));
        run.goodput_per_s.value = 0.0;
        assert!(!is_goodput_bound(&run));
    }

    #[test]
    fn an_invalid_sweep_claimed_a_lower_bound_of_its_peak() {
        let mut sweep: SweepRecord = serde_json::from_str(include_str!("../tests/stored/sweep")).expect("a sweep");
        sweep.verdict.findings = vec![finding(bounding::PEAK_AT_LEAST[0])];
        sweep.verdict.state = VerdictState::Bound;
        assert!(is_peak_bound(&sweep));
        sweep.verdict.state = VerdictState::Invalid;
        assert!(!is_peak_bound(&sweep));
    }
}
