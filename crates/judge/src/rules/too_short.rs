//! LD-04: was it long enough?

use crate::rules::PRINTED;
use crate::text::{count, list, rate, round_up, time};
use crate::{Check, Outcome, Rule};
use model::{Evidence, Finding, FindingState, NS_PER_S, Stop};

const INVALID_NS: u64 = 5 * NS_PER_S;
const BOUND_NS: u64 = 30 * NS_PER_S;
/// Requests that must lie beyond a quantile for it to be printed.
const TAIL_MIN: f64 = 100.0;

pub(crate) const RULE: Rule = Rule {
    id: "LD-04",
    title: "too short",
    detects: "a window too short for the goodput, or too few requests for a quantile",
    threshold: "measured < 5 s over all iterations: invalid; < 30 s: bound; n(1 - q) < 100: quantile q not printed, a bound \
                up to p99 and a note for p99.9 (own thresholds)",
    data: "length of the measured windows, number of response times",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let n = evidence.latency.response.n;
    let withheld: Vec<_> = PRINTED
        .iter()
        .map(|(name, key, q)| (*name, *key, n as f64 * (1.0 - q)))
        // Half a request of slack: n(1 - q) is not exact in floating point.
        .filter(|(_, _, tail)| tail + 0.5 < TAIL_MIN)
        .collect();
    let by_time = match evidence.measured_ns {
        ..INVALID_NS => Some(FindingState::Invalid),
        INVALID_NS..BOUND_NS => Some(FindingState::Bound),
        BOUND_NS.. => None,
    };
    let by_quantile = match withheld.first() {
        None => None,
        Some(("p99.9", ..)) => Some(FindingState::Note),
        Some(_) => Some(FindingState::Bound),
    };
    let Some(state) = by_time.max(by_quantile) else { return Outcome::Pass };
    let mut parts = Vec::new();
    if let Some(by_time) = by_time {
        parts.push(time_part(evidence.measured_ns, by_time));
    }
    if !withheld.is_empty() {
        let names: Vec<_> = withheld.iter().map(|(name, ..)| (*name).to_owned()).collect();
        let verb = if names.len() == 1 { "is" } else { "are" };
        let requests = if n == 1 { "request is" } else { "requests are" };
        parts.push(format!("{} {requests} too few for {}, which {verb} not shown", count(n), list(&names)));
    }
    let mut figures = vec![("measured_ns".to_owned(), evidence.measured_ns as f64), ("n".to_owned(), n as f64)];
    figures.extend(withheld.iter().map(|(_, key, tail)| (format!("{key}_tail_n"), *tail)));
    Outcome::Fired(Finding {
        rule: RULE.id.to_owned(),
        state,
        message: parts.join("; "),
        remedy: remedy(evidence, by_time.is_some(), withheld.last().map(|(name, ..)| *name)),
        evidence: figures.into_iter().collect(),
    })
}

fn time_part(measured_ns: u64, state: FindingState) -> String {
    let measured = time(measured_ns as f64);
    if state == FindingState::Invalid {
        format!("measured for {measured} only, less than 5 s: start-up and chance decide such a number")
    } else {
        format!(
            "measured for {measured}, less than 30 s: good for a first look, but what happens rarely may be missing"
        )
    }
}

/// How much more of what the user asked for would do.
fn remedy(evidence: &Evidence, short: bool, quantile: Option<&str>) -> String {
    let seconds = evidence.measured_ns as f64 / NS_PER_S as f64;
    let n = evidence.latency.response.n as f64;
    let per_s = if seconds > 0.0 { n / seconds } else { 0.0 };
    // The most demanding of the withheld quantiles, as far as seconds alone are not the point.
    let wanted = PRINTED.iter().find(|(name, ..)| Some(*name) == quantile);
    let requests = wanted.map_or(0.0, |(_, _, q)| TAIL_MIN / (1.0 - q)).round();
    let enough_s = if per_s > 0.0 { (requests / per_s).max(if short { 30.0 } else { 0.0 }) } else { 30.0 };
    let share = f64::from(evidence.iterations.max(1));
    match evidence.plan.stop {
        Stop::Duration { .. } => {
            let each = (enough_s / share).ceil() as u64;
            let for_what =
                quantile.map_or_else(String::new, |name| format!(", which at {} shows {name} too", rate(per_s)));
            format!("measure longer: -d {each}s{for_what}")
        }
        Stop::Count { .. } => {
            let each = round_up((enough_s * per_s).max(requests) / share);
            format!("ask for more requests: -n {each}, or for a time: -d 30s")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, state};

    fn run(seconds: u64, n: u64) -> Evidence {
        let mut evidence = clean_run();
        evidence.measured_ns = seconds * NS_PER_S;
        evidence.latency.response.n = n;
        evidence
    }

    #[test]
    fn seconds_decide() {
        assert_eq!(state(&check(&run(30, 1_000_000))), None);
        assert_eq!(state(&check(&run(29, 1_000_000))), Some(FindingState::Bound));
        assert_eq!(state(&check(&run(5, 1_000_000))), Some(FindingState::Bound));
        assert_eq!(state(&check(&run(4, 1_000_000))), Some(FindingState::Invalid));
    }

    #[test]
    fn requests_beyond_a_quantile_decide_whether_it_is_shown() {
        assert_eq!(check(&run(30, 100_000)), Outcome::Pass);
        let tail = finding(check(&run(30, 50_000)));
        assert_eq!(tail.state, FindingState::Note);
        assert_eq!(tail.evidence.keys().filter(|key| key.ends_with("_tail_n")).count(), 1);

        let tail = finding(check(&run(30, 9_000)));
        assert_eq!(tail.state, FindingState::Bound);
        assert_eq!(tail.message, "9,000 requests are too few for p99 and p99.9, which are not shown");
        assert_eq!(tail.remedy, "measure longer: -d 334s, which at 300/s shows p99.9 too");
    }

    #[test]
    fn a_run_by_count_is_held_to_the_same_seconds() {
        let mut evidence = run(3, 3_000);
        evidence.plan.stop = Stop::Count { requests: 3_000 };
        let short = finding(check(&evidence));
        assert_eq!(short.state, FindingState::Invalid);
        assert!(short.remedy.contains("-n 100000"), "{}", short.remedy);
    }

    #[test]
    fn nothing_measured_is_invalid() {
        assert_eq!(state(&check(&run(0, 0))), Some(FindingState::Invalid));
    }
}
