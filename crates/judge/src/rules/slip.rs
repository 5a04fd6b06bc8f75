//! CL-03: how much of the latency is our own lateness?

use crate::{Check, Outcome, Rule};
use model::human::{percent, time};
use model::{Evidence, FindingState};

const WARNING_SHARE: f64 = 0.10;
const INVALID_SHARE: f64 = 0.50;
/// Slip that a healthy client shows anyway: the kernel's default timer slack of 50 us and as much again to be put on
/// a CPU. Below it the finding is a note: the share is still told, but nothing is wrong with the run.
const FLOOR_NS: u64 = 100_000;

pub(crate) const RULE: Rule = Rule {
    id: "CL-03",
    title: "requests sent late",
    detects: "a client that sends later than its schedule says, so that its own lateness is counted as latency",
    threshold: "p99 of the client's slip > 10 % of the p99 response time: warning; > 50 %: invalid (own thresholds); \
                a slip below 100 us, the kernel's timer slack and one wake-up, is a note",
    data: "an open loop; histograms of slip and response time",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    if evidence.plan.load.is_closed() {
        return Outcome::Pass; // no schedule, nothing to be late for
    }
    let (slip, response) = (&evidence.latency.slip_client, &evidence.latency.response);
    if slip.n == 0 || response.n == 0 || response.p99_ns == 0 {
        return Outcome::Unchecked("no slip or no response time was recorded");
    }
    let share = slip.p99_ns as f64 / response.p99_ns as f64;
    let state = match share {
        s if s <= WARNING_SHARE => return Outcome::Pass,
        _ if slip.p99_ns < FLOOR_NS => FindingState::Note,
        s if s <= INVALID_SHARE => FindingState::Warning,
        _ => FindingState::Invalid,
    };
    let message = format!(
        "the client sent {} late (p99), {} of the p99 response time of {}",
        time(slip.p99_ns as f64),
        percent(share),
        time(response.p99_ns as f64)
    );
    let remedy = match (state, evidence.plan.spin_ns) {
        (FindingState::Note, _) => "an ordinary wake-up; the service time does not contain it",
        (_, 0) => "keep the load threads awake (--spin 500us) on CPUs of their own, or use a quieter client machine",
        (FindingState::Warning, _) => "use more load threads (-t) or a quieter client machine",
        _ => "use more load threads (-t), a lower rate or a quieter client machine",
    };
    let figures =
        [("slip_client_p99_ns", slip.p99_ns as f64), ("response_p99_ns", response.p99_ns as f64), ("share", share)];
    Outcome::fired(RULE.id, state, message, remedy.to_owned(), figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_open_run, clean_run, state};

    fn with_slip(slip_p99_ns: u64, response_p99_ns: u64) -> Outcome {
        let mut evidence = clean_open_run();
        evidence.latency.slip_client.p99_ns = slip_p99_ns;
        evidence.latency.response.p99_ns = response_p99_ns;
        check(&evidence)
    }

    #[test]
    fn fires_by_its_share_of_the_p99() {
        assert_eq!(state(&with_slip(400_000, 4_000_000)), None);
        assert_eq!(state(&with_slip(420_000, 4_000_000)), Some(FindingState::Warning));
        assert_eq!(state(&with_slip(2_100_000, 4_000_000)), Some(FindingState::Invalid));
    }

    #[test]
    fn below_the_floor_it_is_a_note() {
        assert_eq!(state(&with_slip(20_000, 40_000)), Some(FindingState::Note));
        assert_eq!(state(&with_slip(99_000, 100_000)), Some(FindingState::Note));
        assert_eq!(state(&with_slip(100_000, 110_000)), Some(FindingState::Invalid));
    }

    #[test]
    fn a_closed_loop_has_no_schedule_and_no_data_is_unchecked() {
        assert_eq!(check(&clean_run()), Outcome::Pass);
        assert_eq!(check(&clean_open_run()), Outcome::Pass);
        let mut evidence = clean_open_run();
        evidence.latency.slip_client.n = 0;
        assert!(matches!(check(&evidence), Outcome::Unchecked(_)));
    }
}
