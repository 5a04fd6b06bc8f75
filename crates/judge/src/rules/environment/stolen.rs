//! EN-01: did the hypervisor take CPU time from the server?

use crate::rules::disturbed::{Taken, left, taken};
use crate::rules::kernel::{ELSEWHERE, is_server_here};
use crate::{Check, Outcome, Rule};
use model::human::percent;
use model::{Cause, Evidence};

const CAUSES: &[Cause] = &[Cause::ServerSteal];

pub(crate) const RULE: Rule = Rule {
    id: "EN-01",
    title: "server's CPUs stolen",
    detects: "a virtual machine whose CPUs were given to others: the server does more on CPUs of its own",
    threshold: "slices of 100 ms with 20 ms or more of steal are set aside; of the time that the numbers rest on > 1 % \
                stolen: warning; > 5 %: bound; > 75 %: invalid; a note where the CPUs are not the limit (own thresholds)",
    data: "CPU time of the server's machine",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    if !is_server_here(evidence) {
        return Outcome::Unchecked(ELSEWHERE);
    }
    let Some(machine) = evidence.observed.as_ref().and_then(|seen| seen.machine.as_ref()) else {
        return Outcome::Unchecked("the CPU time of the machine is not known");
    };
    let facts = format!(
        "the hypervisor took {} of the server's CPU time for others ({} of the machine's in the worst second)",
        percent(taken(evidence, CAUSES).unwrap_or(machine.steal_mean)),
        percent(machine.steal_max)
    );
    let share = left(evidence, CAUSES).unwrap_or(machine.steal_mean);
    let remedy = "measure at another hour, in several runs, or on a machine whose CPUs are its own";
    Taken::new(RULE.id, CAUSES, share, facts, remedy).outcome(evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, state};
    use model::FindingState;

    #[test]
    fn the_mean_decides_and_not_one_second() {
        for (mean, expected) in [
            (0.01, None),
            (0.02, Some(FindingState::Warning)),
            (0.051, Some(FindingState::Bound)),
            (0.76, Some(FindingState::Invalid)),
        ] {
            let mut evidence = clean_run();
            let machine = evidence.observed.as_mut().and_then(|seen| seen.machine.as_mut()).expect("seen");
            (machine.steal_mean, machine.steal_max) = (mean, 0.6);
            assert_eq!(state(&check(&evidence)), expected, "{mean}");
        }
    }
}
