//! `plimsoll VERB @FILE`: flags from a file.

use crate::support::{Target, count, plimsoll, text};

#[test]
fn flags_of_a_file_are_those_of_the_run_and_what_is_typed_replaces_them() {
    let target = Target::start(&[]);
    let file = format!("url = \"{}\"\nrequests = 300\nconnections = 3\nwarmup = \"0s\"\n", target.url("/bytes/64"));
    let run = |typed: &[&str]| {
        let program = plimsoll(["run", "@load.toml", "--json", "-q"].iter().chain(typed));
        program.with_file("load.toml", file.as_bytes()).run().measured().json()
    };
    let record = run(&[]);
    assert_eq!(text(&record, "plan.target.url"), target.url("/bytes/64"));
    assert_eq!((count(&record, "plan.load.connections"), count(&record, "requests.good")), (3, 300));
    let typed = run(&["-c", "2", "-n", "200"]);
    assert_eq!((count(&typed, "plan.load.connections"), count(&typed, "requests.good")), (2, 200));
}

#[test]
fn a_mistake_in_a_file_of_flags_is_named_with_its_place() {
    let refused = |content: &str, words: &[&str]| {
        let ended = plimsoll(["run", "@load.toml"]).with_file("load.toml", content.as_bytes()).run();
        ended.fails(2, words);
        assert!(!ended.path("plimsoll-runs").exists(), "an empty directory is left");
    };
    refused(
        "\n\nurl = \"http://h/\"\ndurations = \"5s\"\n",
        &["load.toml:4:1:", "\"durations\"", "did you mean \"duration\"?"],
    );
    refused("url = \"http://h/\"\nduration = \"soon\"\n", &["load.toml:2:", "soon", "is not a duration"]);
    refused("url = \n", &["load.toml:1:"]);
    plimsoll(["run", "@missing.toml"]).run().fails(2, &["missing.toml", "No such file"]);
}
