//! SV-04: server throttled by its CPU quota.

use crate::facts::disturbed::{Taken, left, taken};
use crate::facts::kernel::{counter, gauge, share};
use crate::{About, Applies, BesideLimiter, Check, Fires, Need, Outcome, Rule, Whose};
use model::human::{count, percent};
use model::{Cause, Evidence, FindingState, NS_PER_S};

const CHANGED: &[Cause] = &[Cause::ServerQuota];
/// Part of the periods from which the quota is what limits.
const WARNING_SHARE: f64 = 0.05;

pub(crate) const RULE: Rule = Rule {
    id: "SV-04",
    title: "server throttled by its CPU quota",
    detects: "The control group of the server stopped it at its CPU quota (cpu.max, the CPU limit of a container).",
    fires: &[
        Fires::invalid("A quota that was changed stopped the server for more than 75 % of the remaining time."),
        Fires::bound("A quota that was changed stopped the server for more than 5 % of the remaining time."),
        Fires::warning(
            "A constant quota stopped the server in more than 5 % of its periods, or a changed one for more than 1 % \
             of the remaining time.",
        ),
        Fires::note(
            "A constant quota stopped the server in fewer periods; or a changed one stopped it for less, but slices \
             were set aside for it, or for longer, but a pool of workers that mostly wait was the bottleneck and the \
             CPUs had room.",
        ),
    ],
    remarks: "Slices of 100 ms in which a changed quota stopped the server for at least 10 ms are set aside first, \
              and the shares are of the remaining time.",
    applies: Applies::Always,
    needs: &[Need::Window, Need::ControlGroup(Whose::Servers)],
    conditions: "",
    check: Check::Run(check),
};

pub(crate) const BESIDE: BesideLimiter = BesideLimiter { rule: RULE.id, about: About::Limits(&["cpu-quota-limited"]) };

fn check(evidence: &Evidence) -> Outcome {
    let quota = gauge(evidence, "cgroup/server", "cpu_quota_ns_per_s");
    let (Some(quota), Some(stopped)) = (quota, counter(evidence, "cgroup/server", "throttled_periods")) else {
        return Outcome::Pass; // a group without a quota
    };
    if stopped == 0 {
        return Outcome::Pass;
    }
    if taken(evidence, CHANGED).is_some_and(|share| share > 0.0) {
        let facts = format!(
            "the server's CPU quota was changed during the measurement ({:.2} CPUs) and throttled it",
            quota.mean / NS_PER_S as f64
        );
        let share = left(evidence, CHANGED).unwrap_or(0.0);
        let remedy = "keep the quota constant (cpu.max, docker update), and measure again";
        return Taken::new(RULE.id, CHANGED, share, facts, remedy).outcome(evidence);
    }
    let share = share(stopped, counter(evidence, "cgroup/server", "periods").unwrap_or(0).max(stopped));
    let state = if share > WARNING_SHARE { FindingState::Warning } else { FindingState::Note };
    let cpus = quota.mean / NS_PER_S as f64;
    let message = format!(
        "the server was throttled by CFS in {} periods ({}) at its quota of {cpus:.2} CPUs",
        count(stopped),
        percent(share)
    );
    let remedy = "quote the quota with the result, or raise it (cpu.max, docker --cpus, CPUQuota=)".to_owned();
    let figures = [("throttled_periods", stopped as f64), ("share", share), ("quota_cpus", cpus)];
    Outcome::fired(RULE.id, state, message, remedy, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, judged, set_counter, set_gauge, state};

    #[test]
    fn the_part_of_the_periods_decides_and_without_a_quota_nothing_is_stopped() {
        for (stopped, expected) in [(0, None), (15, Some(FindingState::Note)), (16, Some(FindingState::Warning))] {
            let mut evidence = clean_run();
            set_gauge(&mut evidence, "cgroup/server", "cpu_quota_ns_per_s", 500_000_000);
            set_counter(&mut evidence, "cgroup/server", "periods", 300);
            set_counter(&mut evidence, "cgroup/server", "throttled_periods", stopped);
            assert_eq!(state(&judged(&RULE, &evidence)), expected, "{stopped}");
        }
        let mut evidence = clean_run();
        let observed = evidence.observed.as_mut().expect("seen");
        observed.counters.remove("cgroup/server");
        observed.gauges.remove("cgroup/server");
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
