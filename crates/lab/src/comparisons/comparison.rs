//! One comparison: its command, and what came of it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use model::{Call, CompareLoad, CompareMetric, Estimate, MetricRecord, VerdictState};
use serde::{Deserialize, Serialize};

use super::server::Server;

/// Exit codes of a comparison that was made to its end: nothing is worse, something is, it is not valid, it cannot tell.
const MADE: [i32; 4] = [0, 1, 4, 5];
/// Name of the variant that is compared with the baseline.
const VARIANT: &str = "after";

/// Whether the variant takes more CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// 3 % more.
    Worse,
    /// Both are the same: A/A.
    Same,
}

impl Kind {
    pub(super) const ALL: [Self; 2] = [Self::Worse, Self::Same];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Same => "same",
        }
    }

    /// The baseline and the variant, where `variants` are the one before the change and the one after it.
    pub(super) fn of(self, [before, after]: &[String; 2]) -> [String; 2] {
        let variant = if self == Self::Worse { after } else { before };
        [before.clone(), variant.clone()]
    }
}

/// A comparison that is to be made.
#[derive(Clone, Debug)]
pub(super) struct Comparison {
    pub(super) server: Server,
    pub(super) kind: Kind,
    /// From 1; also the seed.
    pub(super) number: u32,
    /// Arguments of plimsoll without the directory of the result.
    pub(super) words: Vec<String>,
}

/// Those parts of a record that matter here.
#[derive(Debug, Deserialize)]
struct Record {
    verdict: Verdict,
    metrics: Vec<MetricRecord>,
    blocks: Vec<Block>,
}

#[derive(Debug, Deserialize)]
struct Verdict {
    state: VerdictState,
}

#[derive(Debug, Deserialize)]
struct Block {
    counted: bool,
}

/// What came of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Outcome {
    /// None of a comparison that is not valid.
    pub(super) call: Option<Call>,
    /// CPU time of the variant divided by that of the baseline.
    pub(super) ratio: Estimate,
    /// Blocks that count.
    pub(super) blocks: u64,
    /// Blocks that were measured again, or not to their end.
    pub(super) thrown_away: u64,
    /// Time of the whole command; s.
    pub(super) seconds: f64,
}

impl Comparison {
    /// A comparison of variants in the words of `--serve`, within a budget.
    pub(super) fn new(server: Server, kind: Kind, number: u32, variants: &[String; 2], budget: &str) -> Self {
        let [before, after] = variants;
        let seed = number.to_string();
        let words = [
            "compare", "--serve", before, "--serve", after, "--name", "before", "--name", VARIANT, "--only", "fixed",
            "--budget", budget, "--seed", &seed,
        ];
        Self { server, kind, number, words: words.map(str::to_owned).to_vec() }
    }

    /// Its name, such as `go-worse-01`.
    pub(super) fn name(&self) -> String {
        format!("{}-{}-{:02}", self.server.name(), self.kind.name(), self.number)
    }

    /// Its command without the folders of this machine.
    pub(super) fn command(&self) -> String {
        let words = self.words.iter().map(|word| self.server.without_folders(word));
        words.collect::<Vec<_>>().join(" ")
    }

    /// Makes it, in place of what is left of one that was interrupted.
    ///
    /// # Errors
    /// If it does not end as a comparison does, or its record cannot be read.
    pub(super) fn make(&self, plimsoll: &Path, folder: &Path) -> Result<Outcome> {
        let directory = folder.join(self.name());
        if directory.exists() {
            std::fs::remove_dir_all(&directory).with_context(|| format!("removing {}", directory.display()))?;
        }
        let mut command = Command::new(plimsoll);
        command.args(&self.words).arg("-o").arg(&directory).stdin(Stdio::null());
        let begin = Instant::now();
        let output = command.output().context("cannot start plimsoll")?;
        let seconds = begin.elapsed().as_secs_f64();
        let exit_code = output.status.code().context("plimsoll was killed")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(MADE.contains(&exit_code), "plimsoll has ended with exit code {exit_code}: {}", said.trim());
        outcome(&read(&directory.join("run.json"))?, seconds)
    }
}

/// Reads a file of JSON.
pub(super) fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<T> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}

