//! Faults that `cargo xtask injections` makes, a few of them once: the rule that is about each fires, and is silent
//! without it.

#[path = "../../../xtask/src/injections/real/mod.rs"]
pub(crate) mod real;

use crate::support::load_alone;
use real::{Real, Said};
use std::path::Path;

/// What the program says of a script; a machine that cannot have the fault fails the test.
#[track_caller]
fn fired(Real { rule, fault, .. }: &Real, script: &str) -> Vec<String> {
    match real::run(Path::new(env!("CARGO_BIN_EXE_plimsoll")), script) {
        Ok(Said::Judged { state, fired }) => {
            assert_eq!(state, "invalid", "{rule}: windows of 2 s are too short (LD-04)");
            fired
        }
        Ok(Said::Refused(problem) | Said::Impossible(problem)) | Err(problem) => panic!("{rule}: {fault}: {problem}"),
    }
}

#[test]
fn faults_of_answers_and_network_are_found() {
    let _alone = load_alone();
    for rule in ["ER-06", "NE-02"] {
        let real = real::all().find(|real| real.rule == rule).expect("it is made");
        let (with, without) = (fired(real, real.faulty), fired(real, real.clean));
        assert!(with.iter().any(|id| id == rule), "{rule} is silent on {}: {with:?}", real.fault);
        assert!(without.iter().all(|id| id != rule), "{rule} fires without {}: {without:?}", real.fault);
    }
}
