//! EN-01: steal on the server's CPUs.

use crate::facts::disturbed::{Taken, left, taken};
use crate::{Applies, Check, Fires, Need, Outcome, Rule, Whose};
use model::human::percent;
use model::{Cause, Evidence};

const CAUSES: &[Cause] = &[Cause::ServerSteal];

pub(crate) const RULE: Rule = Rule {
    id: "EN-01",
    title: "steal on the server's CPUs",
    detects: "The hypervisor gave the server's CPUs to other virtual machines.",
    fires: &[
        Fires::invalid("Steal took more than 75 % of the remaining time."),
        Fires::bound("Steal took more than 5 % of the remaining time."),
        Fires::warning("Steal took more than 1 % of the remaining time."),
        Fires::note(
            "Steal took 1 % of the remaining time or less, but slices were set aside for it; or it took more, but a \
             pool of workers that mostly wait was the bottleneck and the CPUs had room.",
        ),
    ],
    remarks: "Slices of 100 ms in which steal took at least 20 ms are set aside first, and the shares are of the \
              remaining time.",
    applies: Applies::Always,
    needs: &[Need::Window, Need::Machine(Whose::Servers)],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Some(machine) = evidence.observed.as_ref().and_then(|seen| seen.machine.as_ref()) else {
        return Outcome::UNMET;
    };
    let facts = format!(
        "steal took {} of the server's CPU time ({} of the machine's in the worst second)",
        percent(taken(evidence, CAUSES).unwrap_or(machine.steal_mean)),
        percent(machine.steal_max)
    );
    let share = left(evidence, CAUSES).unwrap_or(machine.steal_mean);
    let remedy = "measure at another time, repeat, or use a machine with dedicated CPUs";
    Taken::new(RULE.id, CAUSES, share, facts, remedy).outcome(evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, judged, seen_there, state};
    use model::{Disturbance, FindingState};

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
            assert_eq!(state(&judged(&RULE, &evidence)), expected, "{mean}");
        }
    }

    #[test]
    fn an_account_of_the_clients_machine_does_not_excuse_that_of_the_server() {
        let mut evidence = clean_run();
        let machine = evidence.observed.as_mut().and_then(|seen| seen.machine.as_mut()).expect("seen");
        machine.steal_mean = 0.02;
        evidence.disturbance = Some(Disturbance::default());
        assert_eq!(state(&judged(&RULE, &evidence)), None, "on one machine it knows of all");
        seen_there(&mut evidence);
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Warning));
    }
}
