//! `cargo xtask test`: everything a change must pass, in the order of how soon it can fail.
//!
//! Without `--all`, what any developer's machine can do: the hermetic tests, whose outcome neither time nor user nor packages
//! decide. With it also licences, fuzzing, and the measuring tests with real servers. No test is ever repeated.

use std::process::ExitCode;
use std::thread::ScopedJoinHandle;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};

use crate::measuring::{self, Measuring, Which};
use crate::release::FEATURES;
use crate::tally::{self, Tally};
use crate::{deny, fuzz, tidy};
use xtask::{packages, workspace};

/// Time that `--all` fuzzes each target, beside tests.
const FUZZ: fuzz::Length = fuzz::Length::of_seconds(20);

/// Runs the steps up to the first that fails. The last line counts the tests; a step that fails counts as one.
pub(crate) fn run(all: bool) -> ExitCode {
    let mut tally = Tally::default();
    let outcome = formal_checks().and_then(|()| {
        if all {
            return everything(&mut tally);
        }
        static_checks(&[])?;
        hermetic_tests(&mut tally)
    });
    if let Err(error) = &outcome {
        // Before the closing line, which stands alone at the end.
        eprintln!("xtask test: {error:#}");
        tally.failed = tally.failed.max(1);
    }
    println!("{}", if all { tally.with_skipped() } else { tally.to_string() });
    if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// With what `--all` adds: it downloads tools, and installs packages. These, and the fuzz targets, get what other steps leave of
/// the CPUs.
fn everything(tally: &mut Tally) -> Result<()> {
    let measuring = Measuring::read()?;
    std::thread::scope(|scope| {
        let packages = scope.spawn(|| packages::ensure(packages::FOR_TESTS));
        let targets = scope.spawn(|| fuzz::build_aside(FUZZ));
        static_checks(&FEATURES)?;
        step("licences, bans, sources, advisories", deny::run)?;
        hermetic_tests(tally)?;
        step("packages", || joined(packages))?;
        // Each of these whatever came of the others: all that is wrong is told at once.
        let mut measured = Tally::default();
        let fuzzing = scope.spawn(|| joined(targets).and_then(|()| fuzz::fuzzed_aside(FUZZ)));
        let beside = step("measuring tests beside others", || measuring.run(Which::BesideOthers, &mut measured));
        let fuzzed = step("the rest of fuzzing", || joined(fuzzing)?.tell());
        let rest = step("other measuring tests", || measuring.run(Which::Undisturbed, &mut measured));
        if let Some(warning) = measuring::warning(measured) {
            println!("{warning}");
        }
        tally.add(measured);
        beside.and(fuzzed).and(rest)
    })
}

/// What a thread has made.
fn joined<T>(thread: ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    thread.join().map_err(|_| anyhow!("a thread has panicked"))?
}

/// What is seen in the text.
fn formal_checks() -> Result<()> {
    step("fmt", || workspace::run(&mut workspace::cargo(&["fmt", "--all", "--check"])))?;
    step("tidy", tidy::run)
}

/// What the compiler sees without running anything. The features of a release are seen by `--all`: their crates take a while.
fn static_checks(features: &[&str]) -> Result<()> {
    let measuring = Measuring::read()?;
    step("clippy", || {
        clippy(&[&["--all-targets"], features].concat())?;
        // `--all-targets` leaves out what a plain `cargo test` does.
        clippy(&[&measuring.selection(), features].concat())
    })?;
    step("docs", || {
        let arguments = ["doc", "--quiet", "--workspace", "--no-deps", "--document-private-items"];
        workspace::run(workspace::cargo(&arguments).args(features).env("RUSTDOCFLAGS", "-D warnings"))
    })
}

/// Tests that need nothing but the toolchain.
fn hermetic_tests(tally: &mut Tally) -> Result<()> {
    step("hermetic tests", || {
        let mut command = workspace::cargo(&["test", "--workspace", "--no-fail-fast"]);
        // A text that differs from its snapshot fails, and nothing is written.
        command.env("INSTA_UPDATE", "no");
        let (counted, success) = tally::count_while_streaming(&mut command)?;
        let ran = counted.passed > 0;
        tally.add(counted);
        match success && tally.failed == 0 {
            true if ran => Ok(()),
            true => bail!("no test ran"),
            false => bail!("cargo test did not succeed"),
        }
    })
}

fn clippy(targets: &[&str]) -> Result<()> {
    let arguments = [&["clippy", "--quiet", "--workspace"], targets, &["--", "-D", "warnings"]].concat();
    workspace::run(&mut workspace::cargo(&arguments))
}

fn step(name: &str, task: impl FnOnce() -> Result<()>) -> Result<()> {
    println!("==== {name}");
    let begin = Instant::now();
    let outcome = task().with_context(|| format!("step `{name}` failed"));
    println!("     {name}: {} s", begin.elapsed().as_secs());
    outcome
}
