//! PH-08: slow clock source.

use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::{Evidence, FindingState};

/// Clocks that are read without asking a device or the hypervisor each time.
const GOOD: [&str; 7] =
    ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "xen", "arch_sys_counter", "timebase", "riscv_clocksource"];

pub(crate) const RULE: Rule = Rule {
    id: "PH-08",
    title: "unreliable clock",
    detects: "The clock source is slow to read, and may stall.",
    fires: &[Fires::warning(
        "The kernel's clock source is none of tsc, kvm-clock, hyperv_clocksource_tsc_page, xen, \
             arch_sys_counter, timebase and riscv_clocksource.",
    )],
    remarks: "",
    applies: Applies::Always,
    needs: &[Need::Clock],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let facts = evidence.fingerprint.as_ref().and_then(|fingerprint| fingerprint.facts.get("clock"));
    let Some(source) = facts.and_then(|facts| facts.get("current_clocksource")) else {
        return Outcome::UNMET;
    };
    if GOOD.contains(&source.as_str()) {
        return Outcome::Pass;
    }
    let message = format!("this machine's clock is {source}: reading it is slow enough to add to each latency");
    let remedy = "boot with clocksource=tsc if stable (dmesg shows why it was rejected)".to_owned();
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy, [])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged};

    fn with_clock(source: &str) -> Evidence {
        let mut evidence = clean_run();
        let facts = [("current_clocksource".to_owned(), source.to_owned())].into();
        evidence.fingerprint.as_mut().expect("a fingerprint").facts.insert("clock".to_owned(), facts);
        evidence
    }

    #[test]
    fn a_slow_clock_warns_and_a_good_one_passes() {
        assert_eq!(judged(&RULE, &with_clock("kvm-clock")), Outcome::Pass);
        let found = finding(judged(&RULE, &with_clock("hpet")));
        assert_eq!(found.state, FindingState::Warning);
        assert!(found.message.starts_with("this machine's clock is hpet"), "{}", found.message);
        let mut evidence = clean_run();
        evidence.fingerprint = None;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
