//! CL-08: did the hypervisor take the client's CPU away?

use crate::rules::facts::{client_cpus, observed, seconds};
use crate::{Check, Outcome, Rule};
use model::human::percent;
use model::{Evidence, FindingState};

const WARNING_SHARE: f64 = 0.01;
const INVALID_SHARE: f64 = 0.05;
/// The kernel counts in steps of 10 ms: less than ten of them is nothing to go by.
const STOLEN_MIN_S: f64 = 0.1;

pub(crate) const RULE: Rule = Rule {
    id: "CL-08",
    title: "client's CPU stolen",
    detects: "pauses of the client because the hypervisor gave its CPUs to another machine",
    threshold: "> 1 % of the time of the CPUs that the load threads may use: warning; > 5 %: invalid (own thresholds); \
                100 ms or more in all",
    data: "CPU times of this machine; which CPUs the load threads may use, else all",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Some(machine) = observed(evidence).and_then(|observed| observed.machine.as_ref()) else {
        return Outcome::Unchecked("the CPU times of this machine are not known");
    };
    let of_client: Vec<f64> = client_cpus(evidence)
        .iter()
        .filter_map(|cpu| machine.cpu_shares.get(*cpu as usize))
        .map(|shares| shares.steal)
        .collect();
    let (stolen, cpus) = match of_client.len() {
        0 => (machine.steal_mean, f64::from(machine.cpus)),
        n => (of_client.iter().sum::<f64>() / n as f64, n as f64),
    };
    let state = match stolen {
        _ if stolen * cpus * seconds(evidence) < STOLEN_MIN_S => return Outcome::Pass,
        s if s <= WARNING_SHARE => return Outcome::Pass,
        s if s <= INVALID_SHARE => FindingState::Warning,
        _ => FindingState::Invalid,
    };
    let message = format!(
        "the hypervisor took {} of the client's CPU time ({} of the machine's in the worst second): such pauses are in \
         the latencies and missing in the goodput",
        percent(stolen),
        percent(machine.steal_max)
    );
    let remedy = "measure from a machine with CPUs of its own, or when its neighbours are quiet".to_owned();
    let figures = [("steal_share", stolen), ("steal_max", machine.steal_max)];
    Outcome::fired(RULE.id, state, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, machine, state};

    #[test]
    fn fires_by_what_was_stolen_from_the_clients_cpus() {
        for (steal, expected) in
            [(0.009, None), (0.02, Some(FindingState::Warning)), (0.06, Some(FindingState::Invalid))]
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
