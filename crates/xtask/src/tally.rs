//! Counts of tests, read from what libtest prints.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

/// Tests by their outcome.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    /// Ignored, or undecided.
    pub(crate) skipped: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }

    /// The closing line of `--all`.
    pub(crate) fn with_skipped(self) -> String {
        format!("{self}, {} skipped", self.skipped)
    }

    /// Adds a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; ...`; other lines count nothing.
    fn add_line(&mut self, line: &str) {
        let Some((_, counts)) = line.split_once("test result:") else { return };
        let words: Vec<&str> = counts.split_whitespace().collect();
        for pair in words.windows(2) {
            let Ok(count) = pair[0].parse::<u64>() else { continue };
            match pair[1] {
                "passed;" => self.passed += count,
                "failed;" => self.failed += count,
                "ignored;" => self.skipped += count,
                _ => {}
            }
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// Sum over the result lines that each test binary prints, and whether the command succeeded.
pub(crate) fn count_while_streaming(command: &mut Command) -> Result<(Tally, bool)> {
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
        assert_eq!(tally, Tally { passed: 13, failed: 3, skipped: 1 });
        assert_eq!(tally.to_string(), "13 passed, 3 failed");
        assert_eq!(tally.with_skipped(), "13 passed, 3 failed, 1 skipped");
    }

    #[test]
    fn the_exit_status_is_kept_beside_the_count() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo 'test result: FAILED. 1 passed; 2 failed; 0 ignored'; exit 101"]);
        let (tally, success) = count_while_streaming(&mut command).unwrap();
        assert_eq!(tally, Tally { passed: 1, failed: 2, skipped: 0 });
        assert!(!success);
    }
}