fn outcome(record: &Record, seconds: f64) -> Result<Outcome> {
    let is_cpu_time = |metric: &&MetricRecord| {
        metric.metric == CompareMetric::ServerCpuNsPerRequest
            && metric.load == CompareLoad::Fixed
            && metric.arm == VARIANT
    };
    let cpu_time = record.metrics.iter().find(is_cpu_time).context("the server CPU time was not compared")?;
    let is_valid = record.verdict.state != VerdictState::Invalid;
    let counted = record.blocks.iter().filter(|block| block.counted).count() as u64;
    Ok(Outcome {
        call: is_valid.then_some(cpu_time.call),
        ratio: cpu_time.ratio,
        blocks: counted,
        thrown_away: record.blocks.len() as u64 - counted,
        seconds,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Lab, Results};
    use super::*;
    use crate::progress::Progress;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    const RECORD: &str = r#"{
        "verdict": {"state": "VERDICT", "findings": []},
        "metrics": [
            {"metric": "response_p50_ns", "load": "fixed", "arm": "after", "primary": false, "baseline": 1.0, "value": 1.2,
                "ratio": {"value": 1.2, "low": 1.1, "high": 1.3, "n": 12}, "call": "worse", "method": null,
                "p_value": null, "p_adjusted": null, "sd_log": null, "precision": null},
            {"metric": "server_cpu_ns_per_request", "load": "fixed", "arm": "after", "primary": true, "baseline": 1.0,
                "value": 1.03, "ratio": {"value": 1.03, "low": 1.021, "high": 1.039, "n": 12}, "call": "worse",
                "method": null, "p_value": null, "p_adjusted": null, "sd_log": null, "precision": null}
        ],
        "blocks": [{"counted": true}, {"counted": false}, {"counted": true}],
        "ended": "clear"
    }"#;

    fn comparison() -> Comparison {
        Comparison::new(Server::Go, Kind::Worse, 7, &["a".to_owned(), "b".to_owned()], "170s")
    }

    /// A program in the place of plimsoll that writes a record and ends with this code.
    fn program(folder: &Path, exit_code: i32) -> PathBuf {
        let (path, record) = (folder.join("plimsoll"), folder.join("record.json"));
        std::fs::write(&record, RECORD.replace("VERDICT", "valid")).unwrap();
        // Its last argument is the directory.
        let script = format!(
            "#!/bin/sh\nfor directory; do :; done\nmkdir \"$directory\"\ncp {} \"$directory/run.json\"\n\
             echo why >&2\nexit {exit_code}\n",
            record.display()
        );
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn the_change_is_that_of_the_cpu_time_and_blocks_that_do_not_count_are_thrown_away() {
        let record = |verdict: &str| serde_json::from_str::<Record>(&RECORD.replace("VERDICT", verdict)).unwrap();
        let valid = outcome(&record("valid"), 99.5).unwrap();
        assert_eq!((valid.call, valid.blocks, valid.thrown_away), (Some(Call::Worse), 2, 1));
        assert_eq!((valid.ratio.value, valid.seconds), (1.03, 99.5));
        assert_eq!(outcome(&record("invalid"), 1.0).unwrap().call, None);
        let unseen = Record { metrics: Vec::new(), ..record("valid") };
        assert!(outcome(&unseen, 1.0).unwrap_err().to_string().contains("was not compared"));
    }

    #[test]
    fn a_comparison_is_made_in_place_of_what_is_left_of_one() {
        let folder = tempfile::tempdir().unwrap();
        let (folder, comparison) = (folder.path(), comparison());
        assert_eq!(comparison.name(), "go-worse-07");
        std::fs::create_dir(folder.join("go-worse-07")).unwrap();
        assert_eq!(comparison.make(&program(folder, 1), folder).unwrap().call, Some(Call::Worse));
        let error = comparison.make(&program(folder, 3), folder).unwrap_err().to_string();
        assert_eq!(error, "plimsoll has ended with exit code 3: why");
    }

    #[test]
    fn one_that_fails_is_told_and_made_again_and_one_that_was_made_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (keep, comparison) = (folder.path().to_owned(), comparison());
        let mut lab = Lab {
            plimsoll: program(&keep, 3),
            results: Results::open(keep.join("measured.json"), "a CPU".to_owned()).unwrap(),
            keep: keep.clone(),
            budget: "170s".to_owned(),
            comparison_s: 1.0,
            progress: Progress::new(3.0),
            failed: Vec::new(),
        };
        assert_eq!(lab.outcome(&comparison), None);
        assert_eq!(lab.failed, ["go-worse-07: plimsoll has ended with exit code 3: why"]);
        lab.plimsoll = program(&keep, 1);
        let made = lab.outcome(&comparison).unwrap();
        lab.plimsoll = program(&keep, 3);
        assert_eq!(lab.outcome(&comparison), Some(made), "it is not made again");
    }

    #[test]
    fn nothing_differs_where_nothing_has_changed() {
        let variants = ["a", "b"].map(str::to_owned);
        assert_eq!(Kind::Worse.of(&variants), ["a", "b"]);
        assert_eq!(Kind::Same.of(&variants), ["a", "a"]);
    }
}
