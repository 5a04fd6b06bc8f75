//! PH-06: CPU time not accounted to processes.

use crate::facts::{observed, seconds};
use crate::{Applies, Check, Fires, Need, Outcome, Rule, Whose};
use model::human::percent;
use model::{Evidence, FindingState};

const SLACK: f64 = 0.15;
/// Part of the idle time that may be busy time, or the reverse: work that timers begin is sampled by a tick that comes at
/// the same places of it again and again.
const IDLE_SLACK: f64 = 0.1;
/// So much of what was stolen may be missing in the machine's busy time: with the CPU its ticks are lost, those around what is
/// counted as steal too, and processes are charged by another clock that goes on.
const STEAL_LOSES: f64 = 3.0;
/// The machine's CPU time is sampled at each tick of the kernel: less of it is too coarse to compare. CPU seconds.
const BUSY_MIN_S: f64 = 3.0;

pub(crate) const RULE: Rule = Rule {
    id: "PH-06",
    title: "unaccounted CPU time",
    detects: "CPU time went to no known process, but to short-lived processes, the kernel or other containers.",
    fires: &[Fires::warning(
        "The CPU time of all processes differs from the machine's busy time by more than 15 % plus interrupts, a \
             tenth of the idle time and, where it is larger, three times the steal.",
    )],
    remarks: "",
    applies: Applies::Always,
    needs: &[Need::Window, Need::Machine(Whose::Observed), Need::AllProcesses],
    conditions: "at least 3 s of CPU time in the window",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let Some(machine) = observed(evidence).and_then(|observed| observed.machine.as_ref()) else {
        return Outcome::UNMET;
    };
    let Some(accounted) = machine.accounted_share else {
        return Outcome::UNMET;
    };
    let busy_cores = machine.busy_mean * f64::from(machine.cpus);
    if busy_cores * seconds(evidence) < BUSY_MIN_S {
        return Outcome::Unchecked("the machine was too idle to compare");
    }
    let of_busy = |share: f64| share / machine.busy_mean.max(f64::MIN_POSITIVE);
    // Kernels charge interrupts to the process that they interrupt, or to none.
    let interrupts = of_busy(machine.softirq_mean);
    let idle = of_busy((1.0 - machine.busy_mean - machine.steal_mean).max(0.0));
    // Some charge stolen time to the process that it was stolen from, and never count it as busy.
    let stolen = if accounted > 1.0 { STEAL_LOSES * of_busy(machine.steal_mean) } else { 0.0 };
    if (accounted - 1.0).abs() <= SLACK + interrupts + IDLE_SLACK * idle + stolen {
        return Outcome::Pass;
    }
    let message = if accounted < 1.0 {
        format!(
            "processes account for only {} of the machine's CPU time: the server may use more than shown",
            percent(accounted)
        )
    } else {
        format!("processes add up to {} of the machine's CPU time: the shares shown are too large", percent(accounted))
    };
    let remedy = "look for short-lived processes (CGI, cron, builds), and at observed.others in run.json".to_owned();
    let figures = [("accounted_share", accounted), ("interrupt_share", interrupts), ("busy_cores", busy_cores)];
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged, machine, state};

    #[test]
    fn a_gap_either_way_warns_beyond_the_interrupts() {
        let mut evidence = clean_run();
        machine(&mut evidence).accounted_share = Some(0.6);
        let found = finding(judged(&RULE, &evidence));
        assert_eq!(found.state, FindingState::Warning);
        assert!(found.message.starts_with("processes account for only 60 % of the machine's"), "{}", found.message);
        machine(&mut evidence).accounted_share = Some(1.4);
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Warning));
        machine(&mut evidence).softirq_mean = 0.3 * machine(&mut evidence).busy_mean;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
    }

    /// Programs at work for 27 % of the time beside a server that timers wake up; 23 % too much beside 3 % of steal.
    #[test]
    fn what_ticks_and_steal_explain_is_silent() {
        let mut evidence = clean_run();
        let seen = machine(&mut evidence);
        (seen.busy_mean, seen.steal_mean, seen.softirq_mean, seen.accounted_share) = (0.27, 0.0, 0.0, Some(0.65));
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        machine(&mut evidence).accounted_share = Some(0.5);
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Warning));
        let seen = machine(&mut evidence);
        (seen.busy_mean, seen.steal_mean, seen.accounted_share) = (0.9, 0.03, Some(1.23));
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        machine(&mut evidence).steal_mean = 0.01;
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Warning));
        let seen = machine(&mut evidence);
        (seen.steal_mean, seen.accounted_share) = (0.03, Some(0.77));
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Warning));
    }

    #[test]
    fn an_idle_machine_and_unknown_processes_are_unchecked() {
        let mut evidence = clean_run();
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        machine(&mut evidence).busy_mean = 0.02;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
        machine(&mut evidence).accounted_share = None;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
        evidence.observed = None;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
