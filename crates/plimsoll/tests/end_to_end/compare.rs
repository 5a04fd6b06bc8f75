//! Comparisons of servers whose difference is known, and what is kept of one that is ended.

use crate::support::{Ended, Target, count, decide, decide_watched, list, number, plimsoll, text, wait_for};
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;

/// Pools of four workers: 2,000/s and 1,333/s.
const FAST: &str = "target pool=4 pool-time=2ms";
const SLOW: &str = "target pool=4 pool-time=3ms";
/// Some 30 s.
const SHORT: [&str; 11] =
    ["-d", "1s", "--warmup", "0s", "--blocks", "6", "--budget", "30s", "--json", "-q", "--only=saturated"];
/// As little as can be measured.
const ONE_BLOCK: [&str; 8] = ["-d", "1s", "--warmup", "0s", "--blocks", "1", "--json", "-q"];
/// What is written within this time is soon enough.
const SOON: Duration = Duration::from_secs(60);

fn compare(args: &[&str]) -> Ended {
    plimsoll(["compare"].iter().chain(args)).run()
}

fn metric<'a>(record: &'a Value, name: &str, load: &str) -> &'a Value {
    let mut all = record["metrics"].as_array().expect("a list").iter();
    all.find(|one| one["metric"] == name && one["load"] == load).unwrap_or_else(|| panic!("no {name}: {record:#}"))
}

#[test]
fn a_slower_pool_is_worse_by_what_is_known() {
    let variants = ["--serve", FAST, "--serve", SLOW, "--name", "fast", "--name", "slow"];
    decide(
        || {
            let ended = compare(&[&variants[..], &SHORT].concat());
            (ended.json(), ended.status.code())
        },
        |(record, code)| {
            assert_eq!((text(record, "format"), *code), ("plimsoll.compare/1", Some(1)), "{record:#}");
            let goodput = metric(record, "goodput_per_s", "saturated");
            assert_eq!((text(goodput, "call"), text(goodput, "arm")), ("worse", "slow"));
            let (low, high) = (number(goodput, "ratio.low"), number(goodput, "ratio.high"));
            assert!(low < 0.68 && high > 0.65 && high < 0.9, "{goodput:#}");
            assert_eq!(count(goodput, "ratio.n"), 6);
            let orders: Vec<&Value> =
                record["blocks"].as_array().expect("a list").iter().map(|block| &block["order"]).collect();
            assert!(orders.iter().any(|order| *order != orders[0]), "always in the same order: {orders:?}");
            assert!(record["blocks"][0]["canary_cpu_ns_per_request"].is_number(), "{:#}", record["blocks"][0]);
        },
    );
}

#[test]
fn a_condition_decides_in_place_of_the_calls() {
    let variants = ["--serve", FAST, "--serve", SLOW, "--fail-if", "goodput<-60%"];
    decide(
        || {
            let ended = compare(&[&variants[..], &SHORT].concat());
            (ended.json(), ended.status.code())
        },
        |(record, code)| {
            assert_eq!((text(&record["conditions"][0], "state"), *code), ("passed", Some(0)), "{record:#}");
            assert_eq!(text(metric(record, "goodput_per_s", "saturated"), "call"), "worse");
        },
    );
}

#[test]
fn one_server_against_itself_is_started_four_times_a_block_and_asks_for_enough_of_them() {
    let few = ["-d", "1s", "--warmup", "0s", "--blocks", "1", "--budget", "15s", "--json", "-q", "--only=saturated"];
    let ended = compare(&[&["--aa", "--serve", FAST, "--name", "a"][..], &few].concat());
    let record = ended.exits(5).json();
    let names: Vec<&str> =
        record["arms"].as_array().expect("a list").iter().filter_map(|arm| arm["name"].as_str()).collect();
    assert_eq!(names, ["a", "a (2)", "a (3)", "a (4)"]);
    assert_eq!(record["blocks"][0]["order"].as_array().map(Vec::len), Some(4), "{record:#}");
    assert!(text(&record, "aa_floor_basis").contains("needs 6 blocks"), "{record:#}");
}

#[test]
fn variants_that_do_not_answer_alike_are_refused_unless_that_is_wanted() {
    let target = Target::start(&[]);
    let (small, large) = (target.url("/bytes/100"), target.url("/bytes/1000"));
    compare(&[&[&small[..], &large], &SHORT[..]].concat())
        .fails(2, &["do not answer alike", "100 and 1000 bytes", "--allow-different-responses"]);
    let short = [&["--budget", "12s", "--allow-different-responses"][..], &ONE_BLOCK].concat();
    let ended = compare(&[&[&small[..], &large], &short[..]].concat());
    let record = ended.json();
    let rules: Vec<&str> = record["verdict"]["findings"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["rule"].as_str())
        .collect();
    assert!(rules.contains(&"CP-01"), "{rules:?}");
}

#[test]
fn a_variant_that_never_gets_ready_or_ends_is_named() {
    let dead = ["--serve", FAST, "--serve", "command port=18431 -- /bin/false", "--name", "good", "--name", "dead"];
    compare(&[&dead[..], &SHORT].concat()).fails(3, &["'dead'"]);
}

