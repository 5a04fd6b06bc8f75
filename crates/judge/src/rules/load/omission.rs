//! LD-02: coordinated omission.

use crate::facts::whole_load::whole_load;
use crate::facts::{slots, slowest_of_mix_ns, undisturbed_per_s};
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{percent, time};
use model::{Evidence, FindingState, NS_PER_S};

const WARNING: f64 = 1.5;
const BOUND: f64 = 3.0;
/// A second with less than this share of the typical goodput has a pause in it.
const PAUSE_SHARE: f64 = 0.7;
/// A pause is in the service times: the longest is this share of what is missing in that second, or more.
const WAITED_SHARE: f64 = 0.5;
/// Shorter ticks are pieces of a second.
const TICK_MIN_NS: u64 = NS_PER_S * 9 / 10;
const SECONDS_MIN: usize = 5;

pub(crate) const RULE: Rule = Rule {
    id: "LD-02",
    title: "coordinated omission",
    detects: "The server paused, and the latencies hide it because a closed loop sends nothing while it waits.",
    fires: &[
        Fires::bound(
            "The corrected p99 of a closed loop was more than 3 times its plain p99, and a second shows the pause.",
        ),
        Fires::warning(
            "The corrected p99 of a closed loop was more than 1.5 times its plain p99, and a second shows the pause.",
        ),
        Fires::note("The p99 response time of an open loop was more than 1.5 times its p99 service time."),
    ],
    remarks: "The p99 is corrected as HdrHistogram does it. A second shows a pause if its undisturbed part had less \
              than 70 % of the median goodput, and a request waited for at least half of the time that is missing \
              there, as no request of a mix usually does. In a sweep the state is WARNING at most.",
    applies: Applies::Always,
    needs: &[Need::ServiceTimes, Need::Requests, Need::Plan],
    conditions: "at least 5 whole seconds",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    if evidence.latency.service.p99_ns == 0 {
        return Outcome::Unchecked("service times below the resolution of the histogram");
    }
    if evidence.plan.load.is_closed() { closed(evidence) } else { open(evidence) }
}

fn closed(evidence: &Evidence) -> Outcome {
    let (plain, corrected) = (evidence.latency.service.p99_ns as f64, evidence.latency.corrected_p99_ns as f64);
    let ratio = corrected / plain;
    let state = match ratio {
        r if r <= WARNING => return Outcome::Pass,
        r if r <= BOUND => FindingState::Warning,
        _ => FindingState::Bound,
    };
    let Some(lowest) = lowest_second(evidence) else {
        return Outcome::Unchecked("fewer than 5 whole seconds");
    };
    let missing_ns = (1.0 - lowest) * NS_PER_S as f64;
    // Of a mix with a request that takes as long, a second may have many of these.
    let is_usual = slowest_of_mix_ns(evidence) as f64 >= WAITED_SHARE * missing_ns;
    if lowest >= PAUSE_SHARE || longest_ns(evidence) < WAITED_SHARE * missing_ns || is_usual {
        return Outcome::Pass;
    }
    let message = format!(
        "the server paused: the worst second had {} of the usual goodput while only {:.0} requests waited; independent \
         users would see a p99 of {}, not {}",
        percent(lowest),
        slots(evidence),
        time(corrected),
        time(plain)
    );
    let remedy = "check the server's log for that second (run.json, seconds); measure latency with -R".to_owned();
    let figures = [("corrected_p99_ns", corrected), ("p99_ns", plain), ("ratio", ratio), ("lowest_second", lowest)];
    Outcome::fired(RULE.id, state, message, remedy, figures)
}

/// Longest service time of the whole window: one that waited out a pause may be set aside for a disturbance besides. ns
fn longest_ns(evidence: &Evidence) -> f64 {
    let whole_ns = evidence.disturbance.as_ref().map_or(0, |seen| seen.whole.service_ns.max);
    evidence.latency.service.max_ns.max(whole_ns) as f64
}

