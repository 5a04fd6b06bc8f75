//! CL-16: did the client wait for its own memory?

use crate::rules::facts::observed;
use crate::{Check, Outcome, Rule};
use model::human::count;
use model::{Evidence, FindingState};

/// A page of the program itself may be read for the first time during a run; this many are no accident.
const FAULTS_MIN: u64 = 10;

pub(crate) const RULE: Rule = Rule {
    id: "CL-16",
    title: "client waits for memory",
    detects: "a client whose memory had to be brought from a disk while it measured",
    threshold: "10 major page faults or more in the window: warning (own threshold: each may take milliseconds)",
    data: "the kernel's count of the client's major page faults",
    check: Check::Run(check),
};

fn check(evidence: &Evidence) -> Outcome {
    let faults = observed(evidence).and_then(|observed| observed.generator.as_ref()?.major_faults);
    let Some(faults) = faults else {
        return Outcome::Unchecked("the client's page faults are not known");
    };
    if faults < FAULTS_MIN {
        return Outcome::Pass;
    }
    let message = format!(
        "the client waited {} times for a disk to bring its own memory: such pauses look like slow answers",
        count(faults)
    );
    let remedy = "free memory on the client's machine, or switch its swap off".to_owned();
    Outcome::fired(RULE.id, FindingState::Warning, message, remedy, [("major_faults", faults as f64)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_run, generator, state};

    #[test]
    fn many_faults_warn_a_few_do_not_and_unknown_is_unchecked() {
        let mut evidence = clean_run();
        assert_eq!(check(&evidence), Outcome::Pass);
        generator(&mut evidence).major_faults = Some(9);
        assert_eq!(check(&evidence), Outcome::Pass);
        generator(&mut evidence).major_faults = Some(10);
        assert_eq!(state(&check(&evidence)), Some(FindingState::Warning));
        generator(&mut evidence).major_faults = None;
        assert!(matches!(check(&evidence), Outcome::Unchecked(_)));
    }
}
