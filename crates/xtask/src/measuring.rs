//! Measuring tests: those of the test targets that a plain `cargo test` leaves out (`test = false`), run by cargo-nextest.
//!
//! One that a disturbed machine keeps from deciding passes for nextest, and names itself in a file: here it is skipped.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use toml::{Table, Value};

use crate::failures::Failure;
use crate::hermetic::Outcome;
use crate::junit::{self, Report};
use crate::tally::Tally;
use crate::tools;
use xtask::workspace;

/// Names the file to which an undecided test adds a line `NAME: REASON`.
const UNDECIDED: &str = "PLIMSOLL_UNDECIDED";

/// Which of them run, by the groups of .config/nextest.toml.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Which {
    /// Those that may have anything beside them.
    BesideOthers,
    /// Those that nothing but tests like them may disturb.
    Undisturbed,
}

impl Which {
    /// Them, as a filterset of cargo-nextest.
    const fn filter(self) -> &'static str {
        match self {
            Self::BesideOthers => "group(@global)",
            Self::Undisturbed => "group(idle) + group(measuring)",
        }
    }
}

/// Report of cargo-nextest, which has its folder there wherever the target directory is.
const JUNIT: &str = "target/nextest/default/junit.xml";

/// The test targets of the workspace that measure.
pub(crate) struct Measuring {
    /// Their names, which no other target has: cargo selects them by these.
    names: Vec<String>,
}

impl Measuring {
    /// Reads them from the manifests.
    pub(crate) fn read() -> Result<Self> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(workspace::root().join("crates")).context("reading crates")? {
            let path = entry?.path().join("Cargo.toml");
            let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
            names.extend(of_manifest(&text).with_context(|| path.display().to_string())?);
        }
        names.sort();
        if names.is_empty() || names.windows(2).any(|pair| pair[0] == pair[1]) {
            bail!("test targets with `test = false` must be there, and each with a name of its own: {names:?}");
        }
        Ok(Self { names })
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The arguments by which cargo selects them.
    pub(crate) fn selection(&self) -> Vec<&str> {
        self.names.iter().flat_map(|name| ["--test", name]).collect()
    }

    /// Runs them, and names those that could not decide.
    pub(crate) fn run(&self, which: Which) -> Result<Outcome> {
        let tool = tools::ensure("cargo-nextest")?;
        let (undecided, junit) = (workspace::target().join("undecided"), workspace::root().join(JUNIT));
        for old in [&undecided, &junit] {
            // It need not be there; that a new one is written shows below.
            let _ = std::fs::remove_file(old);
        }
        let mut command = tools::cargo(&tool, &["nextest", "run", "--workspace", "--no-fail-fast", "--filterset"])?;
        command.arg(which.filter());
        let status =
            command.args(self.selection()).env(UNDECIDED, &undecided).status().context("cannot start cargo")?;
        let report = std::fs::read_to_string(&junit).with_context(|| format!("cargo nextest ended with {status}"))?;
        let undecided = read_if_there(&undecided)?;
        let undecided = reasons(&undecided);
        let report = Report::read(&report)?;
        let counted = counted(&report, undecided.len() as u64)?;
        for (name, reason) in &undecided {
            println!("undecided: {name}: {reason}");
        }
        let failures: Vec<Failure> = report.failures.iter().map(junit::Failed::failure).collect();
        // Those of the harness itself, such as one that lists no tests.
        if !status.success() && failures.is_empty() {
            bail!("cargo nextest ended with {status}");
        }
        Ok(Outcome { tally: counted, failures, test_times: report.test_times })
    }
}

/// Names of the `[[test]]` sections with `test = false`. Each has to say `bench = true`: `--all-targets` of cargo means what
/// `cargo test` and what `cargo bench` build, and clippy would miss a target that neither does.
fn of_manifest(text: &str) -> Result<Vec<String>> {
    let manifest: Table = text.parse()?;
    let tests = manifest.get("test").and_then(Value::as_array).into_iter().flatten();
    let measuring = tests.filter(|test| test.get("test").and_then(Value::as_bool) == Some(false));
    let checked_name = |test: &Value| {
        let name = test.get("name").and_then(Value::as_str).context("a [[test]] without a name")?;
        let is_linted = test.get("bench").and_then(Value::as_bool) == Some(true);
        ensure!(is_linted, "clippy misses [[test]] `{name}`: write `bench = true` beside its `test = false`");
        Ok(name.to_owned())
    };
    measuring.map(checked_name).collect()
}

fn read_if_there(path: &Path) -> Result<String> {
    match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        read => read.with_context(|| format!("reading {}", path.display())),
    }
}

