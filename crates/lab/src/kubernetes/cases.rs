//! What is tried on a cluster, and what has to come of it. After each, no Job and no pod is left.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::builder::PossibleValuesParser;
use rustix::process::Signal;
use serde_json::Value;

use super::cluster::Cluster;
use super::patched;
use super::running::{CLEAN, LOOK, RUN_WORDS, clean, count, ended, start};
use crate::record::findings;

/// A case by its name.
pub(super) struct Case {
    pub(super) name: &'static str,
    /// What was seen, in a line.
    pub(super) check: fn(&Cluster) -> Result<String>,
}

pub(super) const CASES: [Case; 12] = [
    Case { name: "run", check: run },
    Case { name: "sweep", check: sweep },
    Case { name: "patched", check: patched::on_a_tainted_node },
    Case { name: "host-network", check: patched::on_the_network_of_its_node },
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

fn lost(record: &Value) -> Vec<&str> {
    let agents = record["agents"].as_array().into_iter().flatten();
    agents.filter_map(|agent| agent["lost"]["why"].as_str()).collect()
}

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
