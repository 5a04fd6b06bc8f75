//! CL-10: client throttled by the CPU quota of its control group.

use crate::facts::disturbed::{TAKEN_MIN_S, Taken, left};
use crate::facts::kernel::counter;
use crate::facts::seconds;
use crate::{Applies, Check, Fires, Need, Outcome, Rule, Whose};
use model::human::{plural, time};
use model::{Cause, Evidence, NS_PER_S};

/// Stops of less than this share of the time reach no quantile that is printed.
const WARNING_SHARE: f64 = 0.001;
const CAUSES: &[Cause] = &[Cause::ClientThrottled];
const PART: &str = "cgroup/generator";

pub(crate) const RULE: Rule = Rule {
    id: "CL-10",
    title: "client throttled",
    detects: "The control group of the client stopped it for using up its CPU quota.",
    fires: &[
        Fires::invalid("The client was stopped for more than 75 % of the remaining time."),
        Fires::bound("The client was stopped for more than 5 % of the remaining time."),
        Fires::warning("The client was stopped for more than 0.1 % of the remaining time."),
        Fires::note(
            "The client was stopped for less, but slices were set aside for it; or it was stopped for longer, but a \
             pool of workers that mostly wait was the bottleneck and the CPUs had room.",
        ),
    ],
    remarks: "Slices of 100 ms in which the client was stopped for at least 10 ms are set aside first, and the \
              shares are of the remaining time. Stops of less than 0.1 % of the time reach no quantile up to p99.9, \
              and less than 100 ms in the remaining time count as none.",
    applies: Applies::Always,
    needs: &[Need::Window, Need::ControlGroup(Whose::Clients)],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let stops = counter(evidence, PART, "throttled_periods").zip(counter(evidence, PART, "throttled_ns"));
    let Some((periods, ns)) = stops else {
        return Outcome::Pass; // a group without a quota
    };
    if periods == 0 && ns == 0 {
        return Outcome::Pass;
    }
    let share = left(evidence, CAUSES)
        .unwrap_or_else(|| ns as f64 / NS_PER_S as f64 / seconds(evidence).max(f64::MIN_POSITIVE));
    let facts =
        format!("a CPU quota throttled the client in {}, {} in total", plural(periods, "period"), time(ns as f64));
    let remedy = "remove or raise the client's CPU quota (cpu.max, docker --cpus)";
    let taken = Taken::new(RULE.id, CAUSES, share, facts, remedy);
    Taken { warning_share: WARNING_SHARE, least_s: TAKEN_MIN_S, ..taken }.outcome(evidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, finding, judged, set_counter};
    use model::FindingState;

    fn stopped(periods: u64, ns: u64) -> Evidence {
        let mut evidence = clean_run();
        set_counter(&mut evidence, PART, "throttled_periods", periods);
        set_counter(&mut evidence, PART, "throttled_ns", ns);
        evidence
    }

    #[test]
    fn stops_bound_and_short_ones_warn_or_are_nothing() {
        let found = finding(judged(&RULE, &stopped(40, 2_000_000_000)));
        assert_eq!(found.state, FindingState::Bound);
        assert!(found.message.contains("in 40 periods, 2.00 s in total"), "{}", found.message);
        assert_eq!(finding(judged(&RULE, &stopped(9, 200_000_000))).state, FindingState::Warning);
        assert_eq!(judged(&RULE, &stopped(1, 20_000_000)), Outcome::Pass, "two steps of the kernel's clock");
    }

    #[test]
    fn no_stop_and_no_quota_pass_and_no_group_is_unchecked() {
        assert_eq!(judged(&RULE, &stopped(0, 0)), Outcome::Pass);
        let mut evidence = clean_run();
        let observed = evidence.observed.as_mut().expect("it is observed");
        observed.counters.remove(PART);
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
        let observed = evidence.observed.as_mut().expect("it is observed");
        observed.gauges.insert(PART.to_owned(), [("memory_bytes".to_owned(), Default::default())].into());
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
    }
}
