//! ER-06: byte counts that do not match.

use crate::facts::kernel::is_one_machine;
use crate::facts::{client_machine, slots};
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::bytes;
use model::{Body, Evidence, FindingState, NS_PER_S};
use stats::{mean, trend};

const LOW: f64 = 0.98;
const HIGH: f64 = 1.2;
/// Headers may differ by so much from one response to the next.
const HEADERS_BYTES: f64 = 64.0;
/// With more failures among them the mean is that of something else.
const FAILED_SHARE: f64 = 0.01;
const RESPONSES_MIN: u64 = 100;
/// Interface counters are sampled slightly before or after the window.
const INTERFACES_LOW: f64 = 0.9;

/// Change of the mean size in the window that is one, as a share and in bytes: a counter in a page gains a digit.
const DRIFT_SHARE: f64 = 0.005;
const DRIFT_BYTES: f64 = 4.0;
const T_MIN: f64 = 5.0;
/// A straight line has no end of it.
const T_SHOWN: f64 = 1e6;
const SECONDS_MIN: usize = 5;

pub(crate) const RULE: Rule = Rule {
    id: "ER-06",
    title: "byte counts do not match",
    detects: "Responses had another mean size than the probe's, grew or shrank in the window, or bypassed the \
              network interfaces.",
    fires: &[
        Fires::invalid(
            "The mean response was smaller than 98 % or larger than 120 % of the probe's, by more than 64 bytes \
             beyond that for headers; or the client's network interfaces received less than 90 % of the counted \
             bytes.",
        ),
        Fires::warning(
            "From the first to the last second the mean size of a response changed by more than 0.5 % and by more \
             than 4 bytes, in one direction over the thirds of the window, with a t value of more than 5.",
        ),
    ],
    remarks: "Responses that are under way at either end of the window are allowed for. TechEmpower issue #7402 was \
              found by comparing bytes with the number of responses.",
    applies: Applies::Always,
    needs: &[Need::Requests, Need::Plan, Need::WhereKnown(&[Need::Probe])],
    conditions: "at least 100 responses with at most 1 % of failures; one request with responses of a stable size \
                 that the probe knows, or at least 5 seconds for a change",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let n = evidence.flow.completed;
    if n < RESPONSES_MIN || evidence.flow.failed as f64 > FAILED_SHARE * n as f64 {
        return Outcome::Unchecked("too few good responses for a mean size");
    }
    if evidence.plan.requests.len() > 1 || evidence.plan.requests.iter().any(|request| request.template) {
        return Outcome::Unchecked("different requests have responses of different sizes");
    }
    let drift = drift(evidence);
    let Some((low, high)) = probed(evidence) else {
        return drift.unwrap_or(Outcome::Unchecked("no stable response size from the probe"));
    };
    if let Some(unseen) = unseen_by_interfaces(evidence) {
        return unseen;
    }
    let mean = evidence.flow.bytes_received as f64 / n as f64;
    // Of the responses under way at either end of the window a part is counted.
    let straddling = slots(evidence) / n as f64;
    let too_small = mean < (LOW - straddling) * low - HEADERS_BYTES;
    let too_large = mean > (HIGH + straddling) * high + HEADERS_BYTES;
    if !too_small && !too_large {
        return drift.unwrap_or(Outcome::Pass);
    }
    let (than, probe) = if too_small { ("smaller", low) } else { ("larger", high) };
    let message = format!(
        "{} per response on average, {} in the probe: under load the server sends something {than}",
        bytes(mean.round() as u64),
        bytes(probe as u64)
    );
    let remedy = "inspect responses under load; declare their content: --expect size=MIN..MAX or body~TEXT";
    let figures = [("bytes_per_response", mean), ("probe_bytes", probe)];
    Outcome::fired(RULE.id, FindingState::Invalid, message, remedy.to_owned(), figures)
}

/// A finding when responses grow or shrink from second to second, be it within the bounds that were declared.
fn drift(evidence: &Evidence) -> Option<Outcome> {
    let whole = evidence.seconds.iter().filter(|second| second.length_ns >= NS_PER_S / 2 && second.completed > 0);
    let sizes: Vec<f64> = whole.map(|second| second.bytes_received as f64 / second.completed as f64).collect();
    if sizes.len() < SECONDS_MIN || evidence.iterations > 1 {
        return None;
    }
    let (slope, t) = trend(&sizes)?;
    let change = slope * (sizes.len() - 1) as f64;
    let middle = mean(&sizes);
    let (first, last) = (middle - change / 2.0, middle + change / 2.0);
    let third = sizes.len().div_ceil(3);
    let thirds: Vec<f64> = sizes.chunks(third).map(mean).collect();
    // What grows grows all the time; responses that straddle the end of a second come and go.
    let has_direction = thirds.is_sorted() || thirds.iter().rev().is_sorted();
    let is_much = change.abs() > DRIFT_SHARE * middle && change.abs() > DRIFT_BYTES;
    if !is_much || t.abs() <= T_MIN || !has_direction {
        return None;
    }
    let message = format!(
        "responses {} in the window, from {} to {} each: a later request is another one",
        if change > 0.0 { "grew" } else { "shrank" },
        bytes(first.round() as u64),
        bytes(last.round() as u64)
    );
    let remedy = "find out what they gather or lose (session, list, cache), and restore it before each measurement";
    let figures = [("first_bytes", first), ("last_bytes", last), ("t", t.clamp(-T_SHOWN, T_SHOWN))];
    Some(Outcome::fired(RULE.id, FindingState::Warning, message, remedy.to_owned(), figures))
}

