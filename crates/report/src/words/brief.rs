//! A result in one sentence, for readers who stop after it.
//!
//! An invalid result has none: its numbers must not be repeated, and the verdict says why.

use crate::bounds::{is_bound_by, is_disturbed, is_goodput_bound, is_peak_bound, response_quantile};
use crate::words::fact::{About, Fact};
use crate::words::over::Over;
use crate::words::shape::NoKnee;
use model::human::{plural, rate, time};
use model::{
    Bound, CapacityRecord, Confidence, Limiter, Load, Quantile, RunRecord, SweepRecord, Verdict, VerdictState, bounding,
};

const LABEL: &str = "in short";

/// A run in a sentence.
pub(crate) fn of_run(record: &RunRecord) -> Option<Fact> {
    let is_usable = record.verdict.state != VerdictState::Invalid && record.goodput_per_s.value > 0.0;
    is_usable.then(|| Fact::new(About::Summary, LABEL, run(record)))
}

/// A sweep in a sentence.
pub(crate) fn of_sweep(record: &SweepRecord) -> Option<Fact> {
    let is_usable = record.verdict.state != VerdictState::Invalid;
    let text = sweep(record).filter(|_| is_usable)?;
    Some(Fact::new(About::Summary, LABEL, text))
}

/// A capacity in a sentence.
pub(crate) fn of_capacity(record: &CapacityRecord) -> Option<Fact> {
    let is_usable = record.verdict.state != VerdictState::Invalid;
    let text = capacity(record).filter(|_| is_usable)?;
    Some(Fact::new(About::Summary, LABEL, text))
}

fn run(record: &RunRecord) -> String {
    let at_least = if is_goodput_bound(record) { "at least " } else { "" };
    let given = format!("the server gave {at_least}{} good responses per second", number(record.goodput_per_s.value));
    let given = match record.plan.load {
        Load::Closed { connections } => format!("With {}, {given}", plural(u64::from(connections), "connection")),
        Load::Open { rate_per_s, .. } => format!("Asked for {} requests per second, {given}", number(rate_per_s)),
    };
    let response = &record.latency_ns.response;
    let within = |quantile: Quantile, share: &str| {
        let known = response_quantile(&record.verdict, quantile, quantile.of(response))?;
        let sign = if known.bound == Some(Bound::AtLeast) { "in no less than" } else { "within" };
        Some(format!(", {share} of the responses {sign} {}", time(known.value)))
    };
    let latency = within(Quantile::P99, "99 %").or_else(|| within(Quantile::P50, "half")).unwrap_or_default();
    format!("{given}{latency}{}.{}", limit(record.limiter.as_ref()), why_bound(&record.verdict))
}

fn sweep(record: &SweepRecord) -> Option<String> {
    let peak = record.peak.filter(|peak| peak.goodput_per_s > 0.0)?;
    let (most, place) = (number(peak.goodput_per_s), Over::of(record).place(peak.load));
    let text = if NoKnee::is_beyond(record) {
        format!(
            "The server can give more than {most} good responses per second: their rate was still rising at the highest \
             load, {place}."
        )
    } else {
        let limit = limit(record.limiter.as_ref());
        match is_peak_bound(record) {
            true => format!("The server gave at least {most} good responses per second, at {place}{limit}."),
            false => {
                format!("The server gave {most} good responses per second at {place}, and hardly more beyond{limit}.")
            }
        }
    };
    Some(format!("{text}{}", why_bound(&record.verdict)))
}

fn capacity(record: &CapacityRecord) -> Option<String> {
    let goal = record.goal.replace(',', ", ");
    let met = |per_s: f64| format!("The server met the goal ({goal}) at {} requests per second", number(per_s));
    match (record.capacity.low, record.capacity.high) {
        (Some(low), Some(high)) => {
            let limit = limit(record.limiter.as_ref());
            // Trials scatter where the queue begins to grow: each end is what most of its trials say.
            let how = match record.capacity.low_confirmed && record.capacity.high_confirmed {
                true => "and in most trials no longer at",
                false => "and, as far as was tested, no longer at",
            };
            Some(format!("{}, {how} {}{limit}.", met(low), number(high)))
        }
        (Some(low), None) => Some(format!("{}, the highest rate that was tried.", met(low))),
        (None, Some(high)) => {
            let per_s = number(high);
            Some(format!("The server missed the goal ({goal}) at {per_s} requests per second, the lowest rate tried."))
        }
        (None, None) => None,
    }
}

/// A rate without its unit.
fn number(per_s: f64) -> String {
    rate(per_s).trim_end_matches("/s").to_owned()
}

/// What stops the server, as the end of a sentence; empty where nothing is named.
fn limit(limiter: Option<&Limiter>) -> String {
    let Some(limiter) = limiter.filter(|limiter| !limiter.resource.is_empty()) else { return String::new() };
    let sure = match limiter.confidence {
        Confidence::Low => " perhaps",
        Confidence::Medium => " probably",
        Confidence::High | Confidence::Confirmed => "",
    };
    let resource = match limiter.resource.as_str() {
        requests if requests.starts_with("requests at a time") => format!("number of {requests}"),
        resource => resource.to_owned(),
    };
    let resource = resource.as_str();
    let verb = if is_several(resource) { "are" } else { "is" };
    format!(";{sure} the {resource} {verb} the limit")
}

/// True of the name of several things: `php-fpm workers`, `locks of mariadbd`.
fn is_several(resource: &str) -> bool {
    let one = ["thread ", "link ", "rate ", "number "].iter().any(|one| resource.starts_with(one));
    !one && resource.split(" of ").next().is_some_and(|head| head.ends_with('s'))
}

/// Why the true value may be better, where that is known in a few words.
fn why_bound(verdict: &Verdict) -> &'static str {
    if is_bound_by(verdict, bounding::SHARED_CPUS) {
        " Client and server shared CPUs, so that the server by itself may do more."
    } else if is_disturbed(verdict) {
        " Other programs took CPU time, so that the server by itself may do more."
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_ends_a_sentence_as_surely_as_it_is_known() {
        let of = |resource: &str, confidence| {
            limit(Some(&Limiter { resource: resource.to_owned(), confidence, ..Limiter::default() }))
        };
        assert_eq!(of("php-fpm workers", Confidence::High), "; the php-fpm workers are the limit");
        assert_eq!(of("locks of mariadbd", Confidence::Medium), "; probably the locks of mariadbd are the limit");
        assert_eq!(of("thread redis", Confidence::Low), "; perhaps the thread redis is the limit");
        let requests = "; probably the number of requests at a time is the limit";
        assert_eq!(of("requests at a time", Confidence::Medium), requests);
        assert_eq!(of("", Confidence::High), "");
        assert_eq!(limit(None), "");
    }
}
