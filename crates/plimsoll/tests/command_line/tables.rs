//! `plimsoll report`: tables and figures of stored results. Nothing is measured.

use crate::support::{Program, plimsoll};

/// A run as it is stored.
const RUN: &str = include_str!("../../../report/tests/stored/run");
/// A sweep as it is stored.
const SWEEP: &str = include_str!("../../../report/tests/stored/sweep");

/// `plimsoll report . ARGS` in a directory with a stored run.
fn report(args: &[&str]) -> Program {
    plimsoll(["report", "."].iter().chain(args)).with_file("run.json", RUN.as_bytes())
}

#[test]
fn a_table_of_a_stored_run_has_the_fields_and_aggregates_that_were_asked_for() {
    let args = ["--table", "aggregated", "--field", "goodput,p99", "--aggregate", "mean,count", "--format", "tsv"];
    let head = "instance\tconnections\trate_per_s\tgoodput_per_s:mean\tgoodput_per_s:count\tp99_ns:mean\tp99_ns:count";
    let rows = format!("{head}\nhttp://h/\t4\t\t1000\t1\t4000000\t1\n");
    assert_eq!(report(&args).run().exits(0).stdout, rows);
    let raw = report(&["--table", "raw", "--filter", "connections=4"]).run();
    assert!(raw.exits(0).stdout.contains("1,000/s") && raw.stdout.contains("4.00 ms"), "{}", raw.stdout);
    let file = report(&["--table", "raw", "--format", "csv", "-o", "all.csv"]).run();
    assert!(file.exits(0).file("all.csv").starts_with("result,instance,verdict,connections,rate_per_s,goodput_per_s"));
}

/// Only the path of a page was printed, and `-v`, which the run had named, was a usage error.
#[test]
fn the_report_of_a_stored_run_is_its_text_with_all_findings_and_a_page() {
    let ended = report(&[]).run();
    let text = ended.exits(0).stdout.clone();
    assert!(text.contains("\ntarget       ") && text.ends_with("\npage: ./report.html\n"), "{text}");
    assert!(ended.file("report.html").contains("<!doctype html>"));
    assert_eq!(report(&["-v"]).run().exits(0).stdout, text);
    assert_eq!(report(&["--format", "html"]).run().exits(0).stdout, "./report.html\n");
    assert_eq!(report(&["-o", "other.html"]).run().exits(0).stdout, "other.html\n");
}

#[test]
fn curves_of_stored_sweeps_are_a_figure_beside_one_and_in_the_current_directory_of_several() {
    let one = plimsoll(["report", ".", "--format", "svg"]).with_file("run.json", SWEEP.as_bytes()).run();
    assert_eq!(one.exits(0).stdout, "./curves.svg\n");
    assert!(one.file("curves.svg").contains(">good responses per second<"));
    let elsewhere = ["report", ".", "--format", "svg", "-o", "paper/figures"];
    let elsewhere = plimsoll(elsewhere).with_file("run.json", SWEEP.as_bytes()).run();
    assert_eq!(elsewhere.exits(0).stdout, "paper/figures/curves.svg\n", "a directory that was not there");
    let program = plimsoll(["report", "a", "b", "--format", "svg"]);
    for name in ["a", "b"] {
        std::fs::create_dir(program.directory().join(name)).expect("our own directory");
        std::fs::write(program.directory().join(name).join("run.json"), SWEEP).expect("a file in it");
    }
    let several = program.run();
    let curves = several.exits(0).file("curves.svg");
    assert!(curves.contains(">a<") && curves.contains(">b<"), "{curves}");
    report(&["--format", "svg"]).run().fails(2, &["forest.svg", "curves.svg", "nothing to draw"]);
}
