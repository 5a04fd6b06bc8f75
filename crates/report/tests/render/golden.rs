//! Fixed records against stored text. `INSTA_UPDATE=always cargo test -p report` writes it anew.

use crate::fixtures::{
    URL, arms, bound_run, bound_sweep, invalid_run, redirecting_probe, stable_probe, valid_run, valid_sweep,
};
use model::{RiseEnd, Stop, SweepRecord};
use report::Named;
use report::record::AnyRecord;
use report::terminal::{self, Style};

pub(crate) const WIDE: Style = Style { width: 80, colour: false, verbose: false };
pub(crate) const NARROW: Style = Style { width: 40, colour: false, verbose: false };

#[test]
fn runs() {
    golden("run_valid", &terminal::run(&valid_run(), &WIDE));
    golden("run_valid_40", &terminal::run(&valid_run(), &NARROW));
    golden("run_valid_colour", &terminal::run(&valid_run(), &Style { colour: true, ..WIDE }));
    golden("run_bound", &terminal::run(&bound_run(), &WIDE));
    golden("run_invalid", &terminal::run(&invalid_run(), &WIDE));
    golden("run_bound_verbose", &terminal::run(&bound_run(), &Style { verbose: true, ..WIDE }));
    let mut many = invalid_run();
    many.verdict.findings.extend(bound_run().verdict.findings);
    golden("run_many", &terminal::run(&many, &WIDE));
    golden("run_invalid_40", &terminal::run(&invalid_run(), &NARROW));
}

#[test]
fn sweeps() {
    golden("sweep_valid", &terminal::sweep(&valid_sweep(), &WIDE));
    golden("sweep_valid_40", &terminal::sweep(&valid_sweep(), &NARROW));
    golden("sweep_bound", &terminal::sweep(&bound_sweep(), &WIDE));
}

/// A sweep with `--to 128` ended at 2 connections, and no line said that it had.
#[test]
fn the_largest_load_is_told_with_the_reason_where_it_was_not_tried() {
    let told = |limit, rise_end| {
        let text = terminal::sweep(&SweepRecord { limit: Some(limit), rise_end, ..valid_sweep() }, &WIDE);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let expected =
        "not reached the load of 65,536 connections (--to) was not tried, because goodput had stopped growing";
    assert!(told(65_536.0, Some(RiseEnd::Flat)).contains(expected));
    assert!(!told(65_536.0, None).contains("--to"), "something else has ended it");
    assert!(!told(1.0, Some(RiseEnd::Reached)).contains("--to"));
}

#[test]
fn several_sweeps() {
    let record = arms();
    let named = [Named { name: "both", record: AnyRecord::Sweeps(&record) }];
    golden("arms", &terminal::results(&named, &WIDE));
    golden("arms_40", &terminal::results(&named, &NARROW));
    golden("arms_markdown", &report::markdown(&named));
}

/// A load of another kind or length makes other figures: then there is a remark and no common picture.
#[test]
fn sweeps_of_other_loads_are_not_drawn_together() {
    let mut record = arms();
    for point in &mut record.sweeps[1].points {
        point.plan.stop = Stop::Duration { duration_ns: 2_000_000_000 };
    }
    let text = terminal::sweeps(&[Named { name: "both", record: AnyRecord::Sweeps(&record) }], &WIDE);
    let remark = "Not to be held against nginx workers=4, as the load was another: apache\nmpm=event (measured window: \
                  2.00 s, not 30.0 s).";
    assert!(text.contains(remark), "{text}");
    assert_eq!(text.matches("goodput per second by").count(), 2, "{text}");
    // As directories, two results of the same name are told apart.
    let (first, second) = (valid_sweep(), bound_sweep());
    let named = [&first, &second].map(|record| Named { name: "same", record: AnyRecord::Sweep(record) });
    let text = terminal::results(&named, &WIDE);
    assert!(text.contains("\nA  same (1)  valid ") && text.contains("\nB  same (2)  bound    >= 2,850/s"), "{text}");
    assert!(!text.contains("Not to be held against"), "{text}");
}

#[test]
fn probes() {
    golden("probe_stable", &terminal::probe(&stable_probe(), URL));
    golden("probe_redirect", &terminal::probe(&redirecting_probe(), URL));
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    for width in [40, 60, 80, 120] {
        let style = Style { width, colour: false, verbose: false };
        let texts = [valid_run(), bound_run(), invalid_run()].map(|record| terminal::run(&record, &style));
        let sweeps = [valid_sweep(), bound_sweep()].map(|record| terminal::sweep(&record, &style));
        let record = arms();
        let several = [terminal::sweeps(&[Named { name: "both", record: AnyRecord::Sweeps(&record) }], &style)];
        for line in texts.iter().chain(&sweeps).chain(&several).flat_map(|text| text.lines()) {
            assert!(line.chars().count() <= width, "{width}: {line}");
            assert_eq!(line, line.trim_end());
        }
    }
}

#[test]
fn colour_changes_no_word() {
    let coloured = terminal::sweep(&bound_sweep(), &Style { colour: true, ..WIDE });
    let mut plain = String::new();
    for (i, part) in coloured.split('\u{1b}').enumerate() {
        let text = if i == 0 { part } else { part.split_once('m').expect("an SGR sequence").1 };
        plain.push_str(text);
    }
    assert_eq!(plain, terminal::sweep(&bound_sweep(), &WIDE));
}

/// Compares `actual` with the snapshot `name`, and its end, which a snapshot leaves open.
pub(crate) fn golden(name: &str, actual: &str) {
    assert!(actual.ends_with('\n') && !actual.ends_with("\n\n"), "{name} must end with one newline");
    insta::assert_snapshot!(name, actual);
}
