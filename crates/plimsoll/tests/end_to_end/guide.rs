//! Every command of README.md and of the guide, as a shell takes it: against private servers, and shortened.

mod shortened;
mod world;

use crate::support::{Ended, Findings, count, text};
use lab::samples::{Page, pages, split_unquoted};
use serde_json::Value;
use shortened::shortened;
use world::World;

/// Commands that cannot be run here, with the reason. Others are run whatever they are.
const NOT_RUN: [(&str, &str); 0] = [];
/// Exit codes of a command that works: a result of any verdict, but neither a wrong command line nor a server that fails.
const WORKS: [i32; 4] = [0, 1, 4, 5];

/// Makes a test of each page, and the list of them.
macro_rules! pages {
    ($($test:ident: $path:literal,)*) => {
        const TESTED: &[&str] = &[$($path),*];
        $(
            #[test]
            fn $test() {
                commands_work($path);
            }
        )*
    };
}

pages! {
    readme: "README.md",
    coming_from_other_tools: "docs/guide/coming-from-other-tools.md",
    compare_two_configurations: "docs/guide/compare-two-configurations.md",
    find_the_bottleneck: "docs/guide/find-the-bottleneck.md",
    first_test: "docs/guide/first-test.md",
    gate_a_pull_request: "docs/guide/gate-a-pull-request.md",
    how_many_users: "docs/guide/how-many-users.md",
    it_says_invalid: "docs/guide/it-says-invalid.md",
    load_from_another_machine: "docs/guide/load-from-another-machine.md",
    reading_a_result: "docs/guide/reading-a-result.md",
    wordpress: "docs/guide/wordpress.md",
}

/// The parts of a page's commands that are plimsoll's: `make && plimsoll run` has one.
fn commands(page: &Page) -> Vec<String> {
    let lines = page.command_lines().expect("blocks and marks");
    let parts = lines.iter().flat_map(|line| split_unquoted(line, " && "));
    parts.filter(|part| split_unquoted(part, " | ").iter().any(is_ours)).map(str::to_owned).collect()
}

fn is_ours(command: &&str) -> bool {
    command.split(' ').next() == Some("plimsoll")
}

#[test]
fn every_page_with_commands_has_a_test_and_commands_that_are_not_run_stand_on_a_page() {
    let with_commands: Vec<Page> =
        pages().expect("pages").into_iter().filter(|page| !commands(page).is_empty()).collect();
    let paths: Vec<&str> = with_commands.iter().map(|page| &page.path[..]).collect();
    assert_eq!(paths, TESTED, "each needs a line in `pages!`");
    let all: Vec<String> = with_commands.iter().flat_map(commands).collect();
    for (command, why) in NOT_RUN {
        assert!(all.iter().any(|one| one == command), "{command} ({why}) is on no page");
    }
}

#[track_caller]
fn commands_work(path: &str) {
    let page = pages().expect("pages").into_iter().find(|page| page.path == path).expect("the page");
    let mut world = World::new(&page);
    for command in commands(&page).iter().filter(|command| !NOT_RUN.iter().any(|(not_run, _)| not_run == command)) {
        let is_piped = split_unquoted(command, " | ").len() > 1;
        let short = world.redirected(&shortened(command));
        world.provide(&short);
        let ended = world.run(&short);
        let code = ended.status.code().unwrap_or(-1);
        assert!(WORKS.contains(&code), "{path}: {command}\n{short}\n{ended:#?}");
        ended.exits(code);
        if !is_piped && short.ends_with(shortened::AS_JSON) {
            good(&ended, command);
        }
    }
}

/// All that was asked for came, and nothing is held against the server.
#[track_caller]
fn good(ended: &Ended, command: &str) {
    let record = ended.json();
    let measurements: Vec<&Value> = match text(&record, "format") {
        "plimsoll.run/1" => vec![&record],
        _ => record["points"].as_array().expect("a list").iter().collect(),
    };
    assert!(!measurements.is_empty(), "{command}\n{record:#}");
    for measurement in measurements {
        let planned = count(measurement, "requests.planned");
        let is_good = planned > 0 && count(measurement, "requests.good") == planned;
        assert!(is_good || command.contains("error-share="), "{command}\n{:#}", measurement["requests"]);
        if is_good {
            Findings(measurement).nothing_failed();
        }
    }
}
