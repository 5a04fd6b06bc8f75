//! PH-01: Little's law.

use crate::facts::closes::closes_are_ours;
use crate::facts::{per_iteration, starved};
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::percent;
use model::{Evidence, FindingState, Outstanding, Stop};

const WARNING_OFF: f64 = 0.05;
const INVALID_OFF: f64 = 0.15;
/// Standard errors that a difference may be by chance.
const STANDARD_ERRORS: f64 = 3.0;
/// With fewer requests the edges of the window weigh too much.
const REQUESTS_MIN: u64 = 100;
/// Share of the responses; more requests than that which ended without a service time leave a hole in one side.
const CUT_OFF_SHARE: f64 = 0.01;

pub(crate) const RULE: Rule = Rule {
    id: "PH-01",
    title: "Little's law",
    detects: "The requests in flight differ from rate times service time.",
    fires: &[
        Fires::invalid(
            "The requests in flight differ by more than 15 % from rate times service time, or from the connections \
             that should always be busy.",
        ),
        Fires::bound(
            "In the undisturbed time alone, rate times service time differs by more than 5 % from the connections \
             that should always be busy.",
        ),
        Fires::warning(
            "The requests in flight differ by more than 5 % from rate times service time, or from the connections \
             that should always be busy.",
        ),
    ],
    remarks: "Three standard errors for requests across the ends of the window (Kim and Whitt 2013) are taken off \
              first. All connections should always be busy in a closed loop for a fixed time, with kept connections \
              and without failures.",
    applies: Applies::Always,
    needs: &[Need::Requests, Need::Plan],
    conditions: "at least 100 responses, at most 1 % of requests that were cut off, no early end that leaves 5 % of \
                 the requests in flight without a response, and a standard error small enough to show 5 %",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    match of_window(evidence) {
        Outcome::Fired(finding) if finding.state == FindingState::Invalid => Outcome::Fired(finding),
        of_window => of_undisturbed(evidence).unwrap_or(of_window),
    }
}

/// What the undisturbed time is told with: goodput and response times that contradict each other are no numbers of the server,
/// whatever was set aside. None where they agree as far as chance allows, or it cannot be told.
fn of_undisturbed(evidence: &Evidence) -> Option<Outcome> {
    let seen = evidence.disturbance.as_ref()?;
    let (in_flight, error) = (seen.clean_in_flight?, seen.clean_in_flight_error?);
    let users = connected_users(evidence).filter(|_| evidence.flow.completed >= REQUESTS_MIN)?;
    let off = off(in_flight, users);
    if off - STANDARD_ERRORS * error / users <= WARNING_OFF {
        return None;
    }
    let message = format!(
        "in the undisturbed time {in_flight:.2} requests were in flight by rate times service time, of {users:.0} that are \
         never idle: {} of it was lost to something that was not set aside, or its response times are those of the fastest",
        percent(off)
    );
    let remedy = "end other programs on this machine, or measure on one with CPUs to spare".to_owned();
    let figures = [("clean_in_flight", in_flight), ("clean_in_flight_error", error), ("users", users), ("off", off)];
    Some(Outcome::fired(RULE.id, FindingState::Bound, message, remedy, figures))
}

