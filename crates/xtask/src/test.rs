//! `cargo xtask test`: everything a change must pass, in the order of how soon it can fail.
//!
//! Without `--all`, what any developer's machine can do: the hermetic tests, whose outcome neither time nor user nor packages
//! decide. With it also licences, fuzzing, the hermetic tests where nothing is installed, and the measuring tests with real
//! servers. No test is ever repeated. What fails ends nothing: all that is wrong is said at once, at the end.

use std::process::ExitCode;
use std::thread::ScopedJoinHandle;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};

use crate::failures::{Failure, Listed};
use crate::hermetic::{self, Outcome, TestBinary};
use crate::measuring::{self, Measuring, Which};
use crate::release::FEATURES;
use crate::tally::Tally;
use crate::times::{Timed, Times};
use crate::{bare, deny, fuzz, tidy};
use xtask::{packages, workspace};

/// Time for which `--all` fuzzes each target: enough to find what a change has just broken. `cargo xtask fuzz --minutes 60` finds
/// more.
const FUZZ: fuzz::Length = fuzz::Length::of_seconds(4);

/// Runs all steps, and tells how long they and the longest tests took. The last line counts the tests; a step without tests
/// that fails counts as one.
pub(crate) fn run(all: bool) -> ExitCode {
    let mut steps = Steps::default();
    formal_checks(&mut steps);
    if all {
        everything(&mut steps);
    } else {
        static_checks(&mut steps, &[]);
        hermetic_tests(&mut steps);
    }
    print!("{}", Times { steps: &steps.times, tests: &steps.test_times });
    print!("{}", Listed(&steps.failures));
    println!("{}", if all { steps.tally.with_skipped() } else { steps.tally.to_string() });
    if steps.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What came of the steps so far.
#[derive(Debug, Default)]
struct Steps {
    tally: Tally,
    failures: Vec<Failure>,
    times: Vec<Timed>,
    test_times: Vec<Timed>,
}

impl Steps {
    /// A step without tests of its own; `command` runs it alone.
    fn step(&mut self, name: &str, command: &str, task: impl FnOnce() -> Result<()>) {
        self.tests(name, command, || task().map(|()| Outcome::default()));
    }

    /// A step that runs tests; `command` runs it alone.
    fn tests(&mut self, name: &str, command: &str, task: impl FnOnce() -> Result<Outcome>) {
        println!("==== {name}");
        let begin = Instant::now();
        let outcome = task().unwrap_or_else(|error| {
            eprintln!("xtask test: step `{name}` failed: {error:#}");
            Outcome {
                tally: Tally { failed: 1, ..Tally::default() },
                failures: vec![Failure::new(format!("step `{name}`: {error:#}"), command)],
                test_times: Vec::new(),
            }
        });
        let time = Timed::new(name, begin.elapsed());
        println!("     {name}: {} s", time.duration.as_secs());
        self.times.push(time);
        self.tally.add(outcome.tally);
        self.failures.extend(outcome.failures);
        self.test_times.extend(outcome.test_times);
    }
}

/// With what `--all` adds: it downloads tools, and installs packages. The bare tree and the build of the fuzz targets get what
/// other steps leave of the CPUs; beside the measuring tests nothing runs.
fn everything(steps: &mut Steps) {
    std::thread::scope(|scope| {
        let bare_tree = scope.spawn(bare::prepare);
        let targets = scope.spawn(|| fuzz::build_aside(FUZZ));
        static_checks(steps, &FEATURES);
        steps.step("licences, bans, sources, advisories", "cargo xtask supply-chain", deny::run);
        let binaries = hermetic_tests(steps);
        steps.tests("hermetic tests where nothing is installed", "cargo xtask bare --repeat 3", || {
            joined(bare_tree).and_then(|bare_tree| bare::on_each_machine(&bare_tree, &binaries))
        });
        steps.step("packages", "cargo xtask test --all", || packages::ensure(packages::FOR_TESTS));
        steps.step("fuzzing", "cargo xtask fuzz", || joined(targets).and_then(|()| fuzz::run_in_turn(FUZZ)));
        let mut measured = Tally::default();
        let mut measure = |steps: &mut Steps, name: &str, which: Which| {
            steps.tests(name, "cargo xtask test --all", || {
                let outcome = Measuring::read()?.run(which)?;
                measured.add(outcome.tally);
                Ok(outcome)
            });
        };
        measure(steps, "measuring tests beside others", Which::BesideOthers);
        measure(steps, "other measuring tests", Which::Undisturbed);
        if let Some(warning) = measuring::warning(measured) {
            println!("{warning}");
        }
    });
}

/// What a thread has made.
fn joined<T>(thread: ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    thread.join().map_err(|_| anyhow!("a thread has panicked"))?
}

/// What is seen in the text.
fn formal_checks(steps: &mut Steps) {
    let fmt = ["fmt", "--all", "--check"];
    steps.step("fmt", "cargo fmt --all", || workspace::run(&mut workspace::cargo(&fmt)));
    steps.step("tidy", "cargo xtask tidy", tidy::run);
}

/// What the compiler sees without running anything. The features of a release are seen by `--all`: their crates take a while.
fn static_checks(steps: &mut Steps, features: &[&str]) {
    let arguments =
        [&["clippy", "--quiet", "--workspace", "--all-targets"], features, &["--", "-D", "warnings"]].concat();
    steps.step("clippy", &format!("cargo {}", arguments.join(" ")), || {
        workspace::run(&mut workspace::cargo(&arguments))
    });
    let arguments = [&["doc", "--quiet", "--workspace", "--no-deps", "--document-private-items"], features].concat();
    let command = format!("RUSTDOCFLAGS='-D warnings' cargo {}", arguments.join(" "));
    steps.step("docs", &command, || workspace::run(workspace::cargo(&arguments).env("RUSTDOCFLAGS", "-D warnings")));
}

/// Tests that need nothing but the toolchain. Returns their binaries, which are none where they cannot be built.
fn hermetic_tests(steps: &mut Steps) -> Vec<TestBinary> {
    let mut binaries = Vec::new();
    steps.step("build of the hermetic tests", "cargo test --workspace --no-run", || {
        binaries = hermetic::build()?;
        Ok(())
    });
    steps.tests("hermetic tests", "cargo test --workspace", || {
        let mut all = hermetic::run_examples()?;
        for binary in &binaries {
            all.add(binary.run().with_context(|| binary.selection.clone())?);
        }
        Ok(all)
    });
    binaries
}

#[cfg(test)]
mod tests {
    use super::{Failure, Outcome, Steps, Tally};
    use anyhow::bail;

    /// The first step that failed ended all: whoever mended it met the next one ten minutes later.
    #[test]
    fn a_step_that_fails_ends_nothing_and_is_told_with_its_command() {
        let mut steps = Steps::default();
        steps.step("fmt", "cargo fmt --all", || bail!("two files"));
        let failure = Failure::new("-p a --lib b", "cargo test -p a --lib -- --exact 'b'");
        let tally = Tally { passed: 4, failed: 1, skipped: 0 };
        steps.tests("tests", "cargo test", || {
            Ok(Outcome { tally, failures: vec![failure.clone()], ..Outcome::default() })
        });
        steps.step("docs", "cargo doc", || Ok(()));
        let timed: Vec<&str> = steps.times.iter().map(|step| step.name.as_str()).collect();
        assert_eq!(timed, ["fmt", "tests", "docs"], "those that failed took time too");
        assert_eq!(steps.tally, Tally { passed: 4, failed: 2, skipped: 0 });
        assert_eq!(steps.failures[0], Failure::new("step `fmt`: two files", "cargo fmt --all"));
        assert_eq!(steps.failures[1..], [failure]);
    }
}
