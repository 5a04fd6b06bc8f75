//! The hermetic tests: test binaries that cargo builds for a plain `cargo test`, and the documentation's examples. They are
//! run one by one here, so that each test that failed is known with the command that runs it alone.

use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use cargo_metadata::{Artifact, Message, TargetKind};

use crate::failures::Failure;
use crate::tally::Tally;
use crate::times::Timed;
use xtask::workspace;

/// A test binary.
#[derive(Debug, Clone)]
pub(crate) struct TestBinary {
    /// What cargo calls it, such as `-p stack --lib`.
    pub(crate) selection: String,
    pub(crate) executable: PathBuf,
    /// Directory of its package, in which cargo runs it.
    pub(crate) folder: PathBuf,
}

/// What came of tests.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) tally: Tally,
    pub(crate) failures: Vec<Failure>,
    /// Of each test, or of a whole binary where libtest ran it: that tells no test's time.
    pub(crate) test_times: Vec<Timed>,
}

/// Builds the hermetic test binaries, in the order of their packages.
pub(crate) fn build() -> Result<Vec<TestBinary>> {
    let arguments = ["test", "--workspace", "--no-run", "--quiet", "--message-format=json-render-diagnostics"];
    let mut child = workspace::cargo(&arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo")?;
    let messages = child.stdout.take().context("cargo has no standard output")?;
    let mut binaries = Vec::new();
    for message in Message::parse_stream(BufReader::new(messages)) {
        if let Message::CompilerArtifact(artifact) = message.context("reading what cargo has built")? {
            binaries.extend(test_binary(artifact)?);
        }
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("cargo test --no-run ended with {status}");
    }
    if binaries.is_empty() {
        bail!("cargo has built no tests");
    }
    binaries.sort_by(|a, b| a.selection.cmp(&b.selection));
    Ok(binaries)
}

/// The test binary that an artifact is; none for libraries, and for programs that are only built beside their tests.
fn test_binary(artifact: Artifact) -> Result<Option<TestBinary>> {
    let Some(executable) = artifact.executable.filter(|_| artifact.profile.test) else { return Ok(None) };
    let folder = artifact.manifest_path.parent().context("a manifest without a directory")?.to_owned();
    let package = folder.file_name().context("a package in the root directory")?;
    let target = &artifact.target;
    let kind = match target.kind.first() {
        Some(TargetKind::Lib) => "--lib".to_owned(),
        Some(TargetKind::Bin) => format!("--bin {}", target.name),
        Some(TargetKind::Test) => format!("--test {}", target.name),
        other => bail!("{package} has tests of another kind: {other:?}"),
    };
    let selection = format!("-p {package} {kind}");
    Ok(Some(TestBinary { selection, executable: executable.into(), folder: folder.into() }))
}

impl TestBinary {
    /// The variables that it gets from cargo, or that tell its helpers what they would ask cargo for.
    pub(crate) fn variables(&self) -> [(&'static str, PathBuf); 3] {
        [
            ("CARGO_MANIFEST_DIR", self.folder.clone()),
            ("INSTA_WORKSPACE_ROOT", workspace::root()),
            // A text that differs from its snapshot fails, and nothing is written.
            ("INSTA_UPDATE", "no".into()),
        ]
    }

    /// Runs it as cargo does, and prints what it prints.
    pub(crate) fn run(&self) -> Result<Outcome> {
        println!("     cargo test {}", self.selection);
        let mut command = Command::new(&self.executable);
        command.current_dir(&self.folder).envs(self.variables());
        run(&mut command, &self.selection, |line| println!("{line}"))
    }
}

impl Outcome {
    pub(crate) fn add(&mut self, other: Self) {
        self.tally.add(other.tally);
        self.failures.extend(other.failures);
        self.test_times.extend(other.test_times);
    }
}

/// Runs the examples of the documentation.
pub(crate) fn run_examples() -> Result<Outcome> {
    println!("     cargo test --workspace --doc");
    run(&mut workspace::cargo(&["test", "--workspace", "--doc", "--quiet"]), "--workspace --doc", |line| {
        println!("{line}")
    })
}

/// Runs a command that prints as libtest does, and hands each of its lines on. `selection` is what cargo calls the tests.
pub(crate) fn run(command: &mut Command, selection: &str, mut print: impl FnMut(&str)) -> Result<Outcome> {
    // Both in the order in which they were written, as on a terminal.
    let (reader, writer) = io::pipe().context("a pipe")?;
    let copy = writer.try_clone().context("a pipe")?;
    command.stdin(Stdio::null()).stdout(writer).stderr(copy);
    let mut child = command.spawn().with_context(|| format!("cannot start the tests {selection}"))?;
    // It holds the writing ends, and the pipe would never end.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut output = TestOutput::new(selection);
    for line in BufReader::new(reader).split(b'\n') {
        // Tests may print any bytes: nothing here may fail on them.
        let line = line.context("reading the output of tests")?;
        let line = String::from_utf8_lossy(&line);
        print(&line);
        output.add_line(&line);
    }
    let status = child.wait()?;
    Ok(output.outcome(status.success(), &status.to_string()))
}

/// What libtest prints, read line by line.
#[derive(Debug)]
struct TestOutput<'a> {
    selection: &'a str,
    outcome: Outcome,
    has_result: bool,
    /// Sum over all results: the examples of each crate have one.
    duration: Duration,
}

impl<'a> TestOutput<'a> {
    fn new(selection: &'a str) -> Self {
        Self { selection, outcome: Outcome::default(), has_result: false, duration: Duration::ZERO }
    }

    fn add_line(&mut self, line: &str) {
        if self.outcome.tally.add_line(line) {
            self.has_result = true;
            self.duration += finished_in(line).unwrap_or_default();
        }
        // What the test printed itself may stand before its end.
        let failed = line.strip_prefix("test ").and_then(|line| line.strip_suffix(" ... FAILED"));
        if let Some(name) = failed {
            let command = format!("cargo test {} -- --exact '{name}'", self.selection);
            self.outcome.failures.push(Failure::new(format!("{} {name}", self.selection), command));
        }
    }

    /// What came of it. Tests that end without a result, or fail without a failed test, are one failure: a panic in a
    /// destructor ends the whole process, and so does a signal.
    fn outcome(mut self, is_success: bool, status: &str) -> Outcome {
        let is_explained = self.has_result && (is_success || self.outcome.tally.failed > 0);
        if !is_explained {
            self.outcome.tally.failed += 1;
            let what = format!("{} ended with {status}, and not every test has a result", self.selection);
            self.outcome.failures.push(Failure::new(what, format!("cargo test {}", self.selection)));
        }
        if self.has_result {
            self.outcome.test_times.push(Timed::new(self.selection, self.duration));
        }
        self.outcome
    }
}

/// The time at the end of a result of libtest, such as `...; finished in 0.12s`. `None` where there is none.
fn finished_in(line: &str) -> Option<Duration> {
    let (_, seconds) = line.rsplit_once("finished in ")?;
    Duration::try_from_secs_f64(seconds.trim().strip_suffix('s')?.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::{Tally, TestOutput, Timed, run};
    use std::process::Command;
    use std::time::Duration;

    fn outcome(text: &str, is_success: bool) -> super::Outcome {
        let mut output = TestOutput::new("-p a --lib");
        text.lines().for_each(|line| output.add_line(line));
        output.outcome(is_success, "exit status: 101")
    }

    #[test]
    fn a_failed_test_has_the_command_that_runs_it_alone() {
        let text = "test a::fine ... ok\ntest b::broken ... FAILED\ntest result: FAILED. 1 passed; 1 failed; 0 ignored";
        let outcome = outcome(text, false);
        assert_eq!(outcome.tally, Tally { passed: 1, failed: 1, skipped: 0 });
        let [failure] = &outcome.failures[..] else { panic!("{:?}", outcome.failures) };
        assert_eq!(failure.command, "cargo test -p a --lib -- --exact 'b::broken'");
    }

    #[test]
    fn tests_that_were_ended_by_a_signal_have_failed() {
        for text in ["test a::fine ... ok", "", "test result: ok. 1 passed; 0 failed; 0 ignored"] {
            let outcome = outcome(text, false);
            assert_eq!((outcome.tally.failed, outcome.failures.len()), (1, 1), "{text}");
        }
        let without_result = outcome("test a::fine ... ok", true);
        assert_eq!(without_result.tally.failed, 1, "it has ended the process before its last test");
        assert_eq!(outcome("test result: ok. 1 passed; 0 failed; 0 ignored", true).tally.failed, 0);
    }

    #[test]
    fn a_binary_has_the_time_of_its_results_and_none_without_a_result() {
        let text = "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.25s\n\
                    test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.50s";
        assert_eq!(outcome(text, true).test_times, [Timed::new("-p a --lib", Duration::from_millis(1_750))]);
        assert_eq!(outcome("test a::fine ... ok", false).test_times, []);
    }

    #[test]
    fn what_is_printed_to_either_stream_is_read_and_the_pipe_ends() {
        let script =
            "echo 'test b ... FAILED' >&2; echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored'; exit 101";
        let outcome = run(Command::new("sh").args(["-c", script]), "-p a --lib", |_| {}).unwrap();
        assert_eq!((outcome.tally.failed, outcome.failures.len()), (1, 1));
    }
}