/// Both sides of the law over the whole window.
fn of_window(evidence: &Evidence) -> Outcome {
    // A request that waits all the window is in flight and has no service time.
    let unserved = starved(evidence).map_or(0.0, |fairness| per_iteration(evidence, fairness.starved));
    let outstanding = Outstanding { mean: evidence.outstanding.mean - unserved, ..evidence.outstanding };
    if evidence.flow.completed < REQUESTS_MIN {
        return Outcome::Unchecked("fewer than 100 responses");
    }
    if evidence::cut_off(evidence) as f64 > CUT_OFF_SHARE * evidence.flow.completed as f64 {
        return Outcome::Unchecked("too many requests cut off");
    }
    if unfinished_share(evidence) > WARNING_OFF {
        return Outcome::Unchecked("the load was ended while requests waited for their responses");
    }
    if outstanding.mean <= 0.0 || outstanding.little <= 0.0 {
        return Outcome::Unchecked("requests in flight not counted");
    }
    let chance = STANDARD_ERRORS * outstanding.standard_error / outstanding.mean;
    let by_law = off(outstanding.little, outstanding.mean);
    let users = connected_users(evidence);
    let by_users = users.map_or(0.0, |users| off(evidence.outstanding.mean, users));
    let state = match by_users.max(by_law - chance) {
        w if w <= WARNING_OFF && chance > WARNING_OFF => {
            return Outcome::Unchecked("too few requests: chance may explain a difference");
        }
        w if w <= WARNING_OFF => return Outcome::Pass,
        _ if disturbed_share(evidence) > WARNING_OFF => {
            return Outcome::Unchecked("disturbed window: requests delayed at its ends may explain the difference");
        }
        w if w <= INVALID_OFF => FindingState::Warning,
        _ => FindingState::Invalid,
    };
    let comparison = match users {
        Some(users) if by_users > by_law => {
            let in_flight = evidence.outstanding.mean;
            let slots = if evidence.plan.pipeline > 1 { "slots of the pipelines" } else { "connections" };
            format!("{in_flight:.1} requests in flight on {users:.0} {slots} that should always be busy")
        }
        _ => format!(
            "{:.1} requests in flight, but rate times service time is {:.1}",
            outstanding.mean, outstanding.little
        ),
    };
    let worst = by_law.max(by_users);
    let message = format!("{comparison}: rate or latency is {} off", percent(worst));
    let remedy = "check the run's seconds for pauses and the client for overload, then measure longer";
    let figures = [
        ("outstanding_mean", outstanding.mean),
        ("outstanding_little", outstanding.little),
        ("outstanding_standard_error", outstanding.standard_error),
        ("off", worst),
    ];
    Outcome::fired(RULE.id, state, message, remedy.to_owned(), figures)
}

/// Share of the requests in flight that an early end has left without a service time, at most, 0 to 1.
fn unfinished_share(evidence: &Evidence) -> f64 {
    let unfinished = evidence.cohort.counts.unfinished_ns as f64 / evidence.measured_ns.max(1) as f64;
    if evidence.outstanding.mean > 0.0 { unfinished / evidence.outstanding.mean } else { 0.0 }
}

/// Share of the window that is set aside, 0 to 1: requests that were held up at its ends are in one side of the law only.
fn disturbed_share(evidence: &Evidence) -> f64 {
    let set_aside_ns = evidence.disturbance.as_ref().map_or(0, |seen| seen.set_aside_ns);
    set_aside_ns as f64 / evidence.measured_ns.max(1) as f64
}

/// Users that are never idle, so that the requests in flight must be as many; none where that does not hold.
fn connected_users(evidence: &Evidence) -> Option<f64> {
    let never_idle = evidence.plan.load.is_closed()
        && !closes_are_ours(evidence)
        && evidence.connections.reconnects == 0
        && evidence.flow.failed == 0
        && !evidence.interrupted
        && matches!(evidence.plan.stop, Stop::Duration { .. });
    let slots = f64::from(evidence.connections.established) * f64::from(evidence.plan.pipeline);
    (never_idle && slots > 0.0).then_some(slots)
}

