//! Faults that `cargo xtask injections` makes, each of them once: the rules that are about it fire. A few are measured
//! without it as well, and then these rules are silent.

#[path = "../../../xtask/src/injections/real/mod.rs"]
pub(crate) mod real;

use crate::support::load_alone;
use real::{Judged, Real, Said};
use std::path::Path;

/// Too few descriptors are seen before anything is measured.
const REFUSED: &[&str] = &["CL-06"];
/// Measured anew where other programs kept a fault from showing.
const ATTEMPTS: usize = 3;

/// What the program says of a script, if it does not refuse to begin because of the fault.
#[track_caller]
fn judged(Real { rules, fault, .. }: &Real, script: &str) -> Option<Judged> {
    match real::run(Path::new(env!("CARGO_BIN_EXE_plimsoll")), script) {
        Ok(Said::Judged(judged)) => Some(judged),
        Ok(Said::Refused(_)) if *rules == REFUSED => None,
        Ok(Said::Refused(problem) | Said::Impossible(problem)) | Err(problem) => {
            panic!("{rules:?}: {fault}: {problem}")
        }
    }
}

/// Makes a fault until its rules fire or plimsoll refuses to begin.
fn is_found(real: &Real) {
    let mut told = Vec::new();
    while let Some(judged) = judged(real, real.faulty).filter(|judged| !judged.silent(real.rules).is_empty()) {
        told.push(judged.findings);
        assert!(told.len() < ATTEMPTS, "{:?} are silent on {}; fired: {told:?}", real.rules, real.fault);
    }
}

#[test]
fn faults_of_one_machine_are_found() {
    let _alone = load_alone();
    real::each(real::all().collect(), |real| real, is_found);
}

#[test]
fn without_a_fault_its_rule_is_silent() {
    let _alone = load_alone();
    for rule in ["ER-06", "NE-02"] {
        let real = real::all().find(|real| real.rules == [rule]).expect("it is made");
        let judged = judged(real, real.clean).expect("nothing is wrong with it");
        assert_eq!(judged.record["verdict"]["state"], "invalid", "{rule}: windows of 2 s are too short (LD-04)");
        assert!(!judged.tells(rule), "{rule} fires without {}: {:?}", real.fault, judged.findings);
    }
}
