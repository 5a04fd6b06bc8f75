//! What is tried on a cluster, and what has to come of it. After each, no Job and no pod is left.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::builder::PossibleValuesParser;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use super::cluster::Cluster;
use crate::record::findings;

/// A case by its name.
pub(super) struct Case {
    pub(super) name: &'static str,
    /// What was seen, in a line.
    pub(super) check: fn(&Cluster) -> Result<String>,
}

pub(super) const CASES: [Case; 10] = [
    Case { name: "run", check: run },
    Case { name: "sweep", check: sweep },
    Case { name: "agent-killed", check: agent_killed },
    Case { name: "agent-killed-continue", check: agent_killed_continue },
    Case { name: "interrupted", check: interrupted },
    Case { name: "coordinator-killed", check: coordinator_killed },
    Case { name: "unschedulable", check: unschedulable },
    Case { name: "image-missing", check: image_missing },
    Case { name: "no-rights", check: no_rights },
    Case { name: "node-cut-off", check: node_cut_off },
];

/// Names of the cases.
pub(super) fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(CASES.iter().map(|case| case.name))
}

/// All is gone within this time: agents end 10 s after their coordinator, and a Job is deleted after that.
const CLEAN: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(200);
/// No run takes longer.
const RUN: Duration = Duration::from_secs(120);

/// A plimsoll that runs.
struct Running {
    child: Child,
    folder: TempDir,
}

/// One that has ended.
struct Ended {
    output: Output,
    folder: TempDir,
}

/// Starts plimsoll with load from the cluster.
fn start(cluster: &Cluster, user: &str, client: &str, words: &[&str]) -> Result<Running> {
    let folder = tempfile::tempdir()?;
    let (verb, options) = words.split_first().context("a verb")?;
    let mut command = cluster.plimsoll(user, folder.path());
    let client = format!("k8s://{client}");
    command.args([verb, Cluster::TARGET, "--json", "--client", &client]).args(options);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    Ok(Running { child, folder })
}

fn ended(cluster: &Cluster, user: &str, client: &str, words: &[&str]) -> Result<Ended> {
    start(cluster, user, client, words)?.end()
}

impl Running {
    /// Waits for some ticks of the load.
    fn ticks(&self, wanted: usize) -> Result<()> {
        let since = Instant::now();
        while since.elapsed() < RUN {
            let events = find(self.folder.path(), "events.jsonl").and_then(|file| fs::read_to_string(file).ok());
            let events = events.unwrap_or_default();
            if events.lines().filter(|line| line.contains("\"tick\"")).count() >= wanted {
                return Ok(());
            }
            std::thread::sleep(LOOK);
        }
        bail!("no load came within {} s", RUN.as_secs())
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        // The child is nsenter, whose only child is the one in the namespace of processes.
        let pid = descendants(self.child.id())?.last().copied().context("it has ended")?;
        Ok(kill_process(pid, signal)?)
    }

    fn end(self) -> Result<Ended> {
        let Self { child, folder } = self;
        Ok(Ended { output: child.wait_with_output()?, folder })
    }
}

/// Processes below one, each the child of the one before.
fn descendants(of: u32) -> Result<Vec<Pid>> {
    let (mut found, mut next) = (Vec::new(), of.to_string());
    while let Ok(children) = fs::read_to_string(format!("/proc/{next}/task/{next}/children")) {
        let Some(child) = children.split_whitespace().next() else { break };
        child.clone_into(&mut next);
        found.extend(Pid::from_raw(child.parse()?));
    }
    Ok(found)
}

impl Ended {
    fn error(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).trim().to_owned()
    }

    fn code(&self) -> Option<i32> {
        self.output.status.code()
    }

    /// The record; the load was measured, whatever the verdict.
    fn record(&self, codes: &[i32]) -> Result<Value> {
        let is_expected = self.code().is_some_and(|code| codes.contains(&code));
        ensure!(is_expected, "exit code {:?} and not one of {codes:?}: {}", self.code(), self.error());
        serde_json::from_slice(&self.output.stdout).context("the record")
    }

    /// Nothing was measured, which one line says.
    fn fails(&self, named: &[&str]) -> Result<String> {
        let error = self.error();
        let last = error.lines().last().unwrap_or_default();
        ensure!(self.code() == Some(2), "exit code {:?}: {error}", self.code());
        let missing: Vec<_> = named.iter().filter(|text| !last.contains(**text)).collect();
        ensure!(missing.is_empty(), "{last:?} does not name {missing:?}");
        ensure!(find(self.folder.path(), "run.json").is_none(), "a result was stored");
        Ok(last.to_owned())
    }
}