/// The undecided tests with their reasons; one of several cases can have said so more than once.
fn reasons(text: &str) -> BTreeMap<&str, String> {
    let mut reasons: BTreeMap<&str, String> = BTreeMap::new();
    for (name, reason) in text.lines().filter_map(|line| line.split_once(": ")) {
        reasons.entry(name).and_modify(|all| *all = format!("{all}; {reason}")).or_insert_with(|| reason.to_owned());
    }
    reasons
}

/// Counts of a run. The undecided passed for nextest.
fn counted(&Report { tests, failed, .. }: &Report, undecided: u64) -> Result<Tally> {
    if tests == 0 || failed + undecided > tests {
        bail!("{tests} tests ran, {failed} failed, {undecided} are undecided");
    }
    Ok(Tally { passed: tests - failed - undecided, failed, skipped: undecided })
}

/// What stands above the closing line when more than a tenth of the measuring tests could not decide.
pub(crate) fn warning(Tally { passed, failed, skipped }: Tally) -> Option<String> {
    let tests = passed + failed + skipped;
    (skipped * 10 > tests).then(|| {
        format!(
            "this run proves little: {skipped} of {tests} measuring tests could not decide on so disturbed a machine"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{Measuring, Report, Tally, Which, counted, of_manifest, reasons, warning, workspace};
    use crate::tidy::code;

    #[test]
    fn targets_that_a_plain_cargo_test_leaves_out_are_those_that_measure() {
        let manifest = "[[test]]\nname = \"loads\"\ntest = false\nbench = true\n[[test]]\nname = \"pure\"\n";
        assert_eq!(of_manifest(manifest).unwrap(), ["loads"]);
        assert!(of_manifest("[[test]]\ntest = false\nbench = true\n").is_err());
        let unlinted = of_manifest(&manifest.replace("bench = true\n", "")).unwrap_err().to_string();
        assert!(unlinted.contains("`loads`"), "{unlinted}");
        let measuring = Measuring::read().unwrap();
        assert!(measuring.selection().ends_with(&["--test", "serve"]), "{:?}", measuring.selection());
    }

    #[test]
    fn every_test_is_in_one_of_the_groups_that_are_run() {
        let config = std::fs::read_to_string(workspace::root().join(".config/nextest.toml")).unwrap();
        let run = [Which::BesideOthers, Which::Undisturbed].map(Which::filter).join(" ");
        for group in config.lines().filter_map(|line| line.strip_prefix("test-group = ")) {
            assert!(run.contains(&format!("group({})", group.trim_matches('"'))), "{group}");
        }
        // What no other section is about is in one of them.
        assert!(config.contains("filter = 'kind(test)'\ntest-group = \"measuring\""));
    }

    /// One that does would take the others for a disturbance of the machine.
    #[test]
    fn tests_that_run_beside_others_decide_nothing() {
        let tests = workspace::root().join("crates/plimsoll/tests/end_to_end");
        let config = std::fs::read_to_string(workspace::root().join(".config/nextest.toml")).unwrap();
        let (_, rest) = config.split_once("binary(end_to_end) & test(/^(").unwrap();
        let (modules, _) = rest.split_once(")::/)").unwrap();
        for module in modules.split('|') {
            let path = tests.join(module.replace("::", "/"));
            let mut files: Vec<_> =
                std::fs::read_dir(&path).into_iter().flatten().map(|file| file.unwrap().path()).collect();
            files.extend(Some(path.with_extension("rs")).filter(|file| file.exists()));
            assert!(!files.is_empty(), "{module} is no module of the tests");
            for file in files {
                let code = code::mask(&std::fs::read_to_string(&file).unwrap());
                assert!(!code.contains("decide"), "{}", file.display());
            }
        }
    }

    #[test]
    fn undecided_tests_are_skipped_and_no_pass() {
        let report = Report { tests: 9, failed: 3, ..Report::default() };
        assert_eq!(counted(&report, 2).unwrap(), Tally { passed: 4, failed: 3, skipped: 2 });
        assert!(counted(&report, 7).is_err());
        assert!(counted(&Report::default(), 0).is_err(), "none ran");
        let text = "limits::cpu: 5 % steal\ntruth::pool: late\nlimits::cpu: 7 % steal\n";
        let reasons: Vec<_> = reasons(text).into_iter().collect();
        assert_eq!(reasons, [("limits::cpu", "5 % steal; 7 % steal".into()), ("truth::pool", "late".into())]);
    }

    #[test]
    fn a_run_with_more_than_a_tenth_undecided_says_that_it_proves_little() {
        assert_eq!(warning(Tally { passed: 18, failed: 0, skipped: 2 }), None);
        let warning = warning(Tally { passed: 16, failed: 1, skipped: 2 }).unwrap();
        assert!(warning.contains("proves little") && warning.contains("2 of 19"), "{warning}");
    }
}
