//! `plimsoll render`, as far as it needs no browser: secrets in a URL, programs that are no browser, and stored renders.

use crate::support::{Program, plimsoll};

/// A URL nothing listens behind; it must not get that far.
const NOWHERE: &str = "http://127.0.0.1:1/";
/// A page render as it is stored.
const RENDER: &str = include_str!("../../../report/tests/stored/render");
/// A run as it is stored.
const RUN: &str = include_str!("../../../report/tests/stored/run");

#[track_caller]
fn refused(args: &[&str], named: &[&str]) {
    plimsoll(["render"].iter().chain(args)).run().fails(2, named);
}

#[test]
fn credentials_in_a_url_are_refused_and_not_repeated() {
    let ended = plimsoll(["render", "http://user:hunter2secret@127.0.0.1:1/"]).run();
    ended.fails(2, &["credentials"]);
    assert!(!ended.stderr.contains("hunter2secret"), "{ended:#?}");
}

#[test]
fn a_browser_that_is_not_there_or_none_is_told_in_one_line() {
    refused(&[NOWHERE, "--browser", "/no/such/browser"], &["/no/such/browser: there is no such program"]);
    refused(&[NOWHERE, "--browser", "false"], &["the browser ended with exit code 1"]);
    refused(&[NOWHERE, "--browser", "cat"], &["the browser ended with exit code 1", "--headless"]);
}

/// The arguments where results are stored below these names.
fn beside(args: &[&str], stored: &[(&str, &str)]) -> Program {
    let program = plimsoll(args);
    for (name, text) in stored {
        let directory = program.directory().join(name);
        std::fs::create_dir(&directory).expect("our own directory");
        std::fs::write(directory.join("run.json"), text).expect("a file in it");
    }
    program
}

#[test]
fn a_stored_render_is_printed_and_has_a_page() {
    let ended = beside(&["report", "before"], &[("before", RENDER)]).run();
    let text = &ended.exits(0).stdout;
    assert!(text.contains("page         http://h/\n") && text.contains("largest contentful paint (LCP)"), "{text}");
    assert!(text.ends_with("\npage: before/report.html\n"), "{text}");
    assert!(ended.file("before/report.html").contains("<h3>Quantities</h3>"));
}

#[test]
fn two_stored_renders_are_compared_and_nothing_else_with_them() {
    // Each load takes half of the time.
    let mut faster: serde_json::Value = serde_json::from_str(RENDER).expect("a record");
    for load in faster["loads"].as_array_mut().expect("a list") {
        load["lcp_ns"] = (load["lcp_ns"].as_u64().expect("ns") / 2).into();
    }
    let faster = faster.to_string();
    let stored = [("before", RENDER), ("after", faster.as_str()), ("run", RUN)];
    let compared = beside(&["compare", "before", "after", "--json"], &stored).run().exits(0).json();
    let primary = compared["effects"].as_array().expect("a list").iter().find(|effect| effect["primary"] == true);
    let primary = primary.expect("the largest contentful paint");
    assert_eq!((&primary["call"], &primary["method"]), (&"better".into(), &"rank_sum".into()), "{primary:#}");
    let told = beside(&["compare", "before", "after"], &stored).run();
    let told = told.exits(0).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("the two results are of different times"), "{told}");
    beside(&["compare", "after", "before"], &stored).run().exits(1);
    beside(&["compare", "before", "run"], &stored)
        .run()
        .fails(2, &["a page render is compared with one other page render"]);
    let asked = ["compare", "before", "after", "--fail-if", "cpu>2%"];
    beside(&asked, &stored).run().fails(2, &["--fail-if", "are for runs"]);
    let kept = beside(&["compare", "before", "after", "-o", "change"], &stored).run();
    assert!(kept.exits(0).file("change/run.json").contains("rank_sum"));
}
