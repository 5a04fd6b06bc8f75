//! Experiment on hosts of their own: two servers, started on theirs and restarted before each load, are swept over connections
//! and compared, declared in one file.

use super::hosts::on_hosts;
use crate::support::{close_to, decide_watched, list, number, plimsoll, text};
use serde_json::Value;

/// Responses take 20 and 30 ms: by arithmetic 400/s and 267/s with 8 connections.
const FILE: &str = r#"
serve = "php-fpm children=8 sleep={time}"

[[variants.list]]
name = "baseline"
time = "20ms"

[[variants.list]]
name = "instrumented"
time = "30ms"

[flags]
client = ["ssh://h1", "ssh://h2"]
server-host = "ssh://t"
server-ip = "10.77.0.20"
duration = "1s"
warmup = "0s"

[[loads]]
name = "connections"
verb = "sweep"
restart = true
from = 2
to = 8
points = 2
iterations = 1

[[loads]]
name = "side by side"
verb = "compare"
connections = 8
only = "saturated"
blocks = 1
budget = "1m"
"#;

#[test]
fn one_file_gives_the_curves_of_two_servers_and_the_table_of_what_one_costs() {
    on_hosts(|network| {
        decide_watched(|| {
            let program =
                network.plimsoll("known", &["experiment", "x.toml", "-o", "out", "-q", "--allow-short-windows"]);
            let ended = program.with_file("x.toml", FILE.as_bytes()).run();
            network.is_clean();
            let steps = list(&ended.path("out/steps"));
            let results: Vec<Value> = steps
                .iter()
                .map(|step| std::fs::read_to_string(step.join("run.json")).expect("a result"))
                .map(|json| serde_json::from_str(&json).expect("JSON"))
                .collect();
            assert_eq!(results.len(), 3, "two sweeps and a comparison: {ended:#?}");
            for result in &results {
                assert_eq!(text(result, "environment.server_host.name"), "ssh://t");
            }
            let is_compared = |result: &&Value| result["format"] == "plimsoll.compare/1";
            let compared = results.iter().find(is_compared).expect("a comparison");
            assert_eq!(compared["plan"]["without_canary"], true, "neither load nor server is on this machine");
            let goodput = &compared["metrics"][0];
            assert_eq!((text(goodput, "metric"), text(goodput, "arm")), ("goodput_per_s", "instrumented"));
            close_to(number(goodput, "ratio.value"), 2.0 / 3.0, 0.1, "ratio of the servers");
            let run = &compared["runs"][0]["run"];
            assert_eq!(run["agents"].as_array().map(Vec::len), Some(2));
            assert!(number(run, "observed.server.cpu_ns_per_request") > 1_000.0, "{:#}", run["observed"]["server"]);
            let paths: Vec<&str> = steps.iter().map(|step| step.to_str().expect("UTF-8")).collect();
            let report = |paths: &[&str], form: &str| {
                let drawn = plimsoll([&["report"], paths, &["--format", form]].concat()).run();
                drawn.exits(0);
                drawn
            };
            let pictures = report(&paths, "svg");
            for (name, word) in [("curves.svg", "instrumented"), ("forest.svg", "goodput")] {
                assert!(pictures.file(name).contains(word), "{name}");
            }
            let side_by_side = results.iter().position(|result| is_compared(&result)).expect("a comparison");
            let table = &report(&paths[side_by_side..=side_by_side], "overhead").stdout;
            assert!(table.lines().any(|row| row.contains("goodput_per_s,baseline,instrumented,")), "{table}");
        });
    });
}
