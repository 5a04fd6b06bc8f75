//! CL-03: send delay of the client, as a share of the latency.

use crate::facts::may_part_cpus;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::{percent, time};
use model::{Evidence, FindingState, Latencies, LatencySummary};

const WARNING_SHARE: f64 = 0.10;
const BOUND_SHARE: f64 = 0.50;
/// Send delay of a healthy client: the kernel's default timer slack of 50 us, and as much again to be put on a CPU. Below
/// it the finding is a note.
const FLOOR_NS: u64 = 100_000;
/// Time slice of a scheduler, lost where a CPU is shared for a moment. Own delay only adds: beyond it the p99 response
/// time is an upper bound, and the p99 service time, which begins at the actual send, a lower one.
const SLICE_NS: u64 = 1_000_000;
/// Median send delay over median response time. Beyond it the client, not the schedule, chose most send times; requests
/// sent in bunches have no direction of error.
const SYSTEMATIC_SHARE: f64 = 0.50;

pub(crate) const RULE: Rule = Rule {
    id: "CL-03",
    title: "client send delay",
    detects: "The client sent requests later than scheduled, which counts as latency.",
    fires: &[
        Fires::invalid("The median send delay was more than 1 ms and more than 50 % of the median response time."),
        Fires::bound(
            "The p99 of the send delay was more than 1 ms and more than 50 % of the p99 of the response time.",
        ),
        Fires::warning(
            "The p99 of the send delay was at least 100 µs and more than 10 % of the p99 of the response time.",
        ),
        Fires::note(
            "The p99 of the send delay was more than 10 % of the p99 of the response time, but less than 100 µs.",
        ),
    ],
    remarks: "An ordinary wake-up takes up to 100 µs, by the kernel's timer slack and the wait for a CPU; 1 ms is a \
              time slice of the scheduler. LD-01 checks the send times themselves.",
    applies: Applies::OpenLoop,
    needs: &[Need::SendDelays, Need::ResponseTimes],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Latencies { slip_client: slip, response, service, .. } = &evidence.latency;
    if slip.n == 0 || response.n == 0 || response.p99_ns == 0 {
        return Outcome::Unchecked("no send delay or no response time recorded");
    }
    // Requests that failed have a send delay and no response time.
    let share = (slip.p99_ns as f64 / response.p99_ns as f64).min(1.0);
    let Some(state) = state_of(slip, response, share) else { return Outcome::Pass };
    let is_upper = share > BOUND_SHARE && slip.p99_ns >= FLOOR_NS;
    let remedy = match (state, evidence.plan.spin_ns) {
        (FindingState::Note, _) => "none needed: ordinary wake-up delay, excluded from the service time",
        (_, 0) if may_part_cpus(evidence) => {
            "busy-wait before sends (--spin 500us) on dedicated CPUs, or use a quieter client machine"
        }
        (_, 0) => "use another machine for the client, or a quieter one",
        (FindingState::Warning, _) => "use more load threads (-t) or a quieter client machine",
        _ => "use more load threads (-t), a lower rate or a quieter client machine",
    };
    let mut figures =
        vec![("slip_client_p99_ns", slip.p99_ns as f64), ("response_p99_ns", response.p99_ns as f64), ("share", share)];
    if state == FindingState::Invalid {
        figures.push(("slip_client_p50_ns", slip.p50_ns as f64));
    } else if is_upper {
        figures.push(("p99_at_most_ns", response.p99_ns as f64));
        figures.push(("service_p99_ns", service.p99_ns as f64));
    }
    let message = message(state, &evidence.latency, share, is_upper);
    Outcome::fired(RULE.id, state, message, remedy.to_owned(), figures)
}

/// State of the finding; none if the rule does not fire.
fn state_of(slip: &LatencySummary, response: &LatencySummary, share: f64) -> Option<FindingState> {
    let is_systematic = slip.p50_ns > SLICE_NS && slip.p50_ns as f64 > SYSTEMATIC_SHARE * response.p50_ns as f64;
    match share {
        _ if is_systematic => Some(FindingState::Invalid),
        s if s <= WARNING_SHARE => None,
        _ if slip.p99_ns < FLOOR_NS => Some(FindingState::Note),
        s if s > BOUND_SHARE && slip.p99_ns > SLICE_NS => Some(FindingState::Bound),
        _ => Some(FindingState::Warning),
    }
}

