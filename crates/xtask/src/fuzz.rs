//! `cargo xtask fuzz`: every target of `fuzz/`, for a time or a number of executions, with cargo-fuzz on the nightly
//! toolchain.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::ScopedJoinHandle;

use anyhow::{Context, Result, anyhow, bail};
use clap::builder::ArgPredicate;
use toml::{Table, Value};

use crate::tools;
use xtask::workspace;

/// What is fuzzed, and for how long.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// These targets alone
    #[arg(long, value_name = "TARGET,...", value_delimiter = ',')]
    only: Vec<String>,
    #[command(flatten)]
    length: Length,
}

/// Builds the targets, runs them all at once, prints executions and findings of each, and fails when there was a finding.
pub(crate) fn run(Options { only, length }: Options) -> Result<()> {
    let targets = chosen(all_targets()?, &only)?;
    println!("     building, then fuzzing all at once: {length}");
    build(&targets, length)?;
    let outcomes = std::thread::scope(|scope| {
        let running: Vec<_> = targets.iter().map(|target| scope.spawn(move || fuzz(target, length))).collect();
        let joined = |one: ScopedJoinHandle<'_, Result<Outcome>>| {
            one.join().map_err(|_| anyhow!("a thread that fuzzes has panicked"))?
        };
        running.into_iter().map(joined).collect::<Result<Vec<_>>>()
    })?;
    print_outcomes(&targets, &outcomes)
}

/// Builds all targets, while something else runs that keeps the CPUs whenever it wants them.
pub(crate) fn build_aside(length: Length) -> Result<()> {
    lower_priority()?;
    build(&all_targets()?, length)
}

/// Runs all targets, which are built, one after another, so that each has a core in its few seconds. Prints executions and
/// findings of each, and fails when there was a finding.
pub(crate) fn run_in_turn(length: Length) -> Result<()> {
    let targets = all_targets()?;
    let outcomes = targets.iter().map(|target| fuzz(target, length)).collect::<Result<Vec<_>>>()?;
    print_outcomes(&targets, &outcomes)
}

fn print_outcomes(targets: &[Target], outcomes: &[Outcome]) -> Result<()> {
    for (target, outcome) in targets.iter().zip(outcomes) {
        println!("{}: {} executions, {} finding(s)", target.name, outcome.executions, outcome.findings.len());
        for finding in &outcome.findings {
            println!("     {finding}");
        }
    }
    match outcomes.iter().map(|outcome| outcome.findings.len()).sum() {
        0 => Ok(()),
        findings @ 1.. => bail!("{findings} finding(s)"),
    }
}

/// Lets all others go before. Linux sets it for this thread, and all that it starts inherit it (setpriority(2)).
fn lower_priority() -> Result<()> {
    rustix::process::setpriority_process(None, LOWEST_PRIORITY).context("cannot lower the priority")
}

/// Nice value of what gets the time that nobody else wants.
const LOWEST_PRIORITY: i32 = 19;

/// Builds one target or, all at once so that no core waits for the last part of one of them, all: cargo-fuzz can do no other.
fn build(targets: &[Target], length: Length) -> Result<()> {
    let host = host();
    let mut arguments = [&["fuzz", "build", "--target", &host], length.build()].concat();
    if let [target] = targets {
        arguments.push(&target.name);
    }
    let mut command = nightly_cargo(&cargo_fuzz()?, &arguments)?;
    let output = command.current_dir(folder()).output().context("cannot start cargo fuzz")?;
    match output.status.success() {
        true => Ok(()),
        false => bail!("cargo fuzz build ended with {}:\n{}", output.status, String::from_utf8_lossy(&output.stderr)),
    }
}

fn folder() -> PathBuf {
    workspace::root().join("fuzz")
}

/// Where the targets run: what a GNU toolchain calls this machine.
fn host() -> String {
    format!("{}-unknown-linux-gnu", std::env::consts::ARCH)
}

