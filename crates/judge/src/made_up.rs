//! Each rule put to the fault that is made up for it, and to the same load without it.

use crate::testing::{can_say, clean_of, clean_run, fault, run, verdict_of};
use crate::{Rule, judge_run, rules};
use model::{FindingState, Verdict};

fn is_of_surroundings(rule: &&Rule) -> bool {
    ["NE-", "SV-", "EN-"].iter().any(|family| rule.id.starts_with(family))
}

#[test]
fn each_fault_makes_its_rule_fire_with_a_state_that_it_names() {
    for rule in rules() {
        let id = rule.id;
        let verdict = verdict_of(fault(id).unwrap_or_else(|| panic!("no fault was made up for {id}")));
        let found = verdict.findings.into_iter().find(|finding| finding.rule == id);
        let found = found.unwrap_or_else(|| panic!("{id} is silent on its own fault"));
        assert!(can_say(rule.fires, found.state), "{id}: {:?} is not in {:?}", found.state, rule.fires);
        assert!(!found.message.is_empty() && !found.remedy.is_empty() && found.message.len() < 330, "{found:?}");
    }
}

#[test]
fn a_fault_of_the_surroundings_trips_its_own_rule_only() {
    for rule in rules().iter().filter(is_of_surroundings) {
        let id = rule.id;
        let verdict = judge_run(&run(id));
        let others = verdict.findings.iter().filter(|finding| finding.rule != id && finding.state > FindingState::Note);
        // Resets end requests, and a machine that becomes slower lowers goodput: each is another fault.
        let others: Vec<_> = others.filter(|finding| !["ER-01", "ST-05"].contains(&&*finding.rule)).collect();
        assert!(others.is_empty(), "{id}: {others:#?}");
    }
}

#[test]
fn without_anything_observed_no_rule_of_the_surroundings_passes() {
    let mut evidence = clean_run();
    (evidence.observed, evidence.changes) = (None, None);
    evidence.status.clear();
    evidence.service_bins.clear();
    evidence.seconds.clear();
    let unchecked = judge_run(&evidence).unchecked;
    for rule in rules().iter().filter(is_of_surroundings) {
        assert!(unchecked.iter().any(|id| id == rule.id), "{} passed without data", rule.id);
    }
}

#[test]
fn every_rule_fires_on_its_fault_and_looks_at_the_clean_one_in_silence() {
    let names = |verdict: &Verdict| verdict.findings.iter().map(|finding| finding.rule.clone()).collect::<Vec<_>>();
    let mut problems = Vec::new();
    for rule in rules() {
        let Some((fault, clean)) = fault(rule.id).zip(clean_of(rule.id)) else {
            problems.push(format!("no fault was made up for {}", rule.id));
            continue;
        };
        let (fault, clean) = (verdict_of(fault), verdict_of(&clean));
        let found = [
            (names(&fault).iter().all(|id| id != rule.id), "is silent on its own fault"),
            (names(&clean).iter().any(|id| id == rule.id), "fires on a clean one"),
            (clean.unchecked.iter().any(|id| id == rule.id), "did not look at the clean one"),
        ];
        problems.extend(found.iter().filter(|(is_so, _)| *is_so).map(|(_, what)| format!("{} {what}", rule.id)));
    }
    assert_eq!(problems, Vec::<String>::new());
    assert!(fault("XX-01").is_none());
}
