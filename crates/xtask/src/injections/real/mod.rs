//! Faults that are made on this machine and measured by the real binary. The tests of plimsoll include this file by its
//! path, as cargo builds the program for them.

mod answers;
mod client;
mod load;
mod network;
mod server;

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// No injection takes longer, whatever hangs: ended with all that it has started.
const LIMIT_S: &str = "90";
/// Exit codes of a script: plimsoll refuses to begin, and `impossible` of the prelude.
const REFUSED: i32 = 2;
const IMPOSSIBLE: i32 = 77;
/// Rules that say no more than a note of their fault, as it is no fault of the result.
const NOTES: [&str; 1] = ["SV-01"];

/// A fault that is made.
pub(crate) struct Real {
    /// The rule that must fire.
    pub(crate) rule: &'static str,
    /// What is wrong, in a few words.
    pub(crate) fault: &'static str,
    /// Bash that makes it and measures, in the words of the prelude.
    pub(crate) faulty: &'static str,
    /// The same without the fault.
    pub(crate) clean: &'static str,
}

/// What plimsoll said.
pub(crate) enum Said {
    /// A verdict: its state, and the rules that made more of it than a note.
    Judged { state: String, fired: Vec<String> },
    /// It refused to begin, in one line.
    Refused(String),
    /// This machine cannot have such a fault, and why.
    Impossible(String),
}

/// All of them, family by family.
pub(crate) fn all() -> impl Iterator<Item = &'static Real> {
    [client::ALL, answers::ALL, load::ALL, network::ALL, server::ALL].into_iter().flatten()
}

/// Runs a script of a [`Real`] with `program` as plimsoll, in a directory and a network namespace of its own.
pub(crate) fn run(program: &Path, script: &str) -> Result<Said, String> {
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let script = format!("{}\n{script}\n", include_str!("prelude.sh"));
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", LIMIT_S, "unshare", "--net"]);
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    command.args(["bash", "-c", &script]).env("PLIMSOLL", program).current_dir(directory.path());
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("cannot start timeout: {error}"))?;
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    match output.status.code() {
        Some(0) => {
            let record = std::fs::read(directory.path().join("record.json")).map_err(|error| error.to_string())?;
            let record: Value = serde_json::from_slice(&record).map_err(|error| format!("{error}: {stderr}"))?;
            judged(&record).ok_or_else(|| "the record has no verdict".to_owned())
        }
        Some(REFUSED) => Ok(Said::Refused(stderr)),
        Some(IMPOSSIBLE) => Ok(Said::Impossible(stderr)),
        _ => Err(format!("{}: {stderr}", output.status)),
    }
}

fn judged(record: &Value) -> Option<Said> {
    let findings = record["verdict"]["findings"].as_array()?.iter();
    let rules = findings.filter_map(|finding| Some((finding["rule"].as_str()?, finding["state"].as_str()?)));
    let grave = rules.filter(|(rule, state)| *state != "note" || NOTES.contains(rule));
    let fired = grave.map(|(rule, _)| rule.to_owned()).collect();
    Some(Said::Judged { state: record["verdict"]["state"].as_str()?.to_owned(), fired })
}
