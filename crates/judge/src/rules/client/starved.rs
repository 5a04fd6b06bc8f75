//! CL-09: did load threads wait for a CPU?

use crate::rules::facts::{Placement, observed, placement};
use crate::{Check, Outcome, Rule};
use model::human::percent;
use model::{Evidence, FindingState, NS_PER_S, ThreadObserved};

const WARNING_SHARE: f64 = 0.02;
const INVALID_SHARE: f64 = 0.10;
/// What being put on an idle CPU takes, also in a virtual machine: it is in the kernel's figure too, and no contention.
const WAKE_UP_NS: f64 = 20_000.0;
/// A client that is woken very often is rarely idle by then: of 23,000 wake-ups a second each took 1.3 us.
const WAKE_UPS_SHARE_MAX: f64 = 0.03;

pub(crate) const RULE: Rule = Rule {
    id: "CL-09",
    title: "client waits for a CPU",
    detects: "load threads that could have run while others had their CPU",
    threshold: "run-queue wait beyond 20 us for each wake-up, or 3 % in all, > 2 % of the time of a load thread: \
                warning; > 10 %: a bound in a closed loop, which then only sends less, and invalid in an open \
                one (own thresholds); a note where the server may use the client's CPUs, as LD-08 tells what \
                that means",
    data: "the scheduler's times of each load thread",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let threads = observed(evidence).and_then(|observed| observed.generator.as_ref()).map(|it| &it.threads);
    let Some(threads) = threads.filter(|threads| !threads.is_empty()) else {
        return Outcome::Unchecked("the scheduler's times of the load threads are not known");
    };
    let waited = threads.iter().map(waited).fold(0.0, f64::max);
    let is_closed = evidence.plan.load.is_closed();
    let state = match waited {
        w if w <= WARNING_SHARE => return Outcome::Pass,
        _ if placement(evidence) == Placement::Shared => FindingState::Note,
        w if w <= INVALID_SHARE => FindingState::Warning,
        _ if is_closed => FindingState::Bound,
        _ => FindingState::Invalid,
    };
    let means = match (state, is_closed) {
        (FindingState::Note, _) => "they share CPUs with the server",
        (_, true) => "it sent less than it could and saw answers late: the server can do this much or more",
        (_, false) => "it sent requests and saw answers late, and the server is blamed for it",
    };
    let message = format!("a load thread waited for a CPU {} of the time: {means}", percent(waited));
    let remedy = match state {
        FindingState::Note => "give each CPUs of its own: --cpus for the client, taskset for the server",
        _ => {
            "stop what else runs on the client's CPUs (observed.others in run.json), or give it CPUs of its own (--cpus)"
        }
    };
    let figures = [("wait_share", waited)];
    Outcome::fired(RULE.id, state, message, remedy.to_owned(), figures)
}

/// Share of the time in which a thread waited behind others.
fn waited(thread: &ThreadObserved) -> f64 {
    let wake_ups = thread.runs_per_s * WAKE_UP_NS / NS_PER_S as f64;
    (thread.wait_mean - wake_ups.min(WAKE_UPS_SHARE_MAX)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_open_run, clean_run, finding, generator, state};

    fn waiting(mut evidence: Evidence, wait_mean: f64) -> Evidence {
        generator(&mut evidence).threads[0].wait_mean = wait_mean;
        evidence
    }

    #[test]
    fn fires_by_the_share_of_time_waited() {
        assert_eq!(check(&waiting(clean_run(), 0.02)), Outcome::Pass);
        assert_eq!(state(&check(&waiting(clean_run(), 0.08))), Some(FindingState::Warning));
        assert_eq!(state(&check(&waiting(clean_run(), 0.30))), Some(FindingState::Bound));
        let found = finding(check(&waiting(clean_open_run(), 0.30)));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.message.contains("30 % of the time: it sent requests"), "{}", found.message);
    }

    #[test]
    fn wake_ups_are_no_contention_and_shared_cpus_are_a_note() {
        for (wait_mean, runs_per_s, expected) in
            [(0.03, 1_000.0, None), (0.045, 23_000.0, None), (0.30, 23_000.0, Some(FindingState::Bound))]
        {
            let mut evidence = waiting(clean_run(), wait_mean);
            generator(&mut evidence).threads[0].runs_per_s = runs_per_s;
            assert_eq!(state(&check(&evidence)), expected, "{wait_mean}");
        }
        let mut evidence = waiting(clean_run(), 0.30);
        evidence.plan.cpus = vec![0, 1];
        assert_eq!(state(&check(&evidence)), Some(FindingState::Note));
    }

    #[test]
    fn without_the_schedulers_times_it_is_unchecked() {
        let mut evidence = clean_run();
        generator(&mut evidence).threads.clear();
        assert!(matches!(check(&evidence), Outcome::Unchecked(_)));
    }
}
