//! `cargo xtask fuzz`: every target of `fuzz/`, for a time or a number of executions, with cargo-fuzz on the nightly
//! toolchain.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
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

/// Builds the targets, runs one after another, prints executions and findings of each, and fails when there was a finding.
/// What a long run has found is kept for the next one, as few inputs as reach all of it.
pub(crate) fn run(Options { only, length }: Options) -> Result<()> {
    let targets = chosen(all_targets()?, &only)?;
    println!("     building, then fuzzing one after another: {length}");
    build(&targets, length)?;
    in_turn(&targets, length)
}

/// Builds all targets, while something else runs that keeps the CPUs whenever it wants them.
pub(crate) fn build_aside(length: Length) -> Result<()> {
    lower_priority()?;
    build(&all_targets()?, length)
}

/// Runs all targets, which are built, one after another, so that each has a core in its few seconds. Prints executions and
/// findings of each, and fails when there was a finding.
pub(crate) fn run_in_turn(length: Length) -> Result<()> {
    in_turn(&all_targets()?, length)
}

fn in_turn(targets: &[Target], length: Length) -> Result<()> {
    // What is wrong with one of them is told at the end: hours may have gone into the others.
    let outcomes: Vec<Result<Outcome>> = targets.iter().map(|target| fuzz(target, length)).collect();
    let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
    print!("{}", summary(&names, &outcomes));
    let failed: Vec<String> =
        outcomes.iter().filter_map(|one| one.as_ref().err()).map(|why| format!("{why:#}")).collect();
    let findings: usize = outcomes.iter().flatten().map(|outcome| outcome.findings.len()).sum();
    match (findings, failed.is_empty()) {
        (0, true) => Ok(()),
        (_, true) => bail!("{findings} finding(s)"),
        (_, false) => bail!("{findings} finding(s); {}", failed.join("\n")),
    }
}

/// A line for each target with its executions, their rate and the number of its findings, and a line for each finding.
fn summary(names: &[&str], outcomes: &[Result<Outcome>]) -> String {
    let width = names.iter().map(|name| name.len()).max().unwrap_or_default().max("target".len());
    let row = |name: &str, cells: [&str; 4]| {
        let [executions, per_s, findings, kept] = cells;
        let row = format!("{name:width$} {executions:>12} {per_s:>9} {findings:>9} {kept:>12}");
        format!("{}\n", row.trim_end())
    };
    let mut text = row("target", ["executions", "exec/s", "findings", "inputs kept"]);
    for (name, outcome) in names.iter().zip(outcomes) {
        match outcome {
            Ok(Outcome { executions, per_s, findings, kept }) => {
                let kept = kept.map_or_else(String::new, |kept| kept.to_string());
                let counts = [executions.to_string(), per_s.to_string(), findings.len().to_string()];
                text += &row(name, [&counts[0], &counts[1], &counts[2], &kept]);
                text.extend(findings.iter().map(|finding| format!("     {finding}\n")));
            }
            Err(_) => text += &row(name, ["failed", "", "", ""]),
        }
    }
    let executions: u64 = outcomes.iter().flatten().map(|outcome| outcome.executions).sum();
    text + &format!("{} target(s), {executions} executions\n", names.len())
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

/// Time from which an input is a finding: where others have the cores, the 10 s of libFuzzer are soon over.
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

    /// True if faster programs are worth the longer build, and what is found is worth to be kept.
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

impl Target {
    /// Folder of the inputs that were found, below that of the targets.
    fn found(&self) -> String {
        format!("corpus/{}", self.name)
    }
}

/// What libFuzzer said at its end.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    executions: u64,
    /// Executions per second.
    per_s: u64,
    /// Path of each input that crashed, hung or ran out of memory.
    findings: Vec<String>,
    /// Inputs that are kept for the next run; none where that was not looked at.
    kept: Option<usize>,
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
    let name = target.name.as_str();
    let artifacts = format!("artifacts/{name}/");
    for directory in [&target.found(), &artifacts] {
        std::fs::create_dir_all(folder().join(directory)).with_context(|| format!("cannot create fuzz/{directory}"))?;
    }
    let mut command = program(target, length);
    // The first directory collects what is found and stays out of git.
    command.args([&target.found(), &target.seeds]).args(["-print_final_stats=1", SLOW]).args(length.arguments());
    command.arg(format!("-artifact_prefix={artifacts}"));
    let (is_success, log) = logged(command, &format!("{name}.log"))?;
    let mut outcome = read_log(&log);
    if !is_success && outcome.findings.is_empty() {
        bail!("target {name} ended with an error:\n{log}");
    }
    if length.is_long() {
        outcome.kept = Some(minimise(target, length)?);
    }
    Ok(outcome)
}