fn all_targets() -> Result<Vec<Target>> {
    targets(&std::fs::read_to_string(folder().join("Cargo.toml")).context("reading fuzz/Cargo.toml")?)
}

/// Longest input of a target that says nothing else; bytes. Longer ones repeat what shorter ones have, and take many times as
/// long.
const LONGEST: i64 = 1024;

/// Time from which an input is a finding: all targets may run at once, on few cores, where the 10 s of libFuzzer are soon over.
const SLOW: &str = "-report_slow_units=60";

/// How targets are built for some seconds of fuzzing. What is fuzzed has no `unsafe`: an address sanitizer would find nothing,
/// and costs three quarters of the speed.
const BUILD: &[&str] = &["--dev", "--strip-dead-code", "--sanitizer", "none"];

/// The same for minutes, or for a number of executions, which may take hours: faster, and minutes longer to build.
const BUILD_RELEASE: &[&str] = &["--release", "--strip-dead-code", "--sanitizer", "none"];

/// When a target has been fuzzed enough: after a time or a number of executions, whichever is reached first. To libFuzzer 0
/// means for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::Args)]
pub(crate) struct Length {
    /// Time of each target in seconds [default: 60, or none with --minutes or --executions]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u32).range(1..), default_value = "60")]
    #[arg(default_value_if("executions", ArgPredicate::IsPresent, None))]
    #[arg(default_value_if("minutes", ArgPredicate::IsPresent, None))]
    seconds: Option<u32>,
    /// Time of each target in minutes, with a release build
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "seconds")]
    minutes: Option<u32>,
    /// Executions of each target, with a release build
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    executions: Option<u32>,
}

impl Length {
    pub(crate) const fn of_seconds(seconds: u32) -> Self {
        Self { seconds: Some(seconds), minutes: None, executions: None }
    }

    /// True if faster programs are worth the longer build.
    const fn is_long(self) -> bool {
        self.minutes.is_some() || self.executions.is_some()
    }

    const fn build(self) -> &'static [&'static str] {
        if self.is_long() { BUILD_RELEASE } else { BUILD }
    }

    /// Folder of what that builds.
    const fn profile(self) -> &'static str {
        if self.is_long() { "release" } else { "debug" }
    }

    fn arguments(self) -> impl Iterator<Item = String> {
        let minutes_in_s = self.minutes.map(|minutes| u64::from(minutes) * 60);
        let seconds = self.seconds.map(u64::from).or(minutes_in_s);
        let seconds = seconds.map(|seconds| format!("-max_total_time={seconds}"));
        let executions = self.executions.map(|executions| format!("-runs={executions}"));
        seconds.into_iter().chain(executions)
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = [
            self.executions.map(|executions| format!("{executions} executions")),
            self.minutes.map(|minutes| format!("{minutes} min")),
            self.seconds.map(|seconds| format!("{seconds} s")),
        ];
        f.write_str(&limits.into_iter().flatten().collect::<Vec<_>>().join(", at most "))
    }
}

/// A `[[bin]]` of `fuzz/` and the committed inputs it starts from.
#[derive(Debug, PartialEq, Eq)]
struct Target {
    name: String,
    seeds: String,
    /// Longest input; bytes.
    longest: i64,
}

/// What libFuzzer said at its end.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    executions: u64,
    /// Path of each input that crashed, hung or ran out of memory.
    findings: Vec<String>,
}

/// Those named, or all of them.
fn chosen(targets: Vec<Target>, only: &[String]) -> Result<Vec<Target>> {
    if let Some(unknown) = only.iter().find(|name| targets.iter().all(|target| target.name != **name)) {
        let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
        bail!("--only: there is no target `{unknown}`; there are {}", names.join(", "));
    }
    Ok(targets.into_iter().filter(|target| only.is_empty() || only.contains(&target.name)).collect())
}

