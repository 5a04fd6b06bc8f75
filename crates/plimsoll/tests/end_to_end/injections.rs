//! Faults that `cargo xtask injections` makes, each of them once: the rules that are about it fire and name it, and no others
//! do but those that it brings with it. A few are measured without it as well, and then these rules are silent.

use crate::support::{Decider, Watched, count, text};
use lab::injections::real::{self, Beside, Judged, Maker, ON_ANY_LOAD, Real, Said};
use serde_json::Value;

/// Too few descriptors are seen before anything is measured.
const REFUSED: &[&str] = &["CL-06"];

/// What findings of some rules have to name, whose names and numbers come a long way: from the set-up over what was observed.
const NAMED: &[(&str, &[&str])] = &[
    ("CL-10", &["quota"]),
    ("ER-04", &["overloaded from ", " connections: ", "a failure takes"]),
    ("ER-11", &["X-Varnish: "]),
    ("NE-01", &["the server's accept queue was full ", "hold 256 connections instead of 1 ("]),
    ("SV-01", &["php-fpm's 2 workers were ", "requests waiting"]),
    ("SV-03", &["1 process of nginx ended"]),
    ("EN-03", &["bash"]),
    ("EN-06", &["nginx.conf", "of nginx"]),
];

/// Fails unless the findings of the rules say what they have to name, in their message or their remedy.
#[track_caller]
fn is_named(rules: &[&str], record: &Value) {
    let findings = record["verdict"]["findings"].as_array().expect("a list");
    for (rule, named) in NAMED.iter().filter(|(rule, _)| rules.contains(rule)) {
        let finding = findings.iter().find(|finding| finding["rule"] == *rule).expect("it fired");
        let said = format!("{} {}", text(finding, "message"), finding["remedy"]);
        let missing: Vec<&&str> = named.iter().filter(|part| !said.contains(**part)).collect();
        assert!(missing.is_empty(), "{rule} does not name {missing:?}: {said}");
    }
}

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
            let unexpected = real.unexpected(judged);
            assert!(unexpected.is_empty(), "{unexpected:?} fired on {}: {:#}", real.fault, judged.record["verdict"]);
            is_named(real.rules, &judged.record);
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

/// In a network of its own, so that what other programs do to the kernel's counters is not in them.
#[test]
fn a_load_that_nothing_is_wrong_with_trips_no_rule_but_those_about_the_machine() {
    let (decider, maker) = (Decider::new(), maker());
    for more in ["", "--no-keepalive", "-R 1000"] {
        let script = format!("measure run -c 16 -d 2s --warmup 0s {more}");
        decider.decide(
            more,
            || maker.make(&script),
            |said| {
                let Ok(Said::Judged(judged)) = &said.value else { panic!("{more}: there is no result") };
                assert!(count(&judged.record, "requests.good") > 100, "{more}: {:#}", judged.record);
                let fired: Vec<&str> = judged.fired().filter(|rule| !ON_ANY_LOAD.contains(rule)).collect();
                assert!(fired.is_empty(), "{more:?} {fired:?}: {:#}", judged.record["verdict"]);
            },
        );
    }
}