fn message(state: FindingState, latency: &Latencies, share: f64, is_upper: bool) -> String {
    let Latencies { slip_client: slip, response, service, .. } = latency;
    let ns = |ns: u64| time(ns as f64);
    if state == FindingState::Invalid {
        return format!(
            "median send delay {} of a median response time of {}: the schedule was not kept",
            ns(slip.p50_ns),
            ns(response.p50_ns)
        );
    }
    let (slip, late_share, p99) = (ns(slip.p99_ns), percent(share), ns(response.p99_ns));
    let facts = format!("p99 send delay {slip}, {late_share} of the p99 response time of {p99}");
    match is_upper && service.n > 0 {
        true => format!("{facts}: the true p99 is between {} (service time) and {p99}", ns(service.p99_ns)),
        false => facts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_open_run, clean_run, finding, judged, state};

    fn with_slip(slip_p99_ns: u64, response_p99_ns: u64) -> Outcome {
        let mut evidence = clean_open_run();
        evidence.latency.slip_client.p99_ns = slip_p99_ns;
        evidence.latency.response.p99_ns = response_p99_ns;
        evidence.latency.service.p99_ns = response_p99_ns - slip_p99_ns;
        judged(&RULE, &evidence)
    }

    #[test]
    fn fires_by_its_share_of_the_p99() {
        assert_eq!(state(&with_slip(400_000, 4_000_000)), None);
        assert_eq!(state(&with_slip(420_000, 4_000_000)), Some(FindingState::Warning));
        assert_eq!(state(&with_slip(2_100_000, 4_000_000)), Some(FindingState::Bound));
    }

    #[test]
    fn below_the_floor_it_is_a_note_and_below_a_time_slice_a_warning() {
        assert_eq!(state(&with_slip(20_000, 40_000)), Some(FindingState::Note));
        assert_eq!(state(&with_slip(99_000, 100_000)), Some(FindingState::Note));
        assert_eq!(state(&with_slip(100_000, 110_000)), Some(FindingState::Warning));
        assert_eq!(state(&with_slip(1_000_000, 1_100_000)), Some(FindingState::Warning));
        assert_eq!(state(&with_slip(1_000_001, 1_100_000)), Some(FindingState::Bound));
    }

    #[test]
    fn lateness_has_a_direction_and_both_ends_are_told() {
        let found = finding(with_slip(2_100_000, 4_000_000));
        let end = "of 4.00 ms: the true p99 is between 1.90 ms (service time) and 4.00 ms";
        assert!(found.message.ends_with(end), "{}", found.message);
        assert_eq!((found.evidence["p99_at_most_ns"], found.evidence["service_p99_ns"]), (4e6, 1.9e6));
        let small = finding(with_slip(600_000, 1_100_000));
        assert!(small.evidence.contains_key("p99_at_most_ns"), "a warning says it as well");
        assert!(!finding(with_slip(420_000, 4_000_000)).evidence.contains_key("p99_at_most_ns"));
    }

    #[test]
    fn only_a_schedule_that_was_not_kept_at_all_is_invalid() {
        let with_medians = |slip_ns: u64, response_ns: u64| {
            let mut evidence = clean_open_run();
            (evidence.latency.slip_client.p50_ns, evidence.latency.response.p50_ns) = (slip_ns, response_ns);
            judged(&RULE, &evidence)
        };
        assert_eq!(state(&with_medians(900_000, 1_000_000)), None, "less than a time slice; the p99 decides");
        assert_eq!(state(&with_medians(2_000_000, 4_000_000)), None);
        let found = finding(with_medians(2_100_000, 4_000_000));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.message.contains("median send delay 2.10 ms"), "{}", found.message);
        assert!(!found.evidence.contains_key("p99_at_most_ns"));
    }

    #[test]
    fn a_closed_loop_has_no_schedule_and_no_data_is_unchecked() {
        assert_eq!(judged(&RULE, &clean_run()), Outcome::Pass);
        assert_eq!(judged(&RULE, &clean_open_run()), Outcome::Pass);
        let mut evidence = clean_open_run();
        evidence.latency.slip_client.n = 0;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
