//! Faults that `cargo xtask injections` makes, each of them once: the rules that are about it fire. A few are measured
//! without it as well, and then these rules are silent.

use crate::support::{Decider, Watched};
use lab::injections::real::{self, Beside, Judged, Maker, Real, Said};

/// Too few descriptors are seen before anything is measured.
const REFUSED: &[&str] = &["CL-06"];

fn maker() -> Maker {
    Maker::new(env!("CARGO_BIN_EXE_plimsoll"))
}

/// What the program says of a script, if it does not refuse to begin because of the fault. A script that fails is for the check
/// to tell: beside noise it proves as little as a silent rule.
fn judged(maker: &Maker, real: &Real, script: &str) -> Watched<Result<Option<Judged>, String>> {
    maker.make(script).map(|said| match said {
        Ok(Said::Judged(judged)) => Ok(Some(judged)),
        Ok(Said::Refused(_)) if real.rules == REFUSED => Ok(None),
        Ok(Said::Refused(problem) | Said::Impossible(problem)) | Err(problem) => Err(problem),
    })
}

#[test]
fn faults_beside_loads_are_found() {
    are_found(Beside::AnyLoads);
}

#[test]
fn faults_beside_idle_loads_are_found() {
    are_found(Beside::IdleLoads);
}

#[test]
fn faults_alone_are_found() {
    are_found(Beside::Nothing);
}

fn are_found(beside: Beside) {
    let (decider, maker) = (Decider::new(), maker());
    let is_found = |real: &'static Real| {
        let measure = || judged(&maker, real, real.faulty);
        decider.decide(real.fault, measure, |judged| {
            let judged = judged.value.as_ref().unwrap_or_else(|problem| panic!("{:?}: {problem}", real.rules));
            let Some(judged) = judged else { return };
            let silent = judged.silent(real.rules);
            assert!(silent.is_empty(), "{silent:?} are silent on {}; fired: {:?}", real.fault, judged.findings);
        });
    };
    real::each(real::that_bear(beside), |real| real, is_found);
}

#[test]
fn without_a_fault_its_rule_is_silent() {
    let (decider, maker) = (Decider::new(), maker());
    for rule in ["ER-06", "NE-02"] {
        let real = real::all().find(|real| real.rules == [rule]).expect("it is made");
        decider.decide(
            rule,
            || judged(&maker, real, real.clean),
            |judged| {
                let judged = judged.value.as_ref().unwrap_or_else(|problem| panic!("{rule}: {problem}"));
                let judged = judged.as_ref().expect("nothing is wrong with it");
                assert_eq!(
                    judged.record["verdict"]["state"], "invalid",
                    "{rule}: windows of 2 s are too short (LD-04)"
                );
                assert!(!judged.tells(rule), "{rule} fires without {}: {:?}", real.fault, judged.findings);
            },
        );
    }
}
