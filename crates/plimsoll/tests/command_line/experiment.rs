//! `plimsoll experiment`: plans that are printed, and directories that are not gone on with. Nothing is put on a server.

use crate::support::{Program, list, plimsoll, shell, text};

/// Two variants of a URL that nothing listens behind, and two loads.
const FILE: &str = include_str!("grid.toml");

fn experiment(content: &str, args: &[&str]) -> Program {
    plimsoll(["experiment", "x.toml"].iter().chain(args)).with_file("x.toml", content.as_bytes())
}

/// The page on other machines.
const AGENTS: &str = include_str!("../../../../docs/reference/agents.md");

#[test]
fn the_file_for_other_machines_in_the_documentation_is_two_sweeps_and_a_comparison() {
    let (_, after) = AGENTS.split_once("```toml\n").expect("a file");
    let (file, _) = after.split_once("```").expect("its end");
    let ended = experiment(file, &["--dry-run", "-v"]).run();
    let plan = &ended.exits(0).stdout;
    for word in ["plan         7 steps", "--client ssh://load1", "--server-host ssh://web1", "about 3 min"] {
        assert!(plan.contains(word), "{word}\n{plan}");
    }
}

#[test]
fn a_dry_run_prints_the_plan_and_its_duration() {
    let ended = experiment(FILE, &["--dry-run"]).run();
    let expected = "\
experiment   x.toml
plan         8 steps: 2 variants, 2 loads, 2 shuffled blocks, seed 1
planned time about 56.0 s

step  block  variant  load           verb      duration
1     1      page=a   rate=100       run   about 7.00 s
2     1      page=a   connections=4  run   about 7.00 s
3     1      page=b   connections=4  run   about 7.00 s
4     1      page=b   rate=100       run   about 7.00 s
5     2      page=a   connections=4  run   about 7.00 s
6     2      page=a   rate=100       run   about 7.00 s
7     2      page=b   rate=100       run   about 7.00 s
8     2      page=b   connections=4  run   about 7.00 s
";
    assert_eq!(ended.exits(0).stdout, expected);
    assert!(!ended.path("plimsoll-runs").exists(), "nothing is written");
    let plan = experiment(FILE, &["--dry-run", "--json"]).run().exits(0).json();
    assert_eq!((text(&plan, "format"), &plan["steps"][0]["command"][1]), ("plimsoll.plan/1", &"run".into()));
    assert_eq!(experiment(FILE, &["--dry-run", "--json"]).run().exits(0).json(), plan, "the same file, the same plan");
}

/// 18 steps were measured in two minutes, all of which were INVALID for their 3 s.
#[test]
fn windows_that_are_too_short_are_refused_before_the_first_step() {
    let short = FILE.replace("duration = \"5s\"", "duration = \"3s\"");
    assert_ne!(short, FILE);
    let words = ["x.toml: 3 s is below the 5 s that rule LD-04 requires", "use -d 5s or more", "--allow-short-windows"];
    let refused = experiment(&short, &[]).run();
    refused.fails(2, &words);
    assert!(!refused.path("plimsoll-runs").exists(), "nothing is measured");
    let planned = experiment(&short, &["--dry-run"]).run();
    assert!(planned.exits(0).stderr.contains("3 s is below the 5 s"), "{planned:#?}");
}

#[test]
fn the_example_that_is_printed_passes() {
    let example = plimsoll(["experiment", "--print"]).run().exits(0).stdout.clone();
    let ended = experiment(&example, &["--dry-run"]).run();
    assert!(ended.exits(0).stdout.contains("12 steps: 2 variants, 3 loads, 2 shuffled blocks"), "{}", ended.stdout);
}

#[test]
fn the_ladder_is_printed_and_a_file_of_its_name_comes_first() {
    let printed = plimsoll(["experiment", "wordpress-ladder", "--print"]).run().exits(0).stdout.clone();
    assert!(printed.contains("server = \"wordpress children=5 page_cache=nginx cpus=all\""), "{printed}");
    let tables = plimsoll(["experiment", "wordpress-tables", "--print"]).run().exits(0).stdout.clone();
    assert!(tables.contains("name = \"20 connections\"") && tables.contains("verb = \"compare\""), "{tables}");
    let own =
        plimsoll(["experiment", "wordpress-ladder", "--print"]).with_file("wordpress-ladder", b"seed = 2\n").run();
    assert_eq!(own.exits(0).stdout, "seed = 2\n");
    plimsoll(["experiment", "wordpress-leader", "--print"]).run().fails(2, &["wordpress-leader: "]);
}

#[test]
fn a_target_that_does_not_answer_leaves_steps_without_a_result() {
    let ended = experiment(FILE, &["-o", "out", "--json", "-q"]).run();
    let record = ended.exits(3).json();
    assert_eq!((text(&record, "format"), text(&record, "verdict.state")), ("plimsoll.experiment/1", "invalid"));
    assert_eq!(record["steps"].as_array().map(Vec::len), Some(8), "all were tried");
    assert!(text(&record, "steps.0.error").contains("refused") && record["steps"][0]["result"].is_null(), "{record:#}");
    assert_eq!(ended.file("out/run.json"), ended.stdout);
    assert!(list(&ended.path("out/steps")).is_empty(), "nothing was measured");
    assert_eq!(ended.file("out/experiment.toml"), FILE);
    // The same once more is tried again; another experiment is not put into its place.
    let again = "\"$PLIMSOLL\" experiment x.toml -o out -q --json >first 2>&1; sed -i s/5s/6s/ x.toml; \
                 \"$PLIMSOLL\" experiment x.toml -o out";
    let script = shell(again).with_file("x.toml", FILE.as_bytes()).run();
    script.fails(2, &["--output out: it holds another experiment", "\"5s\", not \"6s\""]);
}

#[test]
fn results_of_others_are_not_taken_for_those_of_an_experiment() {
    let ended = shell("mkdir out && echo {} >out/run.json && \"$PLIMSOLL\" experiment x.toml -o out")
        .with_file("x.toml", FILE.as_bytes())
        .run();
    ended.fails(2, &["--output out: there is a result in it already"]);
    let script = "mkdir out && echo '{\"format\":\"x\"}' >out/plan.json && \"$PLIMSOLL\" experiment x.toml -o out";
    let ended = shell(script).with_file("x.toml", FILE.as_bytes()).run();
    ended.fails(2, &["out/plan.json: no plan of an experiment"]);
}

#[test]
fn a_disk_that_takes_nothing_is_told_before_anything_is_measured() {
    experiment(FILE, &["-o", "/dev/null/out"]).run().fails(2, &["--output /dev/null/out", "cannot write there"]);
}
