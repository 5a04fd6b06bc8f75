//! Times of the steps and of the tests of a run: its end shows where the minutes went.

use std::fmt;
use std::time::Duration;

/// Number of tests in the list of the longest.
const LONGEST_TESTS: usize = 20;

/// The time that a step or a test took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Timed {
    /// A step, a test with its binary, or a binary of which no single test has a time.
    pub(crate) name: String,
    pub(crate) duration: Duration,
}

impl Timed {
    pub(crate) fn new(name: impl Into<String>, duration: Duration) -> Self {
        Self { name: name.into(), duration }
    }
}

/// All steps in their order with their sum, and below them the longest tests, as they stand at the end of a run.
pub(crate) struct Times<'a> {
    pub(crate) steps: &'a [Timed],
    pub(crate) tests: &'a [Timed],
}

impl fmt::Display for Times<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all_steps = Timed::new("all steps", self.steps.iter().map(|step| step.duration).sum());
        writeln!(f, "==== seconds of each step")?;
        self.steps.iter().chain([&all_steps]).try_for_each(|step| write_line(f, step))?;
        if self.tests.is_empty() {
            return Ok(());
        }
        writeln!(f, "==== seconds of the longest tests; libtest tells those of a whole binary alone")?;
        longest(self.tests).into_iter().try_for_each(|test| write_line(f, test))
    }
}

fn write_line(f: &mut fmt::Formatter<'_>, Timed { name, duration }: &Timed) -> fmt::Result {
    writeln!(f, "{:>10.1}  {name}", duration.as_secs_f64())
}

/// The longest tests, the longest first; of equal ones the first comes first.
fn longest(tests: &[Timed]) -> Vec<&Timed> {
    let mut longest: Vec<&Timed> = tests.iter().collect();
    longest.sort_by_key(|test| std::cmp::Reverse(test.duration));
    longest.truncate(LONGEST_TESTS);
    longest
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_TESTS, Timed, Times};
    use std::time::Duration;

    fn timed(name: &str, ms: u64) -> Timed {
        Timed::new(name, Duration::from_millis(ms))
    }

    #[test]
    fn steps_stand_in_their_order_with_their_sum_and_tests_by_their_length() {
        let steps = [timed("fmt", 1_240), timed("clippy", 61_500)];
        let tests = [timed("-p a --lib", 300), timed("plimsoll::serve web::a", 5_000)];
        let expected = [
            "==== seconds of each step",
            "       1.2  fmt",
            "      61.5  clippy",
            "      62.7  all steps",
            "==== seconds of the longest tests; libtest tells those of a whole binary alone",
            "       5.0  plimsoll::serve web::a",
            "       0.3  -p a --lib",
        ];
        let text = Times { steps: &steps, tests: &tests }.to_string();
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn tests_beyond_the_longest_are_left_out_and_without_tests_there_is_no_list_of_them() {
        let tests: Vec<Timed> = (0..40).map(|n| timed(&format!("test {n}"), n * 1000)).collect();
        let text = Times { steps: &[], tests: &tests }.to_string();
        let listed: Vec<&str> = text.lines().filter(|line| line.contains("  test ")).collect();
        assert_eq!(listed.len(), LONGEST_TESTS);
        assert!(listed[0].ends_with("test 39") && listed[LONGEST_TESTS - 1].ends_with("test 20"), "{text}");
        assert!(!Times { steps: &[], tests: &[] }.to_string().contains("longest"));
    }
}