fn off(value: f64, reference: f64) -> f64 {
    (value - reference).abs() / reference
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Mutate, clean_open_run, clean_run, finding, judged, state};
    use model::Outstanding;

    /// Half of the connections never answered: "an overloaded client", which it was not.
    #[test]
    fn connections_that_are_never_served_are_no_fault_of_the_client() {
        let mut evidence = clean_run();
        evidence.outstanding.little /= 2.0;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Fired(_)));
        let starved_ns = Some(30_000_000_000);
        let fairness = model::Fairness {
            connections: 64,
            answered: 32,
            starved: 32,
            starved_ns,
            quiet_ns: Some(0),
            responses: 9,
            squares: 9,
        };
        evidence.connections.fairness = Some(fairness);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
    }

    /// A server that stopped to answer: "rate or latency is 56 % off", where the requests that waited had no service time yet.
    #[test]
    fn requests_without_a_response_at_an_early_end_are_in_one_side_of_the_law_only() {
        let mut evidence = clean_run();
        evidence.outstanding.little /= 2.0;
        evidence.interrupted = true;
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Invalid));
        evidence.cohort.counts.unfinished = 64;
        evidence.cohort.counts.unfinished_ns = 64 * evidence.measured_ns / 2;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
        // Those of an instant explain nothing.
        evidence.cohort.counts.unfinished_ns = 64_000_000;
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Invalid));
    }

    /// "64.0 requests in flight on 16 connections": every timed run with `--pipeline 4` was INVALID.
    #[test]
    fn a_pipeline_has_several_requests_in_flight_on_a_connection() {
        let mut evidence = clean_run();
        (evidence.plan.pipeline, evidence.outstanding.mean, evidence.outstanding.little) = (4, 256.0, 256.0);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        (evidence.outstanding.mean, evidence.outstanding.little) = (64.0, 64.0);
        assert!(
            finding(judged(&RULE, &evidence)).message.contains("64.0 requests in flight on 256 slots of the pipelines")
        );
    }

    #[test]
    fn where_much_of_the_window_was_disturbed_the_law_says_nothing() {
        let mut evidence = clean_run();
        evidence.outstanding.little = 46.0;
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Invalid));
        let set_aside_ns = evidence.measured_ns / 5;
        evidence.disturbance = Some(model::Disturbance { set_aside_ns, ..model::Disturbance::default() });
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }

    /// One connection, 2.17 ms a response, 307/s, VALID: the requests that were held up were set aside, and their time was not.
    #[test]
    fn undisturbed_goodput_that_contradicts_its_response_times_is_a_bound() {
        let told = |in_flight: f64, error: f64| {
            let mut evidence = clean_run();
            let set_aside_ns = evidence.measured_ns / 5;
            let (clean_in_flight, clean_in_flight_error) = (Some(in_flight), Some(error));
            evidence.disturbance = Some(model::Disturbance {
                basis: model::Basis::Clean,
                set_aside_ns,
                clean_in_flight,
                clean_in_flight_error,
                ..model::Disturbance::default()
            });
            evidence
        };
        assert_eq!(judged(&RULE, &told(62.5, 0.1)), Outcome::Pass);
        let off = finding(judged(&RULE, &told(42.7, 0.1)));
        assert_eq!(off.state, FindingState::Bound);
        assert!(off.message.starts_with("in the undisturbed time 42.70 requests were in flight"), "{}", off.message);
        assert_eq!(judged(&RULE, &told(42.7, 6.5)), Outcome::Pass, "chance may do it");
        let mut open = told(42.7, 0.1);
        open.plan.load = clean_open_run().plan.load;
        assert_eq!(judged(&RULE, &open), Outcome::Pass, "users of an open loop come and go");
        let mut invalid = told(42.7, 0.1);
        (invalid.outstanding.little, invalid.disturbance.as_mut().unwrap().set_aside_ns) = (30.0, 0);
        assert_eq!(state(&judged(&RULE, &invalid)), Some(FindingState::Invalid));
    }

    #[test]
    fn fires_by_how_far_the_law_is_off() {
        for (little, expected) in [
            (31.4, None),
            (32.0, Some(FindingState::Warning)),
            (28.0, Some(FindingState::Warning)),
            (35.0, Some(FindingState::Invalid)),
        ] {
            let mut evidence = clean_open_run();
            evidence.outstanding.little = little;
            assert_eq!(state(&judged(&RULE, &evidence)), expected, "{little}");
        }
    }

    #[test]
    fn connections_of_a_closed_loop_never_rest() {
        let mut evidence = clean_run();
        evidence.outstanding.mean = 40.0;
        evidence.outstanding.little = 40.0;
        let idle = finding(judged(&RULE, &evidence));
        assert_eq!(idle.state, FindingState::Invalid);
        assert!(idle.message.contains("40.0 requests in flight on 64 connections"), "{}", idle.message);
        evidence.connections.reconnects = 1;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
    }

    #[test]
    fn what_chance_may_do_is_no_violation() {
        // 0.3 in flight on average over half a second: one request of 40 ms at its end makes a quarter.
        let mut evidence = clean_open_run();
        evidence.outstanding = Outstanding { mean: 0.3, little: 0.375, standard_error: 0.03 };
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
        // The same of a long window, and far more than chance in the short one.
        evidence.outstanding.standard_error = 0.001;
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Invalid));
        evidence.outstanding = Outstanding { mean: 0.3, little: 0.6, standard_error: 0.03 };
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Invalid));
    }

    #[test]
    fn many_that_were_cut_off_leave_it_unchecked() {
        let mut evidence = clean_run();
        evidence.outstanding.little = 203.0;
        evidence.fail("first_byte.closed", 9_000);
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Invalid));
        evidence.fail("first_byte.closed", 2_000);
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }

    #[test]
    fn a_handful_of_requests_is_unchecked() {
        let mut evidence = clean_run();
        evidence.flow.completed = 99;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