/// A file below a folder.
fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries: Vec<_> = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    let here = entries.iter().find(|path| path.file_name().is_some_and(|file| file == name)).cloned();
    here.or_else(|| entries.iter().filter(|path| path.is_dir()).find_map(|path| find(path, name)))
}

/// Waits until no Job and no pod is left.
fn clean(cluster: &Cluster) -> Result<f64> {
    let since = Instant::now();
    loop {
        let left = cluster.kubectl("get jobs,pods --output name")?;
        if left.is_empty() {
            return Ok(since.elapsed().as_secs_f64());
        }
        ensure!(since.elapsed() < CLEAN, "left: {left}");
        std::thread::sleep(LOOK);
    }
}

fn count(record: &Value, key: &str) -> u64 {
    record["requests"][key].as_u64().unwrap_or_default()
}

fn lost(record: &Value) -> Vec<&str> {
    let agents = record["agents"].as_array().into_iter().flatten();
    agents.filter_map(|agent| agent["lost"]["why"].as_str()).collect()
}

const RUN_WORDS: [&str; 7] = ["run", "-c", "8", "--warmup", "500ms", "-d", "3s"];

fn run(cluster: &Cluster) -> Result<String> {
    let begun = Instant::now();
    let ended = ended(cluster, "load", "load?replicas=2", &RUN_WORDS)?;
    let took_s = begun.elapsed().as_secs_f64();
    let record = ended.record(&[0, 4])?;
    let agents = record["agents"].as_array().context("agents")?;
    let names: Vec<_> = agents.iter().filter_map(|agent| agent["name"].as_str()).collect();
    ensure!(names == ["k8s://load/1", "k8s://load/2"], "{names:?}");
    ensure!(agents.iter().all(|agent| agent["flow"]["good"].as_u64() > Some(100)), "{agents:?}");
    let after_s = clean(cluster)?;
    Ok(format!(
        "{} good responses of 2 agents, {took_s:.1} s with start and end, clean after {after_s:.1} s",
        count(&record, "good")
    ))
}

fn sweep(cluster: &Cluster) -> Result<String> {
    let words =
        ["sweep", "--from", "2", "--to", "8", "--points", "3", "--iterations", "1", "--warmup", "500ms", "-d", "4s"];
    let record = ended(cluster, "load", "load?replicas=2", &words)?.record(&[0, 4])?;
    let loads = record["points"].as_array().map_or(0, Vec::len);
    ensure!(loads == 3, "{loads} loads");
    clean(cluster)?;
    let rules: Vec<_> = findings(&record)
        .iter()
        .filter(|finding| finding["state"] != "note")
        .filter_map(|finding| finding["rule"].as_str())
        .collect();
    Ok(format!("{loads} loads of the same agents, verdict {} {}", record["verdict"]["state"], rules.join(" ")))
}

/// Kills the agent of one pod.
fn kill_agent(cluster: &Cluster) -> Result<()> {
    let script = "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline 2>/dev/null | grep -q 'agent --listen' && \
                  exec kill -9 ${p#/proc/}; done; exit 1";
    cluster.shell("c", script).context("no agent to kill").map(drop)
}

fn killed(cluster: &Cluster, on_loss: &str, code: i32) -> Result<String> {
    let words = ["run", "-c", "8", "--warmup", "0s", "-d", "8s", "--on-agent-loss", on_loss];
    let running = start(cluster, "load", "load?replicas=2", &words)?;
    running.ticks(2)?;
    kill_agent(cluster)?;
    let ended = running.end()?;
    let record = ended.record(&[code])?;
    let lost = lost(&record).join("; ");
    ensure!(lost.contains("ended with 137") && !lost.contains("; "), "lost: {lost:?}");
    clean(cluster)?;
    Ok(format!("{lost}; {} good responses", count(&record, "good")))
}

