//! Each rule put to the proof: the fault made up for it, and the same run or sweep without it, judged by all rules.

use crate::examples::{self, Fault};
use crate::testing::{clean_open_run, clean_run, clean_sweep, far_away};
use crate::{judge_run, judge_sweep};
use model::{Evidence, Request, SweepEvidence, Verdict};

/// What all rules say of the fault made up for one of them, and of the same without it.
#[derive(Clone, Debug)]
pub struct SelfTest {
    /// With the fault.
    pub fault: Verdict,
    /// Without it.
    pub clean: Verdict,
}

/// Self-test of rule `id`; none when nobody has made up a fault for it.
#[must_use]
pub fn self_test(id: &str) -> Option<SelfTest> {
    let fault = examples::fault(id)?;
    Some(SelfTest { fault: judged(fault), clean: judged(&clean(id, fault)) })
}

fn judged(fault: &Fault) -> Verdict {
    let run = |mut evidence: Evidence, mutate: &fn(&mut Evidence)| {
        mutate(&mut evidence);
        judge_run(&evidence)
    };
    match fault {
        Fault::Closed(mutate) => run(clean_run(), mutate),
        Fault::Open(mutate) => run(clean_open_run(), mutate),
        Fault::Sweep(sweep) => judge_sweep(&sweep()),
    }
}

/// The run or sweep of `fault` without it.
fn clean(id: &str, fault: &Fault) -> Fault {
    match (id, fault) {
        // Labels of every closed loop, of one page, of a server on this machine, and of every run by itself.
        ("LD-03", _) => Fault::Open(|_| {}),
        ("LD-07", _) => Fault::Closed(|evidence| evidence.plan.requests.push(Request::get("/b"))),
        ("LD-08", _) => Fault::Closed(far_away),
        ("ST-06", _) => Fault::Closed(|evidence| evidence.iterations = 6),
        ("CL-18" | "CL-19", _) => Fault::Closed(|evidence| evidence.agents = examples::unlike_agents(81_000.0)),
        ("SA-02" | "SA-06", _) => Fault::Sweep(close_rates),
        (_, Fault::Closed(_)) => Fault::Closed(|_| {}),
        (_, Fault::Open(_)) => Fault::Open(|_| {}),
        (_, Fault::Sweep(_)) => Fault::Sweep(saturated_curve),
    }
}

/// A sweep that went past its peak, six times.
fn saturated_curve() -> SweepEvidence {
    let mut sweep = clean_sweep(&[(1.0, 100.0), (2.0, 170.0), (4.0, 200.0), (8.0, 201.0)]);
    for point in &mut sweep.points {
        let noise = [0.99, 1.01, 1.0, 0.995, 1.005, 1.0];
        point.iterations_per_s = noise.map(|noise| noise * point.goodput_per_s).to_vec();
    }
    sweep
}

/// A sweep over rates whose last but one was held, and whose last, close above it, was not.
fn close_rates() -> SweepEvidence {
    examples::rates(&[(1000.0, 1000.0), (2000.0, 1999.0), (2030.0, 1950.0)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules;

    #[test]
    fn every_rule_fires_on_its_fault_and_looks_at_the_clean_one_in_silence() {
        let names = |verdict: &Verdict| verdict.findings.iter().map(|finding| finding.rule.clone()).collect::<Vec<_>>();
        let mut problems = Vec::new();
        for rule in rules() {
            let Some(SelfTest { fault, clean }) = self_test(rule.id) else {
                problems.push(format!("no fault was made up for {}", rule.id));
                continue;
            };
            let found = [
                (names(&fault).iter().all(|id| id != rule.id), "is silent on its own fault"),
                (names(&clean).iter().any(|id| id == rule.id), "fires on a clean one"),
                (clean.unchecked.iter().any(|id| id == rule.id), "did not look at the clean one"),
            ];
            problems.extend(found.iter().filter(|(is_so, _)| *is_so).map(|(_, what)| format!("{} {what}", rule.id)));
        }
        assert_eq!(problems, Vec::<String>::new());
        assert!(self_test("XX-01").is_none());
    }
}
