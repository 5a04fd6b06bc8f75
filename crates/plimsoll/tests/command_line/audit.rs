//! `plimsoll audit`, from outside: exit codes, what is printed where, and what is refused.

use crate::support::{Ended, Program, number, plimsoll, shell, text};
use std::path::PathBuf;

fn fixture(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../audit/tests/audit/fixtures");
    std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// `plimsoll audit ARGS` beside these fixtures.
fn audit(args: &[&str], fixtures: &[&str]) -> Ended {
    let program = plimsoll(["audit"].iter().chain(args));
    fixtures.iter().fold(program, |program: Program, name| program.with_file(name, &fixture(name))).run()
}

#[test]
fn an_overloaded_server_is_told_with_exit_code_4() {
    let context = ["--pidstat", "blog-pidstat.txt", "--pidstat-rate", "210", "--cores", "128", "--ss", "blog-ss.txt"];
    let args = [&["blog-uncached-wrk.txt", "--nofile", "1024"], &context[..]].concat();
    let ended = audit(&args, &["blog-uncached-wrk.txt", "blog-pidstat.txt", "blog-ss.txt"]);
    let said = &ended.exits(4).stdout;
    for part in [
        "INVALID      do not use these numbers (CL-06, ER-01, PH-01, PH-02)\ngoodput      941/s\n",
        "failed       82.7 %\n",
        "connections  1,006 open of 10,000 asked for\n",
        "BOUND   ER-05  236 requests",
        "not checked  13 rules, for want of data in the output (-v lists them)",
    ] {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
    assert_eq!(ended.stderr, "");
    assert!(!ended.path("plimsoll-runs").exists(), "an audit is no run");
}

#[test]
fn json_is_one_object_with_a_format() {
    let record = audit(&["wrk.txt", "--json"], &["wrk.txt"]).exits(0).json();
    assert_eq!((text(&record, "format"), text(&record, "tool")), ("plimsoll.audit/1", "wrk"));
    assert!((number(&record, "goodput_per_s.value") - 32_903.6).abs() < 1.0, "{record:#}");
    assert_eq!(text(&record, "verdict.state"), "bound");
    assert!(record["claims"].as_array().is_some_and(|claims| claims.len() > 10), "{record:#}");
}

#[test]
fn stdin_is_a_file_too() {
    let script = "\"$PLIMSOLL\" audit - --expect-size 2048 <urandom-ab.txt";
    let ended = shell(script).with_file("urandom-ab.txt", &fixture("urandom-ab.txt")).run();
    assert!(ended.exits(4).stdout.contains("INVALID ER-03  a body has 22 bytes, not the declared 2,048"), "{ended:#?}");
    plimsoll(["audit", "-", "-"]).run().fails(2, &["-: stdin can be read once"]);
}

#[test]
fn results_that_have_nothing_in_common_get_no_ratio() {
    let ended = audit(&["wrk-minutes.txt", "wrk2.txt"], &["wrk-minutes.txt", "wrk2.txt"]);
    let said = &ended.exits(4).stdout;
    assert!(said.contains("different load mode (closed, open)"), "{said}");
    let record = audit(&["wrk-minutes.txt", "wrk2.txt", "--json"], &["wrk-minutes.txt", "wrk2.txt"]).exits(4).json();
    assert_eq!(text(&record, "format"), "plimsoll.audits/1");
    assert!(record["goodput_ratios"].is_null(), "{record:#}");
    // The same load twice, the second time a little faster.
    let faster =
        String::from_utf8(fixture("oha.txt")).unwrap().replace("23805.1234", "24000.5").replace("714132", "720044");
    let program = plimsoll(["audit", "a", "b", "--json"]).with_file("a", &fixture("oha.txt"));
    let record = program.with_file("b", faster.as_bytes()).run().exits(0).json();
    let ratio = record["goodput_ratios"][1].as_f64().expect("a ratio");
    assert!((ratio - 1.00828).abs() < 1e-4, "{record:#}");
}

#[test]
fn every_rate_of_a_text_must_be_in_an_output() {
    let program = plimsoll(["audit", "wrk-minutes.txt", "--text", "report.md"]);
    let program = program.with_file("wrk-minutes.txt", &fixture("wrk-minutes.txt"));
    program.with_file("report.md", b"It does 20,650 req/s.").run().exits(0);
    let ended = audit(&["wrk-minutes.txt", "--text", "blog-report.md"], &["wrk-minutes.txt", "blog-report.md"]);
    assert!(ended.exits(4).stdout.contains("INVALID RP-11  none of the"), "{ended:#?}");
    // Without any output there is nothing that could bear it out.
    audit(&["--text", "blog-report.md"], &["blog-report.md"]).exits(4);
}

/// What would not fit is never held: a summary is refused at once, and samples are folded as they come.
#[test]
fn samples_may_be_many() {
    let samples = |n: u64| -> String {
        let line = |n: u64| format!("{},20,home,200,OK,T 1-1,true,4\n", 1_700_000_000_000 + n);
        (0..n).map(line).collect()
    };
    let file = format!(
        "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,allThreads\n{}",
        samples(150_000)
    );
    let record = plimsoll(["audit", "all.jtl", "--json"]).with_file("all.jtl", file.as_bytes()).run().exits(0).json();
    assert_eq!((text(&record, "tool"), number(&record, "status.200")), ("jmeter", 150_000.0));
    let refused = plimsoll(["audit", "rows.csv"]).with_file("rows.csv", samples(150_000).as_bytes()).run();
    refused.fails(2, &["rows.csv", "of jmeter", "timeStamp"]);
    let large =
        plimsoll(["audit", "large.txt"]).with_file("large.txt", "some words\n".repeat(500_000).as_bytes()).run();
    large.fails(2, &["large.txt", "more than 4194304 bytes", "samples are read of k6, gatling, jmeter"]);
}

#[test]
fn what_cannot_be_read_is_told_in_one_line() {
    let cut = &fixture("wrk.txt")[..250];
    let program = plimsoll(["audit", "cut.txt"]).with_file("cut.txt", cut);
    program.run().fails(2, &["cut.txt", "of wrk", "`Requests/sec:`", "cut off"]);
    plimsoll(["audit", "none.txt"]).run().fails(2, &["none.txt", "No such file"]);
}

#[test]
fn outputs_in_one_file_are_named_by_their_lines_and_compared() {
    let twice = [fixture("wrk.txt"), fixture("wrk.txt")].concat();
    let ended = plimsoll(["audit", "two.txt"]).with_file("two.txt", &twice).run();
    for part in
        ["file         two.txt:1\n", "file         two.txt:14\n", "INVALID RP-09  two.txt:1 and two.txt:14 are equal"]
    {
        assert!(ended.exits(4).stdout.contains(part), "{part:?} is not in {ended:#?}");
    }
}

#[test]
fn what_can_be_read_is_shown_beside_what_cannot() {
    let ended = audit(&["wrk-minutes.txt", "none.txt"], &["wrk-minutes.txt"]);
    let said = &ended.exits(2).stdout;
    assert!(said.contains("goodput      20,650/s"), "{said}");
    assert!(ended.stderr.starts_with("plimsoll: cannot read none.txt"), "{ended:#?}");
}

#[test]
fn context_that_is_none_is_named() {
    let refused = |args: &[&str], named: &[&str]| {
        let args = [&["wrk.txt"], args].concat();
        audit(&args, &["wrk.txt"]).fails(2, named);
    };
    refused(&["--pidstat", "wrk.txt", "--pidstat-rate", "210", "--cores", "4"], &["--pidstat wrk.txt", "pidstat -u"]);
    refused(&["--ss", "wrk.txt"], &["--ss wrk.txt", "ss -s"]);
    refused(&["--ss", "/nowhere/at-all"], &["--ss /nowhere/at-all", "No such file"]);
    refused(&["--cores", "0"], &["--cores 0"]);
    refused(&["--expect-size", "big"], &["--expect-size", "big"]);
    refused(&["--pidstat-rate", "210"], &["required"]);
}

#[test]
fn secrets_are_not_printed_again() {
    for args in [&["blog-post-httperf.txt"][..], &["blog-post-httperf.txt", "--json"]] {
        let ended = audit(args, &["blog-post-httperf.txt"]);
        assert!(ended.exits(4).stdout.contains("<redacted>"), "{ended:#?}");
        assert!(!ended.stdout.contains("dXNlcjpub3RzZWNyZXQ"), "{ended:#?}");
    }
}
