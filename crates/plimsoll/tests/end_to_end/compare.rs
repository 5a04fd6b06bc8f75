//! Comparisons of servers whose difference is known, and what is kept of one that is ended.

use crate::support::{Ended, Target, count, decide, decide_watched, list, mounting, number, plimsoll, text, wait_for};
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
fn a_variant_that_dies_in_a_block_ends_it_and_what_was_measured_is_kept() {
    let (one, other) = (Target::start(&[]), Target::start(&[]));
    let urls = [one.url("/sleep?time=1ms"), other.url("/sleep?time=1ms")];
    let few = ["-d", "1s", "--warmup", "0s", "--blocks", "3", "--only", "saturated", "--no-observe", "--json", "-q"];
    let names = ["--name", "stays", "--name", "dies"];
    let started = plimsoll(["compare", &urls[0], &urls[1]].iter().copied().chain(few).chain(names)).start();
    wait_for(SOON, || {
        let run = list(&started.directory().join("plimsoll-runs")).pop()?;
        let events = std::fs::read_to_string(run.join("events.jsonl")).ok()?;
        (events.matches("\"session\":\"compared\"").count() >= 3).then_some(())
    })
    .expect("a block is measured");
    drop(other);
    let ended = started.end();
    let record = ended.exits(3).json();
    assert_eq!(text(&record, "ended"), "target_gone", "{record:#}");
    assert!(text(&record, "reason").contains("'dies'") && ended.stderr.contains("'dies'"), "{ended:#?}");
    assert_eq!((&record["blocks"][0]["counted"], &record["interrupted"]), (&Value::Bool(true), &Value::Bool(true)));
    assert_eq!(ended.recorded("run.json"), ended.stdout);
}

#[test]
fn a_disk_that_is_full_in_a_block_ends_it_and_whole_blocks_count() {
    // So many files have room: those of all, of two closed loops, of one block, and of the canary of the next.
    let inside = "mkdir d && mount -t tmpfs -o nr_inodes=28 none d
        \"$PLIMSOLL\" compare --serve target --serve target -d 1s --warmup 0s --blocks 3 --only saturated --no-observe --json -q -o d/out";
    let Some(program) = mounting(inside) else { return };
    let ended = program.run();
    let record = ended.exits(2).json();
    assert!(ended.stderr.contains("No space left"), "{ended:#?}");
    let blocks = record["blocks"].as_array().expect("a list");
    let counted = blocks.iter().filter(|block| block["counted"] == true).count();
    assert_eq!((counted, &record["interrupted"]), (1, &Value::Bool(true)), "{record:#}");
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
fn two_servers_at_once_are_refused_where_that_says_nothing() {
    let two = ["--serve", "target", "--serve", "target pool=2"];
    let fails = |args: &[&str], named: &[&str]| {
        compare(&[&["--duet"], args].concat()).fails(2, &[&["--duet"], named].concat());
    };
    fails(&[&two[..], &["--serve", "target pool=3"]].concat(), &["one variant, not for 3"]);
    fails(&[&two[..], &["--only", "saturated"]].concat(), &["fixed load"]);
    fails(&[&two[..], &["--observe", "mariadbd"]].concat(), &["--observe", "share a database"]);
    fails(&[&two[..], &["--status", "http://127.0.0.1:1/"]].concat(), &["--status", "share a database"]);
    fails(&[&two[..], &["--cpus", "0"]].concat(), &["leave out --cpus"]);
    fails(&["--serve", "target cpus=0", "--serve", "target"], &["leave out cpus=", "target cpus=0"]);
    fails(&["--serve", "target port=18432", "--serve", "target pool=2 port=18432"], &["listen on port 18432"]);
}

/// Of 2 and 3 ms of CPU time, and a little for the rest of a response.
#[test]
fn two_servers_at_once_differ_by_the_cpu_time_that_they_are_told_to_use() {
    let variants = ["--serve", "target path=/cpu?us=2000", "--serve", "target path=/cpu?us=3000"];
    let short = [&["--duet", "--budget", "12s", "--name", "two", "--name", "three"][..], &ONE_BLOCK].concat();
    decide(
        || {
            let ended = compare(&[&variants[..], &short].concat());
            (ended.json(), ended.status.code())
        },
        |(record, code)| {
            assert_eq!(*code, Some(5), "one block decides nothing: {record:#}");
            let cpu = metric(record, "server_cpu_ns_per_request", "fixed");
            let ratio = number(cpu, "ratio.value");
            assert!((1.3..1.6).contains(&ratio), "{cpu:#}");
            let trials = record["trials"].as_array().expect("a list");
            let placed = |name: &str| -> Vec<u64> {
                trials.iter().filter(|one| one["arm"] == name).map(|one| count(one, "cpu_set")).collect()
            };
            let (two, three) = (placed("two"), placed("three"));
            assert!(
                two.len() == 2 && three.len() == 2 && two[0] == three[1] && two[1] == three[0],
                "{two:?} {three:?}"
            );
            assert!(two[0] != two[1], "{two:?}");
            let position = &record["positions"][0];
            assert!((0.8..1.25).contains(&number(position, "ratio.value")), "the CPUs are alike: {position:#}");
            assert!(record["plan"]["duet"]["sets"].as_array().is_some_and(|sets| sets.len() == 2), "{record:#}");
            for run in record["runs"].as_array().expect("a list") {
                let threads = run["run"]["observed"]["generator"]["threads"].as_array().expect("a list");
                let names: Vec<&str> = threads.iter().filter_map(|thread| thread["name"].as_str()).collect();
                assert!(names.iter().all(|name| name.starts_with("load1-") || name.starts_with("load2-")), "{names:?}");
                let others = run["run"]["observed"]["others"]["processes"].to_string();
                assert!(others.contains("other variant: plimsoll"), "{others}");
            }
            let findings = record["verdict"]["findings"].to_string();
            assert!(!findings.contains("EN-03") || !findings.contains("other variant"), "{findings}");
        },
    );
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
        // Inlined into it as a loop is, it has other names.
        let rose = |one: &Value| number(one, "after.share") > number(one, "before.share") + 0.1;
        assert!(functions.iter().any(rose), "it burns longer: {functions:#?}");
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
