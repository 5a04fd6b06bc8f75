//! NE-11: one CPU that handles all network interrupts.

use crate::{About, Applies, BesideLimiter, Check, Fires, Need, Outcome, Rule, Whose};
use model::human::percent;
use model::{Evidence, FindingState};

const BUSY_SHARE: f64 = 0.9;
const IDLE_SHARE: f64 = 0.3;

pub(crate) const RULE: Rule = Rule {
    id: "NE-11",
    title: "one CPU for all packets",
    detects: "One CPU was busy with network interrupts while the others were not, as with a single receive queue.",
    fires: &[Fires::note(
        "One CPU spent more than 90 % of its time in interrupts, and every other one less than 30 %.",
    )],
    remarks: "",
    applies: Applies::Always,
    needs: &[Need::Window, Need::Machine(Whose::Observed)],
    conditions: "the time shares of each of several CPUs",
    check: Check::Run(check),
};

pub(crate) const BESIDE: BesideLimiter = BesideLimiter { rule: RULE.id, about: About::Limits(&["network-limited"]) };

fn check(evidence: &Evidence) -> Outcome {
    let Some(machine) = evidence.observed.as_ref().and_then(|seen| seen.machine.as_ref()) else {
        return Outcome::UNMET;
    };
    let shares = machine.shares_by_number().map(|(cpu, shares)| (cpu, shares.softirq));
    let mut shares: Vec<(u32, f64)> = shares.collect();
    if shares.is_empty() {
        return Outcome::Unchecked("time shares of each CPU unknown");
    }
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    // With one CPU there is nobody to share the work with.
    let [(cpu, most), (_, second), ..] = shares[..] else { return Outcome::Pass };
    if most <= BUSY_SHARE || second >= IDLE_SHARE {
        return Outcome::Pass;
    }
    let message = format!(
        "CPU {cpu} spent {} of its time in interrupts, no other more than {}: all packets come through one receive queue",
        percent(most),
        percent(second)
    );
    let remedy = "add receive queues (ethtool -L), or spread their work (RPS, irqbalance)".to_owned();
    Outcome::fired(RULE.id, FindingState::Note, message, remedy, [("softirq_most", most), ("softirq_second", second)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use crate::testing::{finding, judged, state};

    #[test]
    fn the_others_have_to_rest() {
        let mut evidence = testing::run("NE-11");
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Note));
        let machine = evidence.observed.as_mut().and_then(|seen| seen.machine.as_mut()).expect("seen");
        machine.cpu_numbers = vec![0, 4];
        assert!(finding(judged(&RULE, &evidence)).message.starts_with("CPU 4 spent "));
        let cpus = &mut evidence.observed.as_mut().and_then(|seen| seen.machine.as_mut()).expect("seen").cpu_shares;
        cpus[0].softirq = 0.3;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        evidence.observed.as_mut().and_then(|seen| seen.machine.as_mut()).expect("seen").cpu_shares.truncate(1);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
    }
}
