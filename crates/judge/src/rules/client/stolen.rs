//! CL-08: did the hypervisor take the client's CPU away?

use crate::rules::disturbed::{TAKEN_MIN_S, Taken, left, taken};
use crate::rules::facts::{client_cpus, observed};
use crate::{Check, Outcome, Rule};
use model::human::percent;
use model::{Cause, Evidence, MachineObserved};

const CAUSES: &[Cause] = &[Cause::ClientSteal];

pub(crate) const RULE: Rule = Rule {
    id: "CL-08",
    title: "client's CPUs stolen",
    detects: "pauses of the client because the hypervisor gave its CPUs to another machine",
    threshold: "slices of 100 ms with 20 ms or more of steal are set aside; of the time that the numbers rest on > 1 % stolen \
                from a CPU that the load threads may use: warning; > 5 %: bound; > 75 %: invalid; a note where the CPUs are \
                not the limit (own thresholds); 100 ms or more in all",
    data: "CPU times of this machine; which CPUs the load threads may use, else all",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Some(machine) = observed(evidence).and_then(|observed| observed.machine.as_ref()) else {
        return Outcome::Unchecked("the CPU times of this machine are not known");
    };
    let stolen = stolen(evidence, machine);
    let facts = format!(
        "the hypervisor took {} of the client's CPU time ({} of the machine's in the worst second)",
        percent(taken(evidence, CAUSES).unwrap_or(stolen)),
        percent(machine.steal_max)
    );
    let share = left(evidence, CAUSES).unwrap_or(stolen);
    let remedy = "measure from a machine with CPUs of its own, or when its neighbours are quiet";
    Taken { least_s: TAKEN_MIN_S, ..Taken::new(RULE.id, CAUSES, share, facts, remedy) }.outcome(evidence)
}

/// Mean share of the client's CPUs, or of all where those are not known.
fn stolen(evidence: &Evidence, machine: &MachineObserved) -> f64 {
    let of = |cpu: &u32| machine.cpu_shares.get(*cpu as usize).map(|shares| shares.steal);
    let of_client: Vec<f64> = client_cpus(evidence).iter().filter_map(of).collect();
    match of_client.len() {
        0 => machine.steal_mean,
        n => of_client.iter().sum::<f64>() / n as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, machine, state};
    use model::FindingState;

    #[test]
    fn fires_by_what_was_stolen_from_the_clients_cpus() {
        for (steal, expected) in [(0.009, None), (0.02, Some(FindingState::Warning)), (0.06, Some(FindingState::Bound))]
        {
            let mut evidence = clean_run();
            machine(&mut evidence).cpu_shares[1].steal = steal;
            assert_eq!(state(&check(&evidence)), expected, "{steal}");
            machine(&mut evidence).cpu_shares.swap(0, 1);
            assert_eq!(check(&evidence), Outcome::Pass, "it was the server's CPU");
        }
    }

    #[test]
    fn a_few_steps_of_the_kernels_clock_are_nothing() {
        let mut evidence = clean_run();
        machine(&mut evidence).cpu_shares[1].steal = 0.02;
        evidence.measured_ns = 3_000_000_000;
        assert_eq!(check(&evidence), Outcome::Pass);
    }

    #[test]
    fn all_cpus_count_where_the_clients_are_not_known_and_nobody_looking_is_unchecked() {
        let mut evidence = clean_run();
        machine(&mut evidence).steal_mean = 0.02;
        machine(&mut evidence).cpu_shares.clear();
        let found = finding(check(&evidence));
        assert!(found.message.starts_with("the hypervisor took 2.0 % of the client's"), "{}", found.message);
        evidence.observed = None;
        assert!(matches!(check(&evidence), Outcome::Unchecked(_)));
    }
}