/// Bytes of the smallest and the largest response of the right status that the probe got.
fn probed(evidence: &Evidence) -> Option<(f64, f64)> {
    let probe = evidence.probe.as_ref().filter(|probe| probe.body != Body::ChangingSize)?;
    let status = evidence.plan.requests.first()?.contract.status;
    let fits = |of: u16| status.map_or_else(|| (200..300).contains(&of), |status| status == of);
    let sizes = probe.fetches.iter().filter(|fetch| fits(fetch.status)).map(|fetch| fetch.received_bytes as f64);
    let (low, high) = sizes.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), n| (low.min(n), high.max(n)));
    (low > 0.0 && low.is_finite()).then_some((low, high))
}

/// A finding when less came through the interfaces of this machine than the client says to have received.
fn unseen_by_interfaces(evidence: &Evidence) -> Option<Outcome> {
    let counters = &client_machine(evidence).filter(|_| !is_one_machine(evidence))?.counters;
    let nics = counters.iter().filter(|(part, _)| part.starts_with("nic/") && *part != "nic/lo");
    let seen: u64 = nics.filter_map(|(_, counters)| counters.get("received_bytes")).sum();
    let own = evidence.flow.bytes_received;
    if seen == 0 || seen as f64 >= INTERFACES_LOW * own as f64 {
        return None;
    }
    let message = format!(
        "{} of responses counted, but only {} came through this machine's network interfaces",
        bytes(own),
        bytes(seen)
    );
    let remedy = "find out what answers: perhaps a proxy on this machine".to_owned();
    let figures = [("bytes_received", own as f64), ("interfaces_bytes", seen as f64)];
    Some(Outcome::fired(RULE.id, FindingState::Invalid, message, remedy, figures))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Mutate, clean_run, far_away, finding, judged, set_counter};

    #[test]
    fn a_body_that_shrinks_or_grows_under_load_invalidates() {
        let mut evidence = clean_run();
        evidence.flow.bytes_received = 200 * 1_000_000;
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.message.starts_with("200 B per response on average, 1,200 B in the probe"), "{found:?}");
        evidence.flow.bytes_received = 1_600 * 1_000_000;
        assert!(finding(judged(&RULE, &evidence)).message.ends_with("something larger"));
    }

    /// Responses of these sizes, second by second.
    fn sized(size: impl Fn(u64) -> u64) -> Evidence {
        let mut evidence = clean_run();
        for (i, second) in (0..).zip(&mut evidence.seconds) {
            second.bytes_received = second.completed * size(i) + second.completed * (i % 3) / 100;
        }
        evidence
    }

    /// A byte more for each 1,000 requests, and within the size that was declared.
    #[test]
    fn a_body_that_grows_in_the_window_is_told() {
        let found = finding(judged(&RULE, &sized(|i| 1_200 + 33 * i / 8)));
        assert_eq!(found.state, FindingState::Warning);
        assert!(found.message.starts_with("responses grew in the window, from 1,200 B to 1,319 B each"), "{found:?}");
        assert!(finding(judged(&RULE, &sized(|i| 1_400 - 4 * i))).message.starts_with("responses shrank"));
        let mut unprobed = sized(|i| 1_200 + 4 * i);
        unprobed.probe = None;
        assert!(finding(judged(&RULE, &unprobed)).message.starts_with("responses grew"));
    }

    #[test]
    fn sizes_that_vary_without_a_direction_pass() {
        let all: [fn(u64) -> u64; 4] =
            [|_| 1_200, |i| 1_150 + 100 * (i % 2), |i| 1_200 + i / 10, |i| 1_200 + 40 * u64::from(i == 20)];
        for size in all {
            assert_eq!(judged(&RULE, &sized(size)), Outcome::Pass);
        }
        let mut short = sized(|i| 1_200 + 4 * i);
        short.seconds.truncate(4);
        assert_eq!(judged(&RULE, &short), Outcome::Pass);
    }

    #[test]
    fn a_header_more_or_less_is_nothing() {
        let mut evidence = clean_run();
        for mean in [1_130, 1_200, 1_400] {
            evidence.flow.bytes_received = mean * 1_000_000;
            assert_eq!(judged(&RULE, &evidence), Outcome::Pass, "{mean}");
        }
    }

    #[test]
    fn what_never_came_through_an_interface_was_not_received() {
        let mut evidence = clean_run();
        far_away(&mut evidence);
        set_counter(&mut evidence, "nic/eth0", "received_bytes", 12_000);
        assert!(finding(judged(&RULE, &evidence)).message.contains("only 12.0 kB came through"));
    }

    #[test]
    fn answers_that_differ_by_themselves_are_unchecked() {
        for mutate in [
            |evidence: &mut Evidence| evidence.probe = None,
            |evidence: &mut Evidence| evidence.probe.as_mut().expect("a probe").body = Body::ChangingSize,
            |evidence: &mut Evidence| evidence.plan.requests[0].template = true,
            |evidence: &mut Evidence| evidence.fail("contract.status", 20_000),
        ] {
            let mut evidence = clean_run();
            mutate(&mut evidence);
            assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
        }
    }
}
