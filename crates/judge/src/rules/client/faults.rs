//! CL-16: major page faults of the client.

use crate::facts::observed;
use crate::{Applies, Check, Fires, Need, Outcome, Rule};
use model::human::count;
use model::{Evidence, FindingState};

/// A page of the program itself may be read for the first time during a run; this many are no accident, and each may
/// take milliseconds.
const FAULTS_MIN: u64 = 10;

pub(crate) const RULE: Rule = Rule {
    id: "CL-16",
    title: "major page faults of the client",
    detects: "Memory of the client was read from disk during the measurement.",
    fires: &[Fires::warning("The client had at least 10 major page faults in the window.")],
    remarks: "",
    applies: Applies::Always,
    needs: &[Need::Window, Need::PageFaults],
    conditions: "",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let faults = observed(evidence).and_then(|observed| observed.generator.as_ref()?.major_faults);
    let Some(faults) = faults else {
        return Outcome::UNMET;
    };
    if faults < FAULTS_MIN {
        return Outcome::Pass;
    }
    let message = format!("{} major page faults of the client: these pauses look like slow responses", count(faults));
    let remedy = "free memory on the client machine, or disable swap".to_owned();
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy, [("major_faults", faults as f64)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, generator, judged, state};

    #[test]
    fn many_faults_warn_a_few_do_not_and_unknown_is_unchecked() {
        let mut evidence = clean_run();
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        generator(&mut evidence).major_faults = Some(9);
        assert_eq!(judged(&RULE, &evidence), Outcome::Pass);
        generator(&mut evidence).major_faults = Some(10);
        assert_eq!(state(&judged(&RULE, &evidence)), Some(FindingState::Warning));
        generator(&mut evidence).major_faults = None;
        assert!(matches!(judged(&RULE, &evidence), Outcome::Unchecked(_)));
    }
}
