//! `cargo xtask test`: everything a change must pass, in the order of how soon it can fail.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{packages, tidy, workspace};

/// Runs every step and stops at the first that fails. The last line is `N passed, N failed`.
pub(crate) fn run() -> Result<()> {
    step("packages", || packages::ensure(packages::FOR_TESTS))?;
    step("fmt", || workspace::run(&mut workspace::cargo(&["fmt", "--all", "--check"])))?;
    step("clippy", || {
        let arguments = ["clippy", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"];
        workspace::run(&mut workspace::cargo(&arguments))
    })?;
    step("tidy", tidy::run)?;
    step("tests", tests)
}

fn step(name: &str, task: impl FnOnce() -> Result<()>) -> Result<()> {
    println!("==== {name}");
    task().with_context(|| format!("step `{name}` failed"))
}

/// A test that measures can fail because of what others do to this machine. So many failures may be that, and are run again.
const AGAIN_MAX: usize = 3;

/// Every test of the workspace; `--no-fail-fast` so that the sum covers all of them. The few that fail are run again, one by
/// one, and those that pass then are named: what is broken fails twice.
fn tests() -> Result<()> {
    let (mut tally, mut success) =
        count_while_streaming(&mut workspace::cargo(&["test", "--workspace", "--no-fail-fast"]))?;
    let again = std::mem::take(&mut tally.names);
    if !success && again.len() as u64 == tally.failed && (1..=AGAIN_MAX).contains(&again.len()) {
        println!("==== tests that failed, again");
        let mut command = workspace::cargo(&["test", "--workspace", "--no-fail-fast", "--"]);
        command.args(["--test-threads=1", "--exact"]).args(&again);
        let (second, second_success) = count_while_streaming(&mut command)?;
        // A test that is not found again has not passed.
        success = second_success && second.passed >= tally.failed;
        if success {
            (tally.passed, tally.failed) = (tally.passed + tally.failed, 0);
            println!("failed at first, passed alone: {}", again.join(", "));
        }
    }
    if tally.ignored > 0 {
        println!("{} ignored", tally.ignored);
    }
    println!("{} passed, {} failed", tally.passed, tally.failed);
    if !success {
        bail!("cargo test did not succeed");
    }
    if tally.passed == 0 {
        bail!("no test ran");
    }
    Ok(())
}

/// Sums over the result lines that each test binary prints.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
    ignored: u64,
    /// Of the tests that failed.
    names: Vec<String>,
}

impl Tally {
    /// Adds a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; ...` or `test some::name ... FAILED`; other lines
    /// count nothing.
    fn add_line(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.trim_end().strip_suffix(" ... FAILED")) {
            self.names.push(name.to_owned());
        }
        let Some((_, counts)) = line.split_once("test result:") else { return };
        let words: Vec<&str> = counts.split_whitespace().collect();
        for pair in words.windows(2) {
            let Ok(count) = pair[0].parse::<u64>() else { continue };
            match pair[1] {
                "passed;" => self.passed += count,
                "failed;" => self.failed += count,
                "ignored;" => self.ignored += count,
                _ => {}
            }
        }
    }
}

fn count_while_streaming(command: &mut Command) -> Result<(Tally, bool)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot start cargo test")?;
    let output = child.stdout.take().context("cargo test has no standard output")?;
    let mut tally = Tally::default();
    for line in BufReader::new(output).split(b'\n') {
        // Tests may print any bytes: nothing here may fail on them.
        let line = line.context("reading the output of cargo test")?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        tally.add_line(&line);
    }
    Ok((tally, child.wait()?.success()))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{Tally, count_while_streaming};

    #[test]
    fn result_lines_are_summed_and_others_are_not() {
        let mut tally = Tally::default();
        tally.add_line("test result: ok. 11 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s");
        tally.add_line("test result: \u{1b}[31mFAILED\u{1b}[m. 2 passed; 3 failed; 0 ignored; 0 measured");
        tally.add_line("test parses_4_passed; ... ok");
        tally.add_line("test limits::of_a_pool ... FAILED");
        assert_eq!(tally, Tally { passed: 13, failed: 3, ignored: 1, names: vec!["limits::of_a_pool".to_owned()] });
    }

    #[test]
    fn the_exit_status_is_kept_beside_the_count() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo 'test result: FAILED. 1 passed; 2 failed; 0 ignored'; exit 101"]);
        let (tally, success) = count_while_streaming(&mut command).unwrap();
        assert_eq!(tally, Tally { passed: 1, failed: 2, ..Tally::default() });
        assert!(!success);
    }
}
