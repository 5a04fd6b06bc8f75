//! Colours and character sets of what is printed.

use crate::support::{Program, Target, plimsoll};

const ESCAPE: char = '\u{1b}';
/// A run as it is stored.
const RUN: &str = include_str!("../../../report/tests/stored/run");
/// A sweep as it is stored.
const SWEEP: &str = include_str!("../../../report/tests/stored/sweep");

/// A stored result as text.
fn report(record: &str, args: &[&str]) -> Program {
    plimsoll(["report", ".", "--format", "text"].iter().chain(args)).with_file("run.json", record.as_bytes())
}

#[test]
fn colours_follow_the_flag_then_the_environment() {
    let is_coloured = |args: &[&str], variables: &[(&str, &str)]| {
        let program = variables.iter().fold(report(RUN, args), |program, (name, value)| program.with_env(name, value));
        program.run().exits(0).stdout.contains(ESCAPE)
    };
    assert!(!is_coloured(&[], &[]), "a pipe");
    assert!(is_coloured(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!is_coloured(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]), "NO_COLOR comes first");
    assert!(is_coloured(&["--color", "always"], &[("NO_COLOR", "1")]), "the flag comes before both");
    assert!(!is_coloured(&["--color=never"], &[("CLICOLOR_FORCE", "1")]));
}

#[test]
fn errors_are_coloured_and_named_alike_whoever_finds_them() {
    for args in [&["run", "http://127.0.0.1:1/", "-c", "0"][..], &["run", "http://127.0.0.1:1/", "-c", "many"]] {
        let plain = plimsoll(args).run();
        plain.fails(2, &[]);
        assert!(plain.stderr.starts_with("plimsoll: "), "{plain:#?}");
        let coloured = plimsoll(["--color", "always"].iter().chain(args)).run().stderr;
        assert!(coloured.starts_with("\u{1b}[1m\u{1b}[31mplimsoll:\u{1b}[0m "), "{coloured:?}");
    }
}

#[test]
fn text_is_pure_ascii_where_the_locale_has_no_utf_8() {
    let target = Target::start(&[]);
    let url = target.url("/bytes/64");
    let load = ["-d", "1s", "--warmup", "0s", "-c", "2"];
    let run = plimsoll(["run", &url, "-v"].iter().chain(&load)).with_env("LC_ALL", "C").run();
    assert!(run.stdout.contains(" us") && run.stdout.is_ascii() && run.stderr.is_ascii(), "{run:#?}");
    let sweep = ["sweep", &url, "-d", "1s", "--warmup", "0s", "--to", "2", "--iterations", "1", "--budget", "0s"];
    let sweep = plimsoll(sweep).with_env("LC_ALL", "C").run();
    assert!(sweep.stdout.contains("goodput") && sweep.stdout.is_ascii() && sweep.stderr.is_ascii(), "{sweep:#?}");
    for record in [RUN, SWEEP] {
        let stored = report(record, &[]).with_env("LC_ALL", "C").run();
        assert!(stored.exits(0).stdout.is_ascii(), "{}", stored.stdout);
    }
    assert!(!report(SWEEP, &[]).with_env("LC_ALL", "C.UTF-8").run().exits(0).stdout.is_ascii());
}

#[test]
fn data_for_programs_stay_as_they_are_in_any_locale() {
    let record = |locale: &str| {
        let program = plimsoll(["report", ".", "--format", "json"]).with_file("run.json", SWEEP.as_bytes());
        program.with_env("LC_ALL", locale).run().exits(0).stdout.clone()
    };
    assert_eq!(record("C"), record("C.UTF-8"));
}

#[test]
fn columns_are_honoured_in_a_pipe() {
    let widest = |columns: &str| {
        let ended = report(SWEEP, &["-v"]).with_env("COLUMNS", columns).run();
        ended.exits(0).stdout.lines().map(|line| line.chars().count()).max().unwrap_or(0)
    };
    assert!(widest("60") <= 60 && (61..=100).contains(&widest("")), "{} {}", widest("60"), widest(""));
}
