//! `plimsoll rules`: the list, the explanation of one, and the page that is made from them.

use crate::support::{plimsoll, text};

const PAGE: &str = include_str!("../../../../docs/reference/rules.md");

#[test]
fn every_rule_has_a_line_and_those_that_cannot_be_checked_a_reason() {
    let record = plimsoll(["rules", "--json"]).run().exits(0).json();
    assert_eq!(text(&record, "format"), "plimsoll.rules/2");
    let listed = plimsoll(["rules"]).run();
    let lines: Vec<&str> = listed.exits(0).stdout.lines().collect();
    let cards = record["rules"].as_array().expect("a list");
    assert!(cards.len() > 50, "{} rules", cards.len());
    for card in cards {
        let id = text(card, "id");
        let line = lines.iter().find(|line| line.starts_with(id)).unwrap_or_else(|| panic!("{id} is not listed"));
        assert_eq!(card["judges"].as_array().map(Vec::is_empty), Some(card["later"].is_string()), "{card:#}");
        if !card["own"].is_null() {
            assert!(line.contains(text(card, "title")), "{line}");
            assert!(["run", "sweep", "render"].iter().any(|verb| line.contains(verb)), "{line}");
        }
    }
}

#[test]
fn one_rule_is_explained_with_an_example_and_a_slip_is_told() {
    let told = plimsoll(["rules", "er-02"]).run();
    let told = &told.exits(0).stdout;
    for part in [
        "ER-02        redirect measured",
        "             Redirects were counted as pages.",
        "INVALID      At least one response had a status from 300 to 399",
        "judges       run, sweep, audit",
        "states       INVALID: Some number must not be used, and the exit code is 4.",
        "INVALID ER-02  all 1,000,000 responses were redirects (status 302) to http://127.0.0.1:8080/home",
        "-> measure http://127.0.0.1:8080/home instead",
    ] {
        assert!(told.contains(part), "{part:?} is not in {told}");
    }
    let later = plimsoll(["rules", "CP-02"]).run();
    assert!(later.exits(0).stdout.contains("not checked  not yet: each result of compare has one"), "{later:#?}");
    let shuffled = plimsoll(["rules", "CP-04"]).run();
    assert!(shuffled.exits(0).stdout.contains("not yet: compare and experiment shuffle it"), "{shuffled:#?}");
    plimsoll(["rules", "ER-20"]).run().fails(2, &["\"ER-20\"", "did you mean ER-02"]);
    plimsoll(["rules", "speed"]).run().fails(2, &["\"speed\"", "plimsoll rules lists them"]);
    let one = plimsoll(["rules", "NE-01", "--json"]).run().exits(0).json();
    assert_eq!(text(&one, "rules.0.example.state"), "invalid");
}

#[test]
fn the_page_is_the_one_that_the_rules_make() {
    let made = plimsoll(["rules", "--markdown"]).run();
    assert!(
        made.exits(0).stdout == PAGE,
        "docs/reference/rules.md is not what the rules say; write it with: cargo xtask docs"
    );
}

/// Each has a row of its own, in the order of the record.
#[test]
fn a_rule_tells_each_of_its_states_with_when_it_fires() {
    let all = plimsoll(["rules", "--json"]).run().exits(0).json();
    let rules = all["rules"].as_array().unwrap();
    let fires = |text: &serde_json::Value| text["fires"].as_array().cloned().unwrap_or_default();
    let states: usize = rules.iter().map(|rule| fires(&rule["own"]).len()).sum();
    assert!(states > 100, "{states}");
    let told = plimsoll(["rules", "EN-03"]).run();
    let labels = told.exits(0).stdout.lines().filter_map(|line| line.split_whitespace().next());
    let labels: Vec<&str> = labels.filter(|word| ["INVALID", "BOUND", "WARNING", "NOTE"].contains(word)).collect();
    let rule = rules.iter().find(|rule| rule["id"] == "EN-03").unwrap();
    let named: Vec<String> = fires(&rule["own"]).iter().map(|fires| text(fires, "state").to_uppercase()).collect();
    assert_eq!(labels[..named.len()], named);
}
