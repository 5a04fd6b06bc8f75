//! Comparisons of servers whose difference is known.

mod kept;

use crate::support::{Ended, count, decide, decide_watched, list, number, plimsoll, text};
use serde_json::Value;

/// Pools of four workers: 2,000/s and 1,333/s.
const FAST: &str = "target pool=4 pool-time=2ms";
const SLOW: &str = "target pool=4 pool-time=3ms";
/// Some 30 s.
const SHORT: [&str; 11] =
    ["-d", "1s", "--warmup", "0s", "--blocks", "6", "--budget", "36s", "--json", "-q", "--only=saturated"];
/// As little as can be measured.
const ONE_BLOCK: [&str; 8] = ["-d", "1s", "--warmup", "0s", "--blocks", "1", "--json", "-q"];

fn compare(args: &[&str]) -> Ended {
    plimsoll(["compare"].iter().chain(args)).run()
}

/// Its record and exit code.
fn measured(args: &[&str]) -> (Value, Option<i32>) {
    let ended = compare(args);
    (ended.json(), ended.status.code())
}

fn metric<'a>(record: &'a Value, name: &str, load: &str) -> &'a Value {
    let mut all = record["metrics"].as_array().expect("a list").iter();
    all.find(|one| one["metric"] == name && one["load"] == load).unwrap_or_else(|| panic!("no {name}: {record:#}"))
}

#[test]
fn a_slower_pool_is_worse_by_what_is_known_and_a_condition_decides_in_place_of_that() {
    let variants = ["--serve", FAST, "--serve", SLOW, "--name", "fast", "--name", "slow", "--fail-if", "goodput<-60%"];
    decide(
        || measured(&[&variants[..], &SHORT].concat()),
        |(record, code)| {
            assert_eq!((text(record, "format"), *code), ("plimsoll.compare/1", Some(0)), "{record:#}");
            assert_eq!(text(&record["conditions"][0], "state"), "passed", "{record:#}");
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

/// Of 2 and 3 ms of CPU time, and a little for the rest of a response.
#[test]
fn two_servers_at_once_differ_by_the_cpu_time_that_they_are_told_to_use() {
    let variants = ["--serve", "target path=/cpu?us=2000", "--serve", "target path=/cpu?us=3000"];
    let short = [&["--duet", "--budget", "12s", "--name", "two", "--name", "three"][..], &ONE_BLOCK].concat();
    decide(
        || measured(&[&variants[..], &short].concat()),
        |(record, code)| {
            assert_eq!(*code, Some(5), "one block decides nothing: {record:#}");
            let cpu = metric(record, "server_cpu_ns_per_request", "fixed");
            let ratio = number(cpu, "ratio.value");
            assert!((1.3..1.6).contains(&ratio), "{cpu:#}");
            let trials = record["trials"].as_array().expect("a list");
            let placed = |name: &str| -> Vec<u64> {
                // What others disturbed was measured again.
                let counted = trials.iter().filter(|one| one["arm"] == name && one["counted"] == true);
                counted.map(|one| count(one, "cpu_set")).collect()
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
        assert!(read("report.html").contains("title=\"Flame graph: What changed in the CPU time\""));
    });
}
