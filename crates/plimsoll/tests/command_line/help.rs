//! Help: what fits on a screen, what stands where, and the version.

use crate::support::{Ended, plimsoll};

/// Lines of a usual terminal that one screen of help may take.
const LINES_MAX: usize = 45;
/// Verbs that measure.
const MEASURING: [&str; 4] = ["run", "sweep", "capacity", "compare"];
const VERBS: [&str; 19] = [
    "run",
    "sweep",
    "capacity",
    "compare",
    "experiment",
    "history",
    "check",
    "observe",
    "profile",
    "render",
    "report",
    "audit",
    "rules",
    "target",
    "serve",
    "stack",
    "agent",
    "man",
    "completions",
];

fn help(args: &[&str], columns: &str) -> Ended {
    let ended = plimsoll(args).with_env("COLUMNS", columns).run();
    ended.exits(0);
    ended
}

#[test]
fn short_help_of_each_verb_fits_on_a_screen() {
    for verb in VERBS {
        let text = help(&[verb, "-h"], "100").stdout;
        assert!(text.lines().count() <= LINES_MAX, "{verb} has {} lines:\n{text}", text.lines().count());
    }
}

#[test]
fn the_common_flags_come_first() {
    for verb in MEASURING {
        let text = help(&[verb, "-h"], "100").stdout;
        let first = text.lines().find(|line| line.ends_with(':') && *line != "Arguments:").expect("a heading");
        assert_eq!(first, "Common:", "{verb}");
        let common = text.split("Common:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("flags");
        for flag in ["serve", "method", "header", "body", "insecure", "fail-if", "json", "output"] {
            assert!(common.contains(&format!("--{flag}")), "{flag} of {verb}: {common}");
        }
    }
}

#[test]
fn examples_stay_whole_on_eighty_columns() {
    for verb in VERBS {
        let narrow = help(&[verb, "--help"], "80").stdout;
        let wide = help(&[verb, "--help"], "100").stdout;
        let examples = |text: &str| -> Vec<String> {
            let lines = text.lines().skip_while(|line| *line != "Examples:");
            lines.take_while(|line| !line.is_empty()).map(str::to_owned).collect()
        };
        assert_eq!(examples(&narrow), examples(&wide), "{verb}");
        assert!(examples(&narrow).iter().all(|line| line.chars().count() <= 78), "{verb}");
    }
}

#[test]
fn conditions_of_fail_if_stand_once_below_the_examples() {
    for verb in MEASURING {
        let text = help(&[verb, "--help"], "100").stdout;
        let parts: Vec<&str> = text.split("Conditions of --fail-if:").collect();
        assert_eq!(parts.len(), 2, "{verb}");
        let before = parts[0].trim_end().lines().rev().take_while(|line| !line.is_empty()).last();
        assert_eq!(before, Some("Examples:"), "{verb}");
    }
}

#[test]
fn help_of_the_program_says_where_to_begin_and_what_it_reads() {
    let text = help(&["--help"], "100").stdout;
    for part in
        ["Start here:", "Measure:", "Servers for tests:", "Exit codes:", "Environment:", "NO_COLOR", "KUBECONFIG"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let short = help(&["-h"], "100").stdout;
    assert!(short.contains("Start here:") && short.lines().count() <= LINES_MAX, "{short}");
}

#[test]
fn the_version_tells_builds_apart_and_its_short_form_is_the_number() {
    let number = env!("CARGO_PKG_VERSION");
    assert_eq!(help(&["-V"], "100").stdout, format!("plimsoll {number}\n"));
    let long = help(&["--version"], "100").stdout;
    let rest = long.strip_prefix(&format!("plimsoll {number} (")).and_then(|rest| rest.strip_suffix(")\n"));
    let parts: Vec<&str> = rest.unwrap_or_else(|| panic!("{long}")).split(", ").collect();
    assert!(parts.len() >= 2 && ["musl", "glibc"].contains(&parts[1]), "{long}");
}
