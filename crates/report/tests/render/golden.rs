//! Fixed records against stored text. `UPDATE_GOLDEN=1 cargo test -p report` rewrites the files.

use crate::fixtures::{
    URL, bound_run, bound_sweep, invalid_run, redirecting_probe, stable_probe, valid_run, valid_sweep,
};
use report::terminal::{self, Style};
use std::path::Path;

const WIDE: Style = Style { width: 80, colour: false };
const NARROW: Style = Style { width: 40, colour: false };

#[test]
fn runs() {
    golden("run_valid", &terminal::run(&valid_run(), &WIDE));
    golden("run_valid_40", &terminal::run(&valid_run(), &NARROW));
    golden("run_valid_colour", &terminal::run(&valid_run(), &Style { colour: true, ..WIDE }));
    golden("run_bound", &terminal::run(&bound_run(), &WIDE));
    golden("run_invalid", &terminal::run(&invalid_run(), &WIDE));
    golden("run_invalid_40", &terminal::run(&invalid_run(), &NARROW));
}

#[test]
fn sweeps() {
    golden("sweep_valid", &terminal::sweep(&valid_sweep(), &WIDE));
    golden("sweep_valid_40", &terminal::sweep(&valid_sweep(), &NARROW));
    golden("sweep_bound", &terminal::sweep(&bound_sweep(), &WIDE));
}

#[test]
fn probes() {
    golden("probe_stable", &terminal::probe(&stable_probe(), URL));
    golden("probe_redirect", &terminal::probe(&redirecting_probe(), URL));
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    for width in [40, 60, 80, 120] {
        let style = Style { width, colour: false };
        let texts = [valid_run(), bound_run(), invalid_run()].map(|record| terminal::run(&record, &style));
        let sweeps = [valid_sweep(), bound_sweep()].map(|record| terminal::sweep(&record, &style));
        for line in texts.iter().chain(&sweeps).flat_map(|text| text.lines()) {
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

/// Compares `actual` with `tests/golden/NAME.txt`.
fn golden(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, actual).expect("the golden file can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(actual, expected, "{name} differs; if it is right, run with UPDATE_GOLDEN=1");
}