/// Runs the program that cargo-fuzz has built: its own `run` looks at the build of each once more, one after the other.
fn fuzz(target: &Target, length: Length) -> Result<Outcome> {
    let (folder, name) = (folder(), target.name.as_str());
    // The first directory collects what is found and stays out of git.
    let (found, artifacts) = (format!("corpus/{name}"), format!("artifacts/{name}/"));
    for directory in [&found, &artifacts] {
        std::fs::create_dir_all(folder.join(directory)).with_context(|| format!("cannot create fuzz/{directory}"))?;
    }
    let built = folder.join("target");
    // A file, so that a run of hours can be watched.
    let log = built.join(format!("{name}.log"));
    let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
    println!("     log: {}", log.display());
    let mut command = Command::new(built.join(host()).join(length.profile()).join(name));
    command.args([&found, &target.seeds]).args(["-print_final_stats=1", SLOW]).args(length.arguments());
    command.args([format!("-max_len={}", target.longest), format!("-artifact_prefix={artifacts}")]);
    command.current_dir(&folder).stdin(Stdio::null()).stderr(file);
    let status = command.status().with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let log = String::from_utf8_lossy(&std::fs::read(&log).context("reading the log")?).into_owned();
    let outcome = read_log(&log);
    if !status.success() && outcome.findings.is_empty() {
        bail!("target {name} ended with {status}:\n{log}");
    }
    Ok(outcome)
}

/// Reads `stat::number_of_executed_units: N` and `Test unit written to PATH`.
fn read_log(log: &str) -> Outcome {
    let mut outcome = Outcome::default();
    for line in log.lines() {
        if let Some((_, count)) = line.split_once("stat::number_of_executed_units:") {
            outcome.executions += count.trim().parse::<u64>().unwrap_or(0);
        }
        if let Some((_, path)) = line.split_once("Test unit written to ") {
            outcome.findings.push(path.trim().to_owned());
        }
    }
    outcome
}

/// The `[[bin]]` sections, the seeds that `[package.metadata.seeds]` names for each, and the lengths of `longest`.
fn targets(manifest: &str) -> Result<Vec<Target>> {
    let manifest: Table = manifest.parse().context("fuzz/Cargo.toml")?;
    let bins = manifest.get("bin").and_then(Value::as_array).context("fuzz/Cargo.toml names no [[bin]]")?;
    let metadata =
        |name| ["package", "metadata", name].iter().try_fold(&manifest, |table, key| table.get(*key)?.as_table());
    let seeds = metadata("seeds").context("fuzz/Cargo.toml has no [package.metadata.seeds]")?;
    let longest = metadata("longest");
    let names = bins.iter().filter_map(|bin| bin.get("name")?.as_str());
    names
        .map(|name| {
            let seeds = seeds.get(name).and_then(Value::as_str);
            let seeds = seeds.with_context(|| format!("[package.metadata.seeds] has nothing for {name}"))?;
            let longest = longest.and_then(|longest| longest.get(name)?.as_integer()).unwrap_or(LONGEST);
            Ok(Target { name: name.to_owned(), seeds: seeds.to_owned(), longest })
        })
        .collect()
}

/// Directory of cargo-fuzz, which is installed when it is missing, as is the nightly toolchain.
fn cargo_fuzz() -> Result<PathBuf> {
    let has_nightly = Command::new("rustup").args(["run", "nightly", "rustc", "--version"]).output();
    if !has_nightly.context("cannot start rustup: fuzzing needs the nightly toolchain")?.status.success() {
        println!("==== rustup toolchain install nightly");
        workspace::run(Command::new("rustup").args(["toolchain", "install", "nightly", "--profile", "minimal"]))?;
    }
    tools::ensure("cargo-fuzz")
}

