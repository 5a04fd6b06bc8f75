//! ER-06: byte counts that do not match.

use crate::facts::kernel::is_server_here;
use crate::facts::{observed, slots};
use crate::{Check, Outcome, Rule};
use model::human::bytes;
use model::{Body, Evidence, FindingState};

const LOW: f64 = 0.98;
const HIGH: f64 = 1.2;
/// Headers may differ by so much from one response to the next.
const HEADERS_BYTES: f64 = 64.0;
/// With more failures among them the mean is that of something else.
const FAILED_SHARE: f64 = 0.01;
const RESPONSES_MIN: u64 = 100;
/// Interface counters are sampled slightly before or after the window.
const INTERFACES_LOW: f64 = 0.9;

pub(crate) const RULE: Rule = Rule {
    id: "ER-06",
    title: "byte counts do not match",
    detects: "responses of another mean size than the probe's, or bytes that bypassed the network interfaces",
    threshold: "mean bytes per response < 0.98 or > 1.2 times the probe's, headers of 64 bytes aside, or interfaces \
                received < 0.9 of the client's count: invalid (plimsoll defaults; comparing bytes with N x M: \
                TechEmpower #7402)",
    data: "bytes received, size of the probe's response; one request with responses of stable size",
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
    let Some((low, high)) = probed(evidence) else {
        return Outcome::Unchecked("no stable response size from the probe");
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
        return Outcome::Pass;
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
    let counters = &observed(evidence).filter(|_| !is_server_here(evidence))?.counters;
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
    use crate::testing::{Mutate, clean_run, far_away, finding, set_counter};

    #[test]
    fn a_body_that_shrinks_or_grows_under_load_invalidates() {
        let mut evidence = clean_run();
        evidence.flow.bytes_received = 200 * 1_000_000;
        let found = finding(check(&evidence));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.message.starts_with("200 B per response on average, 1,200 B in the probe"), "{found:?}");
        evidence.flow.bytes_received = 1_600 * 1_000_000;
        assert!(finding(check(&evidence)).message.ends_with("something larger"));
    }

    #[test]
    fn a_header_more_or_less_is_nothing() {
        let mut evidence = clean_run();
        for mean in [1_130, 1_200, 1_400] {
            evidence.flow.bytes_received = mean * 1_000_000;
            assert_eq!(check(&evidence), Outcome::Pass, "{mean}");
        }
    }

    #[test]
    fn what_never_came_through_an_interface_was_not_received() {
        let mut evidence = clean_run();
        far_away(&mut evidence);
        set_counter(&mut evidence, "nic/eth0", "received_bytes", 12_000);
        assert!(finding(check(&evidence)).message.contains("only 12.0 kB came through"));
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
            assert!(matches!(check(&evidence), Outcome::Unchecked(_)));
        }
    }
}