fn agent_killed(cluster: &Cluster) -> Result<String> {
    killed(cluster, "end", 4)
}

fn agent_killed_continue(cluster: &Cluster) -> Result<String> {
    killed(cluster, "continue", 5)
}

fn interrupted(cluster: &Cluster) -> Result<String> {
    let running = start(cluster, "load", "load?replicas=2", &["run", "-c", "8", "--warmup", "0s", "-d", "60s"])?;
    running.ticks(2)?;
    running.signal(Signal::INT)?;
    let record = running.end()?.record(&[130])?;
    let after_s = clean(cluster)?;
    Ok(format!("{} good responses are kept, clean after {after_s:.1} s", count(&record, "good")))
}

fn coordinator_killed(cluster: &Cluster) -> Result<String> {
    let running = start(cluster, "load", "load?replicas=2", &["run", "-c", "8", "--warmup", "0s", "-d", "60s"])?;
    running.ticks(2)?;
    running.signal(Signal::KILL)?;
    let since = Instant::now();
    running.end()?;
    while !cluster.kubectl("get pods --field-selector status.phase=Running --output name")?.is_empty() {
        ensure!(since.elapsed() < CLEAN, "agents go on");
        std::thread::sleep(LOOK);
    }
    let took_s = since.elapsed().as_secs_f64();
    // Kept for a look, until the time that the Job itself has set.
    let jobs = cluster.kubectl("get jobs --output jsonpath={.items[*].spec.ttlSecondsAfterFinished}")?;
    ensure!(jobs == "300", "time to live of the Job: {jobs:?}");
    cluster.kubectl("delete jobs --all")?;
    clean(cluster)?;
    Ok(format!("its agents ended within {took_s:.1} s by themselves"))
}

fn unschedulable(cluster: &Cluster) -> Result<String> {
    let words = [&RUN_WORDS[..], &["--agents-wait", "4s"]].concat();
    let said = ended(cluster, "load", "load?replicas=2&cpus=512", &words)?.fails(&[
        "k8s://load/",
        "Insufficient cpu",
        "4s",
    ])?;
    clean(cluster)?;
    Ok(said)
}

fn image_missing(cluster: &Cluster) -> Result<String> {
    let said = ended(cluster, "load", "load?replicas=2&image=localhost/other:1", &RUN_WORDS)?.fails(&[
        "k8s://load/",
        "ErrImageNeverPull",
        "localhost/other:1",
    ])?;
    clean(cluster)?;
    Ok(said)
}

fn no_rights(cluster: &Cluster) -> Result<String> {
    let forbidden =
        ended(cluster, "nobody", "load?replicas=2", &RUN_WORDS)?.fails(&["forbidden", "\"nobody\"", "jobs"])?;
    ended(cluster, "admin", "elsewhere?replicas=2", &RUN_WORDS)?.fails(&["namespaces \"elsewhere\" not found"])?;
    ended(cluster, "admin", "load?replicas=2&context=other", &RUN_WORDS)?.fails(&["configuration", "other"])?;
    ended(cluster, "missing", "load?replicas=2", &RUN_WORDS)?.fails(&["configuration"])?;
    clean(cluster)?;
    Ok(forbidden)
}

/// The node of the second agent is gone: its agent is lost, and its pod is deleted when the node is there again.
fn node_cut_off(cluster: &Cluster) -> Result<String> {
    let words = ["run", "-c", "8", "--warmup", "0s", "-d", "10s", "--on-agent-loss", "continue"];
    let running = start(cluster, "load", "load?replicas=2", &words)?;
    running.ticks(2)?;
    cluster.link("n2", "down")?;
    let ended = running.end();
    cluster.link("n2", "up")?;
    let ended = ended?;
    let record = ended.record(&[5])?;
    let lost = lost(&record).join("; ");
    ensure!(lost.contains("nothing came from it for 5 s"), "lost: {lost:?}");
    let told = ended.error();
    let after_s = clean(cluster)?;
    let is_told = told.contains("may still be there");
    Ok(format!(
        "{lost}; its Job was {}, clean {after_s:.1} s after the node was back",
        if is_told { "told" } else { "deleted" }
    ))
}