fn open(evidence: &Evidence) -> Outcome {
    let (service, response) = (evidence.latency.service.p99_ns as f64, evidence.latency.response.p99_ns as f64);
    if response <= WARNING * service {
        return Outcome::Pass;
    }
    let message = format!(
        "the p99 is {} from the scheduled send time, only {} from the actual one: requests waited before they were \
         sent",
        time(response),
        time(service)
    );
    let remedy = "quote the response time; the service time excludes that wait".to_owned();
    let figures = [("response_p99_ns", response), ("service_p99_ns", service), ("ratio", response / service)];
    Outcome::fired(RULE.id, FindingState::Note, message, remedy, figures)
}

/// Goodput of the worst whole second as a share of the median; of a second that was disturbed in part, of the rest of it.
fn lowest_second(evidence: &Evidence) -> Option<f64> {
    let whole = whole_load(evidence).filter(|second| second.length_ns >= TICK_MIN_NS);
    let mut per_s: Vec<f64> = whole.filter_map(|second| undisturbed_per_s(evidence, second)).collect();
    per_s.sort_by(f64::total_cmp);
    let median = *per_s.get(per_s.len() / 2).filter(|median| per_s.len() >= SECONDS_MIN && **median > 0.0)?;
    Some(per_s[0] / median)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_open_run, clean_run, finding, judged, state};

    fn paused(corrected_p99_ns: u64) -> Evidence {
        let mut evidence = clean_run();
        evidence.latency.corrected_p99_ns = corrected_p99_ns;
        evidence.latency.service.max_ns = 700_000_000;
        evidence.seconds[11].good /= 3;
        evidence
    }

    /// A CPU that others slow down for a second, and a few requests of 20 ms: that was called a pause of the server.
    #[test]
    fn a_mix_with_a_request_as_long_as_a_pause_has_none() {
        let mut evidence = paused(1_100_000_000);
        let of = |completed, ms: u64| model::MixCount {
            completed,
            good: completed,
            response_ns: completed * ms * 1_000_000,
        };
        evidence.cohort.mix = vec![of(99_100, 2), of(900, 3_000)];
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.cohort.mix = vec![of(99_100, 2), of(900, 20)];
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Bound));
    }

    #[test]
    fn a_slow_second_in_which_nobody_waited_is_no_pause() {
        let mut evidence = paused(1_100_000_000);
        evidence.latency.service.max_ns = 21_000_000;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
    }

    #[test]
    fn a_pause_that_the_p99_hides_makes_the_latencies_bounds() {
        let found = finding(judged(&RULE, &paused(1_100_000_000)));
        assert_eq!(found.state, FindingState::Bound);
        let expected = "the server paused: the worst second had 33 % of the usual goodput while only 64 requests \
                        waited; independent users would see a p99 of 1.10 s, not 4.00 ms";
        assert_eq!(found.message, expected);
        assert_eq!(state(&judged(&RULE, &paused(8_000_000))), Some(FindingState::Warning));
        assert_eq!(judged(&RULE, &paused(5_000_000)), Outcome::Pass);
    }

    /// 600 ms of a second were taken by another program: that was called a pause of the server.
    #[test]
    fn what_others_have_taken_is_no_pause_of_the_server() {
        let mut evidence = paused(1_100_000_000);
        evidence.disturbance = Some(Default::default());
        for second in &mut evidence.seconds {
            (second.clean_good, second.clean_ns) = (second.good, second.length_ns);
        }
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Bound), "an undisturbed second has it");
        let second = &mut evidence.seconds[11];
        second.clean_ns = 2 * second.length_ns / 5;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass, "less than half of the second is left");
        let second = &mut evidence.seconds[11];
        (second.clean_good, second.clean_ns) = (second.good * 9 / 5, 3 * second.length_ns / 5);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass, "the rest of it has the usual rate");
    }

    #[test]
    fn slow_requests_without_a_pause_are_none() {
        let mut evidence = paused(1_100_000_000);
        evidence.seconds[11].good *= 3;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.seconds.truncate(4);
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
        evidence.latency.service.n = 0;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }

    #[test]
    fn in_an_open_loop_the_corrected_number_is_the_one_shown() {
        let mut evidence = clean_open_run();
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.latency.response.p99_ns = 40_000_000;
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Note));
    }
}
