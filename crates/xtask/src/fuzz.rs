//! `cargo xtask fuzz`: every target of `fuzz/` for a fixed time, with cargo-fuzz on the nightly toolchain.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use toml::{Table, Value};

use crate::options::Options;
use crate::workspace;

/// Runs all targets, prints executions and findings of each, and fails when there was a finding.
pub(crate) fn run(mut options: Options) -> Result<()> {
    let seconds: u32 = options.value("--seconds")?.unwrap_or(60);
    options.finish()?;
    let folder = workspace::root().join("fuzz");
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).context("reading fuzz/Cargo.toml")?;
    let targets = targets(&manifest)?;
    ensure_cargo_fuzz()?;
    let mut findings = 0;
    for target in &targets {
        println!("==== {target}: {seconds} s");
        let outcome = fuzz(&folder, target, seconds)?;
        println!("{target}: {} executions, {} finding(s)", outcome.executions, outcome.findings.len());
        for finding in &outcome.findings {
            println!("     {finding}");
        }
        findings += outcome.findings.len();
    }
    if findings > 0 {
        bail!("{findings} finding(s)");
    }
    Ok(())
}

/// What libFuzzer said at its end.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    executions: u64,
    /// Path of each input that crashed, hung or ran out of memory.
    findings: Vec<String>,
}

fn fuzz(folder: &Path, target: &str, seconds: u32) -> Result<Outcome> {
    let limit = format!("-max_total_time={seconds}");
    let arguments = ["fuzz", "run", target, "--", &limit, "-print_final_stats=1"];
    let output = nightly_cargo(&arguments).current_dir(folder).output().context("cannot start cargo fuzz")?;
    let log = String::from_utf8_lossy(&output.stderr);
    let outcome = read_log(&log);
    if !output.status.success() && outcome.findings.is_empty() {
        bail!("cargo fuzz run {target} ended with {}:\n{log}", output.status);
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

/// Names of the `[[bin]]` sections.
fn targets(manifest: &str) -> Result<Vec<String>> {
    let manifest: Table = manifest.parse().context("fuzz/Cargo.toml")?;
    let bins = manifest.get("bin").and_then(Value::as_array).context("fuzz/Cargo.toml names no [[bin]]")?;
    Ok(bins.iter().filter_map(|bin| bin.get("name")?.as_str().map(str::to_owned)).collect())
}

fn ensure_cargo_fuzz() -> Result<()> {
    let installed = nightly_cargo(&["fuzz", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .context("cannot start rustup: fuzzing needs the nightly toolchain")?;
    if installed.success() {
        return Ok(());
    }
    println!("==== cargo install cargo-fuzz");
    workspace::run(&mut nightly_cargo(&["install", "--locked", "cargo-fuzz"]))
}

/// Cargo of the nightly toolchain, free of what the pinned toolchain put into the environment of this task.
fn nightly_cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo"]).args(arguments).stdin(Stdio::null());
    for name in ["RUSTUP_TOOLCHAIN", "CARGO", "LD_LIBRARY_PATH", "CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH"] {
        command.env_remove(name);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::{Outcome, read_log, targets};

    #[test]
    fn targets_are_the_binaries() {
        let manifest = "[package]\nname = \"f\"\n[[bin]]\nname = \"http1\"\n[[bin]]\nname = \"audit\"\n";
        assert_eq!(targets(manifest).unwrap(), ["http1", "audit"]);
        assert!(targets("[package]\nname = \"f\"\n").is_err());
    }

    #[test]
    fn executions_and_findings_are_read() {
        let log = "INFO: seed corpus\nartifact_prefix='./'; Test unit written to ./crash-01\n\
                   stat::number_of_executed_units: 1234\nstat::peak_rss_mb: 40\n";
        assert_eq!(read_log(log), Outcome { executions: 1234, findings: vec!["./crash-01".to_owned()] });
    }
}
