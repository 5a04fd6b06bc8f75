//! EN-01: did the hypervisor take CPU time from the server?

use crate::rules::kernel::{ELSEWHERE, is_server_here};
use crate::{Check, Outcome, Rule};
use model::human::percent;
use model::{Evidence, FindingState};

const WARNING_SHARE: f64 = 0.01;
const INVALID_SHARE: f64 = 0.05;

pub(crate) const RULE: Rule = Rule {
    id: "EN-01",
    title: "CPU time stolen",
    detects: "a virtual machine whose CPUs were given to others: the number is that of the neighbours too",
    threshold: "> 1 % of the CPU time stolen over the window: warning; > 5 %: invalid (own thresholds)",
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
    let stolen = machine.steal_mean;
    let state = match stolen {
        s if s <= WARNING_SHARE => return Outcome::Pass,
        s if s <= INVALID_SHARE => FindingState::Warning,
        _ => FindingState::Invalid,
    };
    let message = format!(
        "the hypervisor took {} of the CPU time for others ({} in the worst second): on a CPU of its own this server does more",
        percent(stolen),
        percent(machine.steal_max)
    );
    let remedy = "measure at another hour, in several runs, or on a machine whose CPUs are its own".to_owned();
    Outcome::fired(RULE.id, state, message, remedy, [("steal_mean", stolen), ("steal_max", machine.steal_max)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, state};

    #[test]
    fn the_mean_decides_and_not_one_second() {
        for (mean, expected) in
            [(0.01, None), (0.02, Some(FindingState::Warning)), (0.051, Some(FindingState::Invalid))]
        {
            let mut evidence = clean_run();
            let machine = evidence.observed.as_mut().and_then(|seen| seen.machine.as_mut()).expect("seen");
            (machine.steal_mean, machine.steal_max) = (mean, 0.6);
            assert_eq!(state(&check(&evidence)), expected, "{mean}");
        }
    }
}
