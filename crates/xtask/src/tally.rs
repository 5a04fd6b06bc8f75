//! Counts of tests, read from what libtest prints.

use std::fmt;

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

    /// Adds a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; ...`; other lines count nothing. Returns true for
    /// such a line.
    pub(crate) fn add_line(&mut self, line: &str) -> bool {
        let Some((_, counts)) = line.split_once("test result:") else { return false };
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
        true
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

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
}
