//! PH-06: do the processes add up to the machine?

use crate::rules::facts::{observed, seconds};
use crate::{Check, Outcome, Rule};
use model::human::percent;
use model::{Evidence, FindingState};

const SLACK: f64 = 0.15;
/// The machine's CPU time is sampled at each tick of the kernel: less of it is too coarse to compare. CPU seconds.
const BUSY_MIN_S: f64 = 3.0;

pub(crate) const RULE: Rule = Rule {
    id: "PH-06",
    title: "unaccounted CPU time",
    detects: "CPU time that no process was seen to use: short-lived processes, the kernel, other containers",
    threshold: "all processes together differ by > 15 % from the machine's busy time: warning (own threshold), \
                interrupts on top either way, as kernels charge them to the process they interrupt, or not; 3 s of \
                CPU time or more",
    data: "CPU time of all processes and of the machine",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Some(machine) = observed(evidence).and_then(|observed| observed.machine.as_ref()) else {
        return Outcome::Unchecked("the CPU times of this machine are not known");
    };
    let Some(accounted) = machine.accounted_share else {
        return Outcome::Unchecked("the processes of this machine were not all looked at");
    };
    let busy_cores = machine.busy_mean * f64::from(machine.cpus);
    if busy_cores * seconds(evidence) < BUSY_MIN_S {
        return Outcome::Unchecked("the machine was too idle to compare");
    }
    let interrupts = machine.softirq_mean / machine.busy_mean.max(f64::MIN_POSITIVE);
    let off = (accounted - 1.0).abs() - interrupts;
    if off <= SLACK {
        return Outcome::Pass;
    }
    let message = if accounted < 1.0 {
        format!(
            "processes account for only {} of the machine's CPU time: short-lived ones, the kernel or others used the rest, and the \
             server's share may be larger than shown",
            percent(accounted)
        )
    } else {
        format!("processes add up to {} of the machine's CPU time: the shares shown are too large", percent(accounted))
    };
    let remedy =
        "look for processes that come and go (CGI, cron, builds), and at observed.others in run.json".to_owned();
    let figures = [("accounted_share", accounted), ("interrupt_share", interrupts), ("busy_cores", busy_cores)];
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, machine, state};

    #[test]
    fn a_gap_either_way_warns_beyond_the_interrupts() {
        let mut evidence = clean_run();
        machine(&mut evidence).accounted_share = Some(0.6);
        let found = finding(check(&evidence));
        assert_eq!(found.state, FindingState::Warning);
        assert!(found.message.starts_with("processes account for only 60 % of the machine's"), "{}", found.message);
        machine(&mut evidence).accounted_share = Some(1.4);
        assert_eq!(state(&check(&evidence)), Some(FindingState::Warning));
        machine(&mut evidence).softirq_mean = 0.3 * machine(&mut evidence).busy_mean;
        assert_eq!(check(&evidence), Outcome::Pass);
    }

    #[test]
    fn an_idle_machine_and_unknown_processes_are_unchecked() {
        let mut evidence = clean_run();
        assert_eq!(check(&evidence), Outcome::Pass);
        machine(&mut evidence).busy_mean = 0.02;
        assert!(matches!(check(&evidence), Outcome::Unchecked(_)));
        machine(&mut evidence).accounted_share = None;
        assert!(matches!(check(&evidence), Outcome::Unchecked(_)));
        evidence.observed = None;
        assert!(matches!(check(&evidence), Outcome::Unchecked(_)));
    }
}
