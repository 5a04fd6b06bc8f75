//! `plimsoll observe`: each way to name processes, against the truth in `/proc` and what other tools say of the same seconds.

mod forms;
mod metrics;
mod other_tools;
mod truth;
mod wrong;

use crate::support::{Ended, Started, number, plimsoll, wait_for};
use model::Observation;
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// What a test waits for comes long before.
const TIMEOUT: Duration = Duration::from_secs(30);

/// `plimsoll observe --json`, running.
struct Watching(Started);

impl Watching {
    /// Begins, and waits for the first look.
    #[track_caller]
    fn start(targets: &[&str]) -> Self {
        let watching = Self(plimsoll(["observe", "--json", "-i", "100ms"].iter().chain(targets)).start());
        watching.wait_for_looks(1);
        watching
    }

    /// Waits until there are `n` looks in all.
    #[track_caller]
    fn wait_for_looks(&self, n: usize) {
        let seen = wait_for(TIMEOUT, || (self.said().lines().count() >= n).then_some(()));
        seen.unwrap_or_else(|| panic!("no {n} looks in {:?}", self.said()));
    }

    /// Waits for as many more looks.
    #[track_caller]
    fn wait_for_more_looks(&self, n: usize) {
        self.wait_for_looks(self.said().lines().count() + n);
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.0.directory().join("stdout")).unwrap_or_default()
    }

    /// Ends it with ^C; all looks, each beginning where the one before ended.
    #[track_caller]
    fn stop(self) -> (Vec<Observation>, Ended) {
        self.0.signal(Signal::INT);
        let ended = self.0.end();
        let looks = looks(&ended);
        (looks, ended)
    }
}

/// The looks that were printed as JSON.
#[track_caller]
fn looks(ended: &Ended) -> Vec<Observation> {
    ended.exits(0);
    let looks: Vec<Observation> =
        ended.stdout.lines().map(|line| serde_json::from_str(line).expect("a look in a line")).collect();
    assert!(!looks.is_empty() && looks.iter().all(|look| look.format == "plimsoll.observe/1"));
    assert!(looks.windows(2).all(|pair| pair[0].to_ns == pair[1].from_ns), "no time is left out");
    looks
}

/// CPU time of one target over all looks; s.
fn cpu_s(looks: &[Observation], target: &str) -> f64 {
    let groups = looks.iter().flat_map(|look| &look.groups).filter(|group| group.target == target);
    groups.map(|group| group.figures.cpu_ns).sum::<u64>() as f64 / 1e9
}

/// Fails unless two CPU times are within 5 % of each other, and 30 ms; the kernel tells those of ended processes in steps of 10 ms,
/// of user and system time each.
#[track_caller]
fn same_cpu_time(observed_s: f64, truth_s: f64, what: &str) {
    assert!((observed_s - truth_s).abs() <= 0.05 * truth_s + 0.03, "{what}: {observed_s} is not {truth_s}");
}

/// A shell that burns CPU time when it is told to. Ends with this value.
struct Burner {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Burner {
    fn start() -> Self {
        Self::with("i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done")
    }

    /// One that runs `script` when it is told to.
    fn with(script: &str) -> Self {
        let script = format!("echo up; while read word; do {script}; echo done; done");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a shell");
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut burner = Self { child, stdout };
        burner.hear("up");
        burner
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Burns about half a second.
    #[track_caller]
    fn burn(&mut self) {
        self.child.stdin.as_mut().expect("it is piped").write_all(b"go\n").expect("it reads");
        self.hear("done");
    }

    /// The same, where the script writes a line before it is done.
    #[track_caller]
    fn burn_and_hear(&mut self) -> String {
        self.child.stdin.as_mut().expect("it is piped").write_all(b"go\n").expect("it reads");
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("it writes");
        self.hear("done");
        line
    }

    #[track_caller]
    fn hear(&mut self, word: &str) {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("it writes");
        assert_eq!(line.trim(), word);
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        // Both do nothing when it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The value of a series of an exposition.
fn series(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

/// The one target that `ended` saw at its last look.
#[track_caller]
fn last_group(ended: &Ended) -> Value {
    let line = ended.stdout.lines().last().expect("a look");
    let look: Value = serde_json::from_str(line).expect("JSON");
    assert!(number(&look, "to_ns") > 0.0);
    look["groups"][0].clone()
}