#[test]
fn a_baseline_with_errors_makes_the_comparison_invalid() {
    let variants = ["--serve", "target error-share=0.3", "--serve", "target"];
    let short = [&["--budget", "12s"][..], &ONE_BLOCK].concat();
    let record = compare(&[&variants[..], &short].concat()).exits(4).json();
    assert_eq!(text(&record, "verdict.state"), "invalid");
    assert!(record["metrics"].as_array().expect("a list").iter().all(|one| one["call"] == "cannot_tell"));
}

#[test]
fn an_interrupt_keeps_the_whole_blocks() {
    let args = ["compare", "--serve", FAST, "--serve", SLOW, "-d", "1s", "--warmup", "0s", "--json", "-q"];
    let started = plimsoll(args).start();
    wait_for(SOON, || {
        let run = list(&started.directory().join("plimsoll-runs")).pop()?;
        let events = std::fs::read_to_string(run.join("events.jsonl")).ok()?;
        (events.matches("\"session\":\"compared\"").count() >= 7).then_some(())
    })
    .expect("more than a block is measured");
    started.signal(Signal::INT);
    let ended = started.end();
    let record = ended.exits(130).json();
    assert_eq!((text(&record, "ended"), &record["interrupted"]), ("interrupted", &Value::Bool(true)));
    assert!(record["blocks"][0]["values"].as_object().is_some_and(|arms| arms.len() == 2), "{record:#}");
    assert_eq!(ended.recorded("run.json"), ended.stdout);
}

#[test]
fn stored_runs_are_compared_as_far_as_they_may_be() {
    let target = Target::start(&[]);
    let url = target.url("/sleep?time=2ms");
    let run = |connections: &str| plimsoll(["run", &url, "-c", connections, "-d", "5s", "--warmup", "0s", "-q"]).run();
    let (one, other, more) = (run("4"), run("4"), run("8"));
    let path = |ended: &Ended| ended.run_directory().to_str().expect("UTF-8").to_owned();
    let ended = compare(&[&path(&one), &path(&other), "--json"]);
    assert!([Some(0), Some(1), Some(5), Some(4)].contains(&ended.status.code()), "{ended:#?}");
    let record = ended.json();
    assert_eq!(text(&record, "ended"), "stored");
    let goodput = metric(&record, "goodput_per_s", "stored");
    assert!((number(goodput, "ratio.value") - 1.0).abs() < 0.5, "{goodput:#}");
    assert_ne!(text(goodput, "call"), "same", "two runs are no equivalence");
    let findings = record["verdict"]["findings"].as_array().expect("a list");
    assert!(findings.iter().any(|one| one["rule"] == "CP-03"), "{findings:#?}");
    compare(&[&path(&one), &path(&more)]).fails(2, &["CP-01", "another load", "4 connections", "8 connections"]);
}

/// Needs root, or kernel.perf_event_paranoid=0.
#[test]
fn a_profile_names_the_function_that_the_variant_spends_more_time_in_and_is_in_no_figure() {
    decide_watched(|| {
        let variants = ["--serve", "target path=/bytes/64", "--serve", "target path=/cpu?us=400", "--only=saturated"];
        let flags = ["--profile", "--budget", "12s", "--name=few", "--name=many", "--allow-different-responses"];
        let short = [&flags[..], &ONE_BLOCK].concat();
        let ended = compare(&[&variants[..], &short].concat());
        let record = ended.json();
        let profiles = record["profiles"].as_array().expect("of both");
        assert!(profiles.iter().all(|one| one["unavailable"].is_null()), "{profiles:#?}");
        let functions = profiles[1]["functions"].as_array().expect("a list");
        let burn = functions.iter().find(|one| text(one, "name").contains("burn")).expect("it burns longer");
        assert!(number(burn, "after.share") > number(burn, "before.share") + 0.1, "{burn:#}");
        let events = list(&ended.run_directory().join("points"));
        let trials = record["trials"].as_array().map(Vec::len).expect("a list");
        assert_eq!(
            events.len(),
            2 + trials + 2,
            "two closed loops, the trials, and two profiles that are none of them"
        );
        let run = ended.run_directory();
        let graph = std::fs::read_to_string(run.join("profiles/1-to-2.svg")).expect("it was drawn");
        assert!(graph.contains("few to many") && graph.contains("burn"));
        assert!(run.join("profiles/2/profile.folded").exists() && run.join("profiles/1-to-2-reverse.svg").exists());

        // All of it is in the events.
        let directory = run.to_str().expect("UTF-8");
        std::fs::rename(run.join("run.json"), run.join("before.json")).expect("it is there");
        plimsoll(["report", directory, "--recover"]).run().exits(0);
        let read = |name: &str| std::fs::read_to_string(run.join(name)).expect("a record");
        assert_eq!(read("run.json"), read("before.json"));
        assert!(read("report.html").contains("title=\"Differential flame graph\""));
    });
}
