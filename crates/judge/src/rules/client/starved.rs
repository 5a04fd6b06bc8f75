//! CL-09: load threads that wait for a CPU.

use crate::facts::disturbed::{Taken, left, taken};
use crate::facts::{Placement, may_part_cpus, observed, part_client_and_server, placement};
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::percent;
use model::{Cause, Evidence, FindingState, NS_PER_S, ThreadObserved};

const WARNING_SHARE: f64 = 0.02;
const BOUND_SHARE: f64 = 0.10;
const CAUSES: &[Cause] = &[Cause::ClientWait, Cause::ClientStopped];
/// Wake-up time on an idle CPU, also in a virtual machine: part of the kernel's figure, but no contention.
const WAKE_UP_NS: f64 = 20_000.0;
/// A client that is woken very often is rarely idle by then: of 23,000 wake-ups a second each took 1.3 us.
const WAKE_UPS_SHARE_MAX: f64 = 0.03;

pub(crate) const RULE: Rule = Rule {
    id: "CL-09",
    title: "client waits for a CPU",
    detects: "A load thread waited for a CPU or was stopped.",
    fires: &[
        Fires::invalid("A load thread waited for a CPU or was stopped for more than 75 % of the remaining time."),
        Fires::bound("A load thread waited for a CPU or was stopped for more than 10 % of the remaining time."),
        Fires::warning("A load thread waited for a CPU or was stopped for more than 2 % of the remaining time."),
        Fires::note(
            "A load thread waited less, but slices were set aside for it; or it waited more, but client and server \
             share CPUs (LD-08), or a pool of workers that mostly wait was the bottleneck and the CPUs had room.",
        ),
    ],
    remarks: "Slices of 100 ms in which a load thread waited or was stopped for at least 10 ms are set aside first, \
              and the shares are of the remaining time. Of each wake-up 20 µs do not count, up to 3 % of the time.",
    applies: Applies::Always,
    needs: &[Need::Window, Need::SchedulerStatistics],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let threads = observed(evidence).and_then(|observed| observed.generator.as_ref()).map(|it| &it.threads);
    let Some(threads) = threads.filter(|threads| !threads.is_empty()) else {
        return Outcome::UNMET;
    };
    let waited = threads.iter().map(waited).fold(0.0, f64::max);
    if placement(evidence) == Placement::Shared
        && left(evidence, &[Cause::ClientStopped]).is_none_or(|share| share == 0.0)
    {
        return shared(evidence, waited);
    }
    let facts = format!(
        "a load thread waited for a CPU or was stopped {} of the time",
        percent(taken(evidence, CAUSES).unwrap_or(waited))
    );
    let remedy = match may_part_cpus(evidence) {
        _ if !evidence.agents.is_empty() => {
            "stop other processes on that machine (machine.others of the agent in run.json), or use more agents"
        }
        true => {
            "stop other processes on the client's CPUs (observed.others in run.json), or use dedicated ones (--cpus)"
        }
        false => "stop other processes (observed.others in run.json), or measure from another machine",
    };
    let taken = Taken {
        warning_share: WARNING_SHARE,
        bound_share: BOUND_SHARE,
        ..Taken::new(RULE.id, CAUSES, left(evidence, CAUSES).unwrap_or(waited), facts, remedy)
    };
    taken.outcome(evidence)
}

/// Where the server may use the client's CPUs, the load itself makes the client wait.
fn shared(evidence: &Evidence, waited: f64) -> Outcome {
    if waited <= WARNING_SHARE {
        return Outcome::Pass;
    }
    let message =
        format!("a load thread waited for a CPU {} of the time: client and server share CPUs", percent(waited));
    let remedy = part_client_and_server(evidence);
    Outcome::fired(RULE.id, FindingState::Note, message, remedy, [("wait_share", waited)])
}

/// Share of the time in which a thread waited behind others.
fn waited(thread: &ThreadObserved) -> f64 {
    let wake_ups = thread.runs_per_s * WAKE_UP_NS / NS_PER_S as f64;
    (thread.wait_mean - wake_ups.min(WAKE_UPS_SHARE_MAX)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_open_run, clean_run, finding, generator, judged, state};

    fn waiting(mut evidence: Evidence, wait_mean: f64) -> Evidence {
        generator(&mut evidence).threads[0].wait_mean = wait_mean;
        evidence
    }

    #[test]
    fn fires_by_the_share_of_time_waited() {
        assert_eq!(judged(&RULE, &waiting(clean_run(), 0.02)), Outcome::Pass);
        assert_eq!(state(&judged(&RULE, &waiting(clean_run(), 0.08))), Some(FindingState::Warning));
        assert_eq!(state(&judged(&RULE, &waiting(clean_run(), 0.30))), Some(FindingState::Bound));
        let found = finding(judged(&RULE, &waiting(clean_open_run(), 0.30)));
        assert_eq!(found.state, FindingState::Bound, "it has a direction in an open loop as well");
        assert!(found.message.contains("30 % of the time: the server sustains at least"), "{}", found.message);
    }

    #[test]
    fn wake_ups_are_no_contention_and_shared_cpus_are_a_note() {
        for (wait_mean, runs_per_s, expected) in
            [(0.03, 1_000.0, None), (0.045, 23_000.0, None), (0.30, 23_000.0, Some(FindingState::Bound))]
        {
            let mut evidence = waiting(clean_run(), wait_mean);
            generator(&mut evidence).threads[0].runs_per_s = runs_per_s;
            assert_eq!(state(&judged(&RULE, &evidence)), expected, "{wait_mean}");
        }
        let mut evidence = waiting(clean_run(), 0.30);
        evidence.plan.cpus = vec![0, 1];
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Note));
    }

    #[test]
    fn without_the_schedulers_times_it_is_unchecked() {
        let mut evidence = clean_run();
        generator(&mut evidence).threads.clear();
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
