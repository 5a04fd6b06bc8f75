//! `plimsoll report`, `history` and `audit`: files and directories that are none, and flags that do not go together.

use super::fails;
use tempfile::TempDir;

/// A run as it is stored.
const RUN: &str = include_str!("../../../report/tests/stored/run");

/// A directory with these files.
fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text) in files {
        std::fs::write(directory.path().join(name), text).expect("our own directory");
    }
    directory
}

#[test]
fn what_is_not_there_is_named_with_what_was_meant() {
    fails(&["report"], &["--recover", "/nowhere/at-all"], &["/nowhere/at-all: there is no such directory"]);
    fails(&["experiment"], &["wordpress-laddr"], &["did you mean wordpress-ladder, which comes with"]);
}

#[test]
fn flags_that_do_not_go_together_are_refused() {
    let directory = directory(&[("run.json", RUN)]);
    let report = ["report", directory.path().to_str().expect("text")];
    for (args, named) in [
        (&["--table", "overhead"][..], "nothing beside instance \"http://h/\""),
        (&["--table", "overhead", "--baseline", "x"], "there are http://h/"),
        (&["--table", "raw", "--baseline", "x"], "--table overhead"),
        (&["--table", "raw", "--aggregate", "mean"], "--table aggregated"),
        (&["--table", "raw", "--format", "json"], "text, csv or tsv"),
        (&["--table", "aggregated", "--field", "verdict"], "--group-by"),
        (&["--table", "aggregated", "--field", "p98"], "there are result, instance"),
        (&["--table", "aggregated", "--aggregate", "average"], "there are mean, median"),
        (&["--table", "raw", "--filter", "connections"], "has no ="),
        (&["--table", "raw", "--filter", "connections=5"], "leaves none of the 1 measurement"),
        (&["--format", "tsv"], "--table"),
    ] {
        fails(&report, args, &[named]);
    }
}

#[test]
fn a_history_needs_results_and_values_in_range() {
    let (empty, one) = (directory(&[]), directory(&[("run.json", RUN)]));
    fails(&["history"], &[], &["required arguments were not provided"]);
    fails(&["history"], &["nowhere"], &["nowhere", "No such file"]);
    let [empty, one] = [&empty, &one].map(|directory| directory.path().to_str().expect("text"));
    fails(&["history"], &[empty], &["neither a run directory nor one that holds any"]);
    fails(&["history", one], &["--margin", "-1%"], &["--margin", "-1%", "0%"]);
    fails(&["history", one], &["--false-alarms", "50%"], &["--false-alarms", "20%"]);
}

#[test]
fn files_without_the_output_of_another_tool_are_no_audit() {
    fails(&["audit"], &["none.txt"], &["none.txt", "No such file"]);
    fails(&["audit"], &["/"], &["/", "directory"]);
    fails(&["audit"], &["/dev/zero"], &["/dev/zero", "more than", "samples"]);
    fails(&["audit"], &["/dev/null"], &["/dev/null", "empty"]);
    fails(&["audit"], &[], &["required"]);
}
