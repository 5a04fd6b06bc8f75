//! CL-10: did a control group stop the client?

use crate::rules::facts::{observed, seconds};
use crate::rules::kernel::counter;
use crate::{Check, Outcome, Rule};
use model::human::{plural, time};
use model::{Evidence, FindingState, NS_PER_S};

/// Stops of less than this share of the time reach no quantile that is printed.
const WARNING_SHARE: f64 = 0.001;
const PART: &str = "cgroup/generator";

pub(crate) const RULE: Rule = Rule {
    id: "CL-10",
    title: "client throttled",
    detects: "a client that was stopped because the CPU quota of its control group was used up",
    threshold: "any stop: invalid; a warning up to 0.1 % of the time in all (own threshold), which p99.9 does not see",
    data: "the counters of the client's control group",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let stops = counter(evidence, PART, "throttled_periods").zip(counter(evidence, PART, "throttled_ns"));
    let Some((periods, ns)) = stops else {
        let gauges = observed(evidence).and_then(|observed| observed.gauges.get(PART));
        // A group is known and has no quota: nothing can stop it.
        return match gauges.is_some_and(|gauges| !gauges.contains_key("cpu_quota_ns_per_s")) {
            true => Outcome::Pass,
            false => Outcome::Unchecked("the client's control group is not known"),
        };
    };
    if periods == 0 && ns == 0 {
        return Outcome::Pass;
    }
    let share = ns as f64 / NS_PER_S as f64 / seconds(evidence).max(f64::MIN_POSITIVE);
    let state = if share <= WARNING_SHARE { FindingState::Warning } else { FindingState::Invalid };
    let message = format!(
        "a CPU quota stopped the client in {}, {} in all: such stops are in the latencies and missing in the goodput",
        plural(periods, "period"),
        time(ns as f64)
    );
    let remedy = "run the client without a quota (cpu.max, docker --cpus), or with a larger one".to_owned();
    let figures = [("throttled_periods", periods as f64), ("throttled_ns", ns as f64), ("share", share)];
    Outcome::fired(RULE.id, state, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, set_counter};

    fn stopped(periods: u64, ns: u64) -> Evidence {
        let mut evidence = clean_run();
        set_counter(&mut evidence, PART, "throttled_periods", periods);
        set_counter(&mut evidence, PART, "throttled_ns", ns);
        evidence
    }

    #[test]
    fn a_stop_invalidates_and_a_short_one_warns() {
        let found = finding(check(&stopped(40, 2_000_000_000)));
        assert_eq!(found.state, FindingState::Invalid);
        assert!(found.message.contains("in 40 periods, 2.00 s in all"), "{}", found.message);
        assert_eq!(finding(check(&stopped(1, 20_000_000))).state, FindingState::Warning);
    }

    #[test]
    fn no_stop_and_no_quota_pass_and_no_group_is_unchecked() {
        assert_eq!(check(&stopped(0, 0)), Outcome::Pass);
        let mut evidence = clean_run();
        let observed = evidence.observed.as_mut().expect("it is observed");
        observed.counters.remove(PART);
        assert!(matches!(check(&evidence), Outcome::Unchecked(_)));
        let observed = evidence.observed.as_mut().expect("it is observed");
        observed.gauges.insert(PART.to_owned(), [("memory_bytes".to_owned(), Default::default())].into());
        assert_eq!(check(&evidence), Outcome::Pass);
    }
}