/// Cargo of the nightly toolchain, free of what the pinned toolchain put into the environment of this task.
fn nightly_cargo(tool: &Path, arguments: &[&str]) -> Result<Command> {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo"]).args(arguments).stdin(Stdio::null());
    for name in ["RUSTUP_TOOLCHAIN", "CARGO", "LD_LIBRARY_PATH", "CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH"] {
        command.env_remove(name);
    }
    command.env("PATH", tools::path_with(tool)?);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::{Length, Outcome, Target, chosen, read_log, targets};
    use clap::{Args, Command, Error, FromArgMatches};

    fn length(line: &str) -> Result<Length, Error> {
        let command = Length::augment_args(Command::new("fuzz").no_binary_name(true));
        Length::from_arg_matches(&command.try_get_matches_from(line.split_whitespace())?)
    }

    #[test]
    fn targets_are_the_binaries_with_their_seeds() {
        let manifest = "[package]\nname = \"f\"\n[package.metadata.seeds]\nhttp1 = \"../seeds\"\n\
                        [[bin]]\nname = \"http1\"\n";
        let expected = |longest| Target { name: "http1".to_owned(), seeds: "../seeds".to_owned(), longest };
        assert_eq!(targets(manifest).unwrap(), [expected(1024)]);
        let long = format!("{manifest}[package.metadata.longest]\nhttp1 = 4096\n");
        assert_eq!(targets(&long).unwrap(), [expected(4096)]);
        let forgotten = targets(&format!("{manifest}[[bin]]\nname = \"audit\"\n")).unwrap_err();
        assert!(forgotten.to_string().contains("audit"), "{forgotten}");
        assert!(targets("[package]\nname = \"f\"\n").is_err());
    }

    #[test]
    fn targets_are_chosen_by_name_and_an_unknown_name_is_refused() {
        let all =
            || ["har", "hlog"].map(|name| Target { name: name.to_owned(), seeds: String::new(), longest: 1 }).into();
        let names = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(ToString::to_string).collect();
            chosen(all(), &only).map(|chosen| chosen.into_iter().map(|target| target.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap(), ["har", "hlog"]);
        assert_eq!(names(&["hlog"]).unwrap(), ["hlog"]);
        assert!(names(&["hlgo"]).unwrap_err().to_string().contains("`hlgo`; there are har, hlog"));
    }

    #[test]
    fn the_length_is_a_time_or_a_number_of_executions() {
        let arguments = |line| length(line).map(|length| length.arguments().collect::<Vec<_>>());
        assert_eq!(arguments("").unwrap(), ["-max_total_time=60"]);
        assert_eq!(arguments("--executions 1000").unwrap(), ["-runs=1000"]);
        assert_eq!(arguments("--seconds 9 --executions 7").unwrap(), ["-max_total_time=9", "-runs=7"]);
        assert!(arguments("--executions 0").is_err());
        assert_eq!(arguments("--minutes 60").unwrap(), ["-max_total_time=3600"]);
        assert_eq!(arguments("--minutes 2 --executions 7").unwrap(), ["-max_total_time=120", "-runs=7"]);
        assert!(arguments("--seconds 0").is_err());
        assert!(arguments("--minutes 0").is_err());
        assert!(arguments("--minutes 1 --seconds 9").is_err());
        assert_eq!(length("--minutes 2 --executions 7").unwrap().to_string(), "7 executions, at most 2 min");
        assert_eq!(length("").unwrap().to_string(), "60 s");
        let profile = |line| length(line).map(|length| (length.build()[0], length.profile())).unwrap();
        assert_eq!(["", "--seconds 9"].map(profile), [("--dev", "debug"); 2]);
        assert_eq!(["--minutes 1", "--executions 7"].map(profile), [("--release", "release"); 2]);
    }

    #[test]
    fn executions_and_findings_are_read() {
        let log = "INFO: seed corpus\nartifact_prefix='./'; Test unit written to ./crash-01\n\
                   stat::number_of_executed_units: 1234\nstat::peak_rss_mb: 40\n";
        assert_eq!(read_log(log), Outcome { executions: 1234, findings: vec!["./crash-01".to_owned()] });
    }
}