/// Keeps as few of the inputs that were found as reach, with the committed ones, all that all of them reach. Returns how many.
fn minimise(target: &Target, length: Length) -> Result<usize> {
    let name = target.name.as_str();
    let (found, fewer) = (target.found(), format!("corpus/{name}.fewer"));
    let (all, kept) = (folder().join(&found), folder().join(&fewer));
    let wrong = || format!("cannot minimise fuzz/{found}");
    if kept.exists() {
        std::fs::remove_dir_all(&kept).with_context(wrong)?;
    }
    std::fs::create_dir_all(&kept).with_context(wrong)?;
    let mut command = program(target, length);
    command.args(["-merge=1", &fewer, &target.seeds, &found]);
    let (is_success, log) = logged(command, &format!("{name}.merge.log"))?;
    if !is_success {
        bail!("{}, which stays as it is:\n{log}", wrong());
    }
    std::fs::remove_dir_all(&all).and_then(|()| std::fs::rename(&kept, &all)).with_context(wrong)?;
    Ok(std::fs::read_dir(&all).with_context(wrong)?.count())
}

/// The built program of a target, without its arguments but for the length of inputs.
fn program(target: &Target, length: Length) -> Command {
    let built = folder().join("target").join(host()).join(length.profile());
    let mut command = Command::new(built.join(&target.name));
    command.arg(format!("-max_len={}", target.longest)).current_dir(folder()).stdin(Stdio::null());
    command
}

/// Runs a program of libFuzzer. Returns whether it ended well, and what it has written to a log of this name.
fn logged(mut command: Command, name: &str) -> Result<(bool, String)> {
    // A file, so that a run of hours can be watched.
    let log = folder().join("target").join(name);
    let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
    println!("     log: {}", log.display());
    let status = command.stderr(file).status();
    let status = status.with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let log = String::from_utf8_lossy(&std::fs::read(&log).context("reading the log")?).into_owned();
    Ok((status.success(), log))
}

/// Reads `stat::number_of_executed_units: N`, `stat::average_exec_per_sec: N` and `Test unit written to PATH`.
fn read_log(log: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let number = |text: &str| text.trim().parse::<u64>().unwrap_or(0);
    for line in log.lines() {
        if let Some((_, count)) = line.split_once("stat::number_of_executed_units:") {
            outcome.executions += number(count);
        }
        if let Some((_, per_s)) = line.split_once("stat::average_exec_per_sec:") {
            outcome.per_s = number(per_s);
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
    use super::{LONGEST, Length, Outcome, Target, all_targets, chosen, folder, read_log, summary, targets};
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
                   stat::number_of_executed_units: 1234\nstat::average_exec_per_sec:     56\nstat::peak_rss_mb: 40\n";
        let findings = vec!["./crash-01".to_owned()];
        assert_eq!(read_log(log), Outcome { executions: 1234, per_s: 56, findings, kept: None });
    }

    #[test]
    fn each_target_has_a_line_with_its_executions_and_findings() {
        let found = Outcome { executions: 1234, per_s: 56, findings: vec!["crash-01".to_owned()], kept: None };
        let kept = Outcome { executions: 6, per_s: 3, findings: Vec::new(), kept: Some(7) };
        let text = summary(&["har", "http1_client", "x"], &[Ok(found), Ok(kept), Err(anyhow::anyhow!("broken"))]);
        assert_eq!(
            text,
            "target         executions    exec/s  findings  inputs kept\n\
             har                  1234        56         1\n\
             \x20    crash-01\n\
             http1_client            6         3         0            7\n\
             x                  failed\n\
             3 target(s), 1240 executions\n"
        );
    }

    #[test]
    fn every_target_starts_from_committed_inputs() {
        for Target { name, seeds, longest } in all_targets().unwrap() {
            let inputs: Vec<_> = std::fs::read_dir(folder().join(&seeds)).expect(&seeds).map(Result::unwrap).collect();
            assert!(inputs.iter().any(|input| input.metadata().unwrap().is_file()), "{name}: nothing in {seeds}");
            assert!(longest >= LONGEST, "{name}");
        }
    }
}
