//! plimsoll with load from a cluster, as it runs, ends and leaves nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use super::cluster::Cluster;

/// A run of a few seconds.
pub(super) const RUN_WORDS: [&str; 7] = ["run", "-c", "8", "--warmup", "500ms", "-d", "3s"];

/// All is gone within this time: agents end 10 s after their coordinator, and a Job is deleted after that.
pub(super) const CLEAN: Duration = Duration::from_secs(30);
pub(super) const LOOK: Duration = Duration::from_millis(200);
/// No run takes longer.
const RUN: Duration = Duration::from_secs(120);

/// A plimsoll that runs.
pub(super) struct Running {
    child: Child,
    folder: TempDir,
}

/// One that has ended.
pub(super) struct Ended {
    output: Output,
    folder: TempDir,
}

/// Starts plimsoll with load from the cluster.
pub(super) fn start(cluster: &Cluster, user: &str, client: &str, words: &[&str]) -> Result<Running> {
    let folder = tempfile::tempdir()?;
    let (verb, options) = words.split_first().context("a verb")?;
    let mut command = cluster.plimsoll(user, folder.path());
    let client = format!("k8s://{client}");
    command.args([verb, Cluster::TARGET, "--json", "--client", &client]).args(options);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    Ok(Running { child, folder })
}

pub(super) fn ended(cluster: &Cluster, user: &str, client: &str, words: &[&str]) -> Result<Ended> {
    start(cluster, user, client, words)?.end()
}

impl Running {
    /// Waits for some ticks of the load.
    pub(super) fn ticks(&self, wanted: usize) -> Result<()> {
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

    pub(super) fn signal(&self, signal: Signal) -> Result<()> {
        // The child is nsenter, whose only child is the one in the namespace of processes.
        let pid = descendants(self.child.id())?.last().copied().context("it has ended")?;
        Ok(kill_process(pid, signal)?)
    }

    pub(super) fn end(self) -> Result<Ended> {
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
    pub(super) fn error(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).trim().to_owned()
    }

    fn code(&self) -> Option<i32> {
        self.output.status.code()
    }

    /// The record; the load was measured, whatever the verdict.
    pub(super) fn record(&self, codes: &[i32]) -> Result<Value> {
        let is_expected = self.code().is_some_and(|code| codes.contains(&code));
        ensure!(is_expected, "exit code {:?} and not one of {codes:?}: {}", self.code(), self.error());
        serde_json::from_slice(&self.output.stdout).context("the record")
    }

    /// Nothing was measured, which one line says.
    pub(super) fn fails(&self, named: &[&str]) -> Result<String> {
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
pub(super) fn clean(cluster: &Cluster) -> Result<f64> {
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

pub(super) fn count(record: &Value, key: &str) -> u64 {
    record["requests"][key].as_u64().unwrap_or_default()
}
