//! ST-06: too few iterations for a confidence interval.

use crate::{Applies, Check, Fires, Outcome, Rule};
use model::human::plural;
use model::{Evidence, FindingState, SweepEvidence, SweepPoint};
use stats::RUNS_MIN;

pub(crate) const RULE: Rule = Rule {
    id: "ST-06",
    title: "few iterations",
    detects: "There were too few measurements for a confidence interval.",
    fires: &[
        Fires::invalid("A comparison has no whole block that counts."),
        Fires::note("A load had fewer than 6 iterations, or a comparison or a page render had fewer than 6 blocks."),
    ],
    remarks: "Intervals of so few values (Student's t) are too wide.",
    applies: Applies::Always,
    needs: &[],
    conditions: "",
    check: Check::Both { run: check, sweep: check_sweep },
};

fn check(evidence: &Evidence) -> Outcome {
    if evidence.iterations as usize >= RUNS_MIN {
        return Outcome::Pass;
    }
    fired(u64::from(evidence.iterations), "one run: variation between runs unknown".to_owned())
}

fn check_sweep(sweep: &SweepEvidence) -> Outcome {
    let Some(fewest) = sweep.points.iter().map(|point| point.iterations_per_s.len()).min() else {
        return Outcome::UNMET;
    };
    if fewest >= RUNS_MIN {
        return Outcome::Pass;
    }
    let n = plural(fewest as u64, "iteration");
    let message = format!("{n} of each load: too few for a confidence interval of each");
    // Iterations of which next to nothing was undisturbed do not count.
    let is_lost = |point: &SweepPoint| (point.iterations_per_s.len() as u64) < u64::from(point.evidence.iterations);
    match sweep.points.iter().any(is_lost) {
        true => with(
            fewest as u64,
            message,
            "end what disturbs this machine: iterations that were disturbed too much do not count; or measure more of them \
             (--iterations)",
        ),
        false => fired(fewest as u64, message),
    }
}

fn fired(n: u64, message: String) -> Outcome {
    with(n, message, "before comparing, sweep --iterations 6, with --restart if plimsoll starts the server")
}

fn with(n: u64, message: String, remedy: &str) -> Outcome {
    Outcome::fired(RULE.id, FindingState::Note, message, remedy.to_owned(), [("iterations", n as f64)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, clean_sweep, finding, judged, judged_sweep};

    #[test]
    fn fewer_than_six_are_noted() {
        let mut evidence = clean_run();
        assert_eq!(finding(judged(&RULE, &evidence)).state, FindingState::Note);
        evidence.iterations = 6;
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        let mut sweep = clean_sweep(&[(1.0, 100.0), (2.0, 200.0)]);
        assert!(finding(judged_sweep(&RULE, &sweep)).message.starts_with("2 iterations of each load"));
        sweep.points.iter_mut().for_each(|point| point.iterations_per_s = vec![100.0; 6]);
        assert_eq!(judged_sweep(&RULE, &sweep), Outcome::Pass);
        sweep.points.clear();
        assert!(matches!(judged_sweep(&RULE, &sweep), Outcome::Unchecked(_)));
    }
}
