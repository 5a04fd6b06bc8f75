//! CL-08: steal on the client's CPUs.

use crate::facts::disturbed::{TAKEN_MIN_S, Taken, left, taken};
use crate::facts::{client_cpus, client_machine};
use crate::{Applies, Check, Fires, Need, Outcome, Rule, Whose};
use model::human::percent;
use model::{Cause, Evidence, MachineObserved};

const CAUSES: &[Cause] = &[Cause::ClientSteal];

pub(crate) const RULE: Rule = Rule {
    id: "CL-08",
    title: "steal on the client's CPUs",
    detects: "The hypervisor ran other virtual machines on the client's CPUs.",
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
              remaining time. Only CPUs that load threads may use count, where these are known. Less than 100 ms of \
              steal in the remaining time counts as none.",
    applies: Applies::Always,
    needs: &[Need::Window, Need::Machine(Whose::Clients), Need::WhereKnown(&[Need::Affinity])],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Some(machine) = client_machine(evidence).and_then(|observed| observed.machine.as_ref()) else {
        return Outcome::UNMET;
    };
    let stolen = stolen(evidence, machine);
    let facts = format!(
        "steal took {} of the client's CPU time ({} of the machine's in the worst second)",
        percent(taken(evidence, CAUSES).unwrap_or(stolen)),
        percent(machine.steal_max)
    );
    let share = left(evidence, CAUSES).unwrap_or(stolen);
    let remedy = "use a client machine with dedicated CPUs";
    Taken { least_s: TAKEN_MIN_S, ..Taken::new(RULE.id, CAUSES, share, facts, remedy) }.outcome(evidence)
}

/// Mean share of the client's CPUs, or of all where those are not known.
fn stolen(evidence: &Evidence, machine: &MachineObserved) -> f64 {
    let of = |cpu: &u32| machine.shares_of(*cpu).map(|shares| shares.steal);
    let of_client: Vec<f64> = client_cpus(evidence).iter().filter_map(of).collect();
    match of_client.len() {
        0 => machine.steal_mean,
        n => of_client.iter().sum::<f64>() / n as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged, machine, state};
    use model::FindingState;

    #[test]
    fn fires_by_what_was_stolen_from_the_clients_cpus() {
        for (steal, expected) in [(0.009, None), (0.02, Some(FindingState::Warning)), (0.06, Some(FindingState::Bound))]
        {
            let mut evidence = clean_run();
            machine(&mut evidence).cpu_shares[1].steal = steal;
            assert_eq!(state(&judged(&RULE, &evidence)), expected, "{steal}");
            machine(&mut evidence).cpu_shares.swap(0, 1);
            assert_eq!(judged(&RULE, &evidence), Outcome::Pass, "it was the server's CPU");
        }
    }

    #[test]
    fn a_few_steps_of_the_kernels_clock_are_nothing() {
        let mut evidence = clean_run();
        machine(&mut evidence).cpu_shares[1].steal = 0.02;
        evidence.measured_ns = 3_000_000_000;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
    }

    #[test]
    fn all_cpus_count_where_the_clients_are_not_known_and_nobody_looking_is_unchecked() {
        let mut evidence = clean_run();
        machine(&mut evidence).steal_mean = 0.02;
        machine(&mut evidence).cpu_shares.clear();
        let found = finding(judged(&RULE, &evidence));
        assert!(found.message.starts_with("steal took 2.0 % of the client's"), "{}", found.message);
        evidence.observed = None;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
