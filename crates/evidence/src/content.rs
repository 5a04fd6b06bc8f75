//! Content of bodies, of which one in [`model::BODY_SAMPLE_EVERY`] is checked: what that says of the others.

use model::{Contract, Estimate, Evidence};
use stats::share_interval;

/// Failures that only a response whose content is checked can have.
const BREACHES: [&str; 2] = ["contract.body", "contract.hash"];

/// The part of the responses counted as good that is good, with its 95 % interval; 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct GoodPart {
    value: f64,
    low: f64,
    high: f64,
}

/// Responses that are counted as good and, as far as the checked ones tell, have a wrong content; an estimate, 0 where none of
/// the checked ones had.
#[must_use]
pub fn unseen_wrong(evidence: &Evidence) -> f64 {
    unchecked(evidence) * share(evidence).map_or(0.0, |(wrong, of)| wrong as f64 / of as f64)
}

/// None where nothing was found wrong: all that is counted as good is taken as good.
pub(crate) fn good_part(evidence: &Evidence) -> Option<GoodPart> {
    let (wrong, of) = share(evidence)?;
    let (low, high) = share_interval(wrong, of);
    let counted = evidence.cohort.counts.good as f64;
    let unchecked = unchecked(evidence);
    let part = |wrong_share: f64| if counted > 0.0 { 1.0 - unchecked * wrong_share / counted } else { 1.0 };
    Some(GoodPart { value: part(wrong as f64 / of as f64), low: part(high), high: part(low) })
}

impl GoodPart {
    /// `per_s` counted as good, without those that are not.
    pub(crate) const fn of(self, per_s: f64) -> f64 {
        per_s * self.value
    }

    /// The same with its interval: both are uncertain, each by itself.
    pub(crate) fn of_estimate(self, counted: Estimate) -> Estimate {
        let value = self.of(counted.value);
        let apart = |own: f64, part: f64| (self.of(own)).hypot(counted.value * part);
        Estimate {
            value,
            low: counted.low.map(|low| (value - apart(counted.value - low, self.value - self.low)).max(0.0)),
            high: counted.high.map(|high| value + apart(high - counted.value, self.high - self.value)),
            n: counted.n,
        }
    }
}

/// Wrong ones among the responses whose content was checked, and these; none where no content was found wrong.
fn share(evidence: &Evidence) -> Option<(u64, u64)> {
    let cohort = &evidence.cohort;
    let wrong: u64 = BREACHES.iter().filter_map(|name| cohort.failures.get(*name)).sum();
    (wrong > 0).then(|| (wrong.min(cohort.counts.body_checked), cohort.counts.body_checked)).filter(|(_, of)| *of > 0)
}

/// Responses counted as good whose content should have been checked and was not.
fn unchecked(evidence: &Evidence) -> f64 {
    let cohort = &evidence.cohort;
    let asks = |contract: &Contract| contract.body_text.is_some() || contract.body_hash.is_some();
    let weights = |all: bool| {
        let of = evidence.plan.requests.iter().filter(|request| all || asks(&request.contract));
        of.map(|request| f64::from(request.weight)).sum::<f64>()
    };
    let good = if cohort.mix.len() == evidence.plan.requests.len() {
        let of_mix = evidence.plan.contracts().zip(&cohort.mix).filter(|(contract, _)| asks(contract));
        of_mix.map(|(_, counts)| counts.good as f64).sum()
    } else {
        cohort.counts.good as f64 * weights(false) / weights(true).max(1.0)
    };
    let checked_good = share(evidence).map_or(cohort.counts.body_checked, |(wrong, of)| of - wrong);
    (good - checked_good as f64).max(0.0)
}
