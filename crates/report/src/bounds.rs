//! Bounds: on which side of a number of a result the true one is, and which numbers are not known, by the findings of its
//! verdict.

use model::{
    Bound, DISTURBANCE_RULES, Finding, FindingState, KnownFigure, Quantile, RunRecord, SweepRecord, Verdict, bounding,
};

/// A quantile of the response time, which is `ns` by its histogram. None where too few requests lie beyond it, where it was
/// not stored, and without a response.
pub(crate) fn response_quantile(
    verdict: &Verdict,
    quantile: Quantile,
    ns: impl Into<Option<u64>>,
) -> Option<KnownFigure> {
    known_quantile(verdict, quantile, ns.into(), response_bound(verdict, quantile))
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
    finding_of(verdict, rule).is_some_and(|found| found.evidence.contains_key(name))
}

/// True if CPU time that was taken makes the numbers bounds.
pub(crate) fn is_disturbed(verdict: &Verdict) -> bool {
    DISTURBANCE_RULES.iter().any(|rule| is_bound_by(verdict, rule))
}

/// True if the goodput is only a lower bound.
pub(crate) fn is_goodput_bound(record: &RunRecord) -> bool {
    bounding::GOODPUT_AT_LEAST.iter().any(|rule| is_bound_by(&record.verdict, rule)) || is_disturbed(&record.verdict)
}

/// True if the goodput of the peak is only a lower bound.
pub(crate) fn is_peak_bound(record: &SweepRecord) -> bool {
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
