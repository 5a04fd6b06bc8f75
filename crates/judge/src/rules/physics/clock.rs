//! PH-08: can the clock be trusted?

use crate::{Check, Outcome, Rule};
use model::{Evidence, FindingState};

/// Clocks that are read without asking a device or the hypervisor each time.
const GOOD: [&str; 7] =
    ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "xen", "arch_sys_counter", "timebase", "riscv_clocksource"];

pub(crate) const RULE: Rule = Rule {
    id: "PH-08",
    title: "clock",
    detects: "a clock that is asked of a device or the hypervisor each time, which takes long and may stand still",
    threshold: "a clocksource other than tsc, kvm-clock and their like: warning (method of the catalogue)",
    data: "the kernel's clocksource",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let facts = evidence.fingerprint.as_ref().and_then(|fingerprint| fingerprint.facts.get("clock"));
    let Some(source) = facts.and_then(|facts| facts.get("current_clocksource")) else {
        return Outcome::Unchecked("the clock of this machine is not known");
    };
    if GOOD.contains(&source.as_str()) {
        return Outcome::Pass;
    }
    let message = format!("this machine's clock is {source}: reading it takes long enough to be in each latency");
    let remedy = "boot with clocksource=tsc if the CPU's is stable (dmesg says why it was given up)".to_owned();
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy, [])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding};

    fn with_clock(source: &str) -> Evidence {
        let mut evidence = clean_run();
        let facts = [("current_clocksource".to_owned(), source.to_owned())].into();
        evidence.fingerprint.as_mut().expect("a fingerprint").facts.insert("clock".to_owned(), facts);
        evidence
    }

    #[test]
    fn a_slow_clock_warns_and_a_good_one_passes() {
        assert_eq!(check(&with_clock("kvm-clock")), Outcome::Pass);
        let found = finding(check(&with_clock("hpet")));
        assert_eq!(found.state, FindingState::Warning);
        assert!(found.message.starts_with("this machine's clock is hpet"), "{}", found.message);
        let mut evidence = clean_run();
        evidence.fingerprint = None;
        assert!(matches!(check(&evidence), Outcome::Unchecked(_)));
    }
}
