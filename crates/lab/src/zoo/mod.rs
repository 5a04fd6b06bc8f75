//! `cargo xtask zoo`: real servers whose limiter is known, and how often plimsoll names it.

mod data;
mod network;
mod page;
mod proxies;
mod runtimes;

use crate::injections::real::{Maker, Said};
use crate::progress::Progress;
use anyhow::{Context, Result, bail, ensure};
use model::Confidence;
use serde_json::Value;
use std::path::PathBuf;
use xtask::workspace;

/// Forecast of the time of a script; s.
const SCRIPT_S: f64 = 20.0;
/// Goals: shares of the names given with high and with medium confidence that are right, and how far predictions may be off.
const HIGH: f64 = 0.95;
const MEDIUM: f64 = 0.8;
const PREDICTED: f64 = 0.2;
/// Flags of the sweeps, which the scripts have as `$WINDOW`.
const WINDOW: &str = "-d 2s --warmup 500ms --iterations 1";
/// Found in programs of Debian, from where nothing else is looked for.
const PATHS: [&str; 3] = ["/usr/sbin", "/usr/bin", "/usr/local/go/bin"];

/// A server with a known limiter.
pub struct SetUp {
    /// Name, as `--only` has it.
    pub name: &'static str,
    /// Programs that it takes.
    pub needs: &'static [&'static str],
    /// The server, in a few words.
    pub server: &'static str,
    /// Names that are right, the best first.
    pub truth: &'static [&'static str],
    /// How that is known.
    pub known_by: &'static str,
    /// Bash that starts and measures it, in the words of the preludes.
    pub script: &'static str,
    /// The same with the change that is predicted; none where there is none to be made.
    pub changed: Option<&'static str>,
}

/// What plimsoll said of a set-up.
#[derive(Clone, Debug, Default, PartialEq)]
struct Answer {
    limiter: String,
    confidence: Option<Confidence>,
    says: String,
    /// Predicted and measured; responses per second.
    predicted_per_s: Option<f64>,
    changed_per_s: Option<f64>,
}

/// A set-up and what came of it.
struct Row {
    set_up: &'static SetUp,
    outcome: Result<Answer, String>,
}

/// Real servers with a known limiter, each measured by a short sweep. Prints a table of truth and answer; fails when a wrong
/// name was given with high confidence
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Only these set-ups
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Names of all set-ups, and nothing measured
    #[arg(long)]
    list: bool,
    /// Another plimsoll than the one built here
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Write docs/zoo.md as well; with --only the others are listed without an answer
    #[arg(long)]
    write_docs: bool,
}

/// All set-ups, by what limits them.
fn all() -> impl Iterator<Item = &'static SetUp> {
    [proxies::ALL, runtimes::ALL, data::ALL, network::ALL].into_iter().flatten()
}

/// Measures, prints the table, and fails on a wrong name with high confidence.
///
/// # Errors
/// When a name in `--only` is unknown, plimsoll cannot be built, nothing was measured, or a wrong name was given with high
/// confidence.
pub fn run(Options { only, list, binary, write_docs }: Options) -> Result<()> {
    if list {
        all().for_each(|set_up| println!("{}", set_up.name));
        return Ok(());
    }
    if let Some(unknown) = only.iter().find(|name| !all().any(|set_up| set_up.name == **name)) {
        bail!("there is no set-up {unknown}: see --list");
    }
    // Scripts run in folders of their own.
    let binary = binary.map_or_else(release, |path| path.canonicalize().with_context(|| path.display().to_string()))?;
    let maker = Maker::new(binary);
    let (wanted, others): (Vec<_>, Vec<_>) =
        all().partition(|it| only.is_empty() || only.iter().any(|name| name == it.name));
    let scripts = wanted.iter().map(|set_up| 1 + usize::from(set_up.changed.is_some())).sum::<usize>();
    let mut progress = Progress::new(scripts as f64 * SCRIPT_S);
    let mut rows = Vec::new();
    for set_up in wanted {
        progress.say(set_up.name);
        rows.push(Row { set_up, outcome: measure(&maker, set_up) });
        progress.did(SCRIPT_S * (1 + usize::from(set_up.changed.is_some())) as f64);
    }
    print!("{}\n{}", page::table(&rows), page::list(&rows));
    ensure!(rows.iter().any(|row| row.outcome.is_ok()), "nothing was measured");
    if write_docs {
        rows.extend(others.into_iter().map(|set_up| Row { set_up, outcome: Err("left out".to_owned()) }));
        workspace::write(page::PATH, &page::render(&rows))?;
    }
    let wrong: Vec<&str> = rows.iter().filter(|row| row.is_wrong_for_sure()).map(|row| row.set_up.name).collect();
    if wrong.is_empty() { Ok(()) } else { bail!("wrong with high confidence: {}", wrong.join(", ")) }
}

/// The release build, as predictions need servers that have a CPU.
fn release() -> Result<PathBuf> {
    workspace::run(&mut workspace::cargo(&["build", "--quiet", "--release", "--package", "plimsoll"]))?;
    Ok(workspace::target().join("release/plimsoll"))
}

/// Measures a set-up, and with the change that is predicted for it.
fn measure(maker: &Maker, set_up: &SetUp) -> Result<Answer, String> {
    if let Some(missing) = set_up.needs.iter().find(|program| !is_here(program)) {
        return Err(format!("{missing} is not installed"));
    }
    let record = |script| made(maker.make(&in_words_of_the_zoo(script)).value);
    let answer = answer(&record(set_up.script)?);
    let (Some(changed), Some(_)) = (set_up.changed, answer.predicted_per_s) else { return Ok(answer) };
    let changed_per_s = record(changed)?["peak"]["goodput_per_s"].as_f64();
    Ok(Answer { changed_per_s, ..answer })
}

fn in_words_of_the_zoo(script: &str) -> String {
    format!("WINDOW='{WINDOW}'\n{}\n{script}", include_str!("prelude.sh"))
}

fn made(said: Result<Said, String>) -> Result<Value, String> {
    match said? {
        Said::Judged(judged) => Ok(judged.record),
        Said::Refused(line) | Said::Impossible(line) => Err(line),
    }
}

fn answer(record: &Value) -> Answer {
    let limiter = &record["limiter"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Answer {
        limiter: limiter["name"].as_str().unwrap_or("none").to_owned(),
        confidence: serde_json::from_value(limiter["confidence"].clone()).ok(),
        says: text(&limiter["says"]),
        predicted_per_s: limiter["prediction"]["expected_per_s"].as_f64(),
        changed_per_s: None,
    }
}

fn is_here(program: &str) -> bool {
    PATHS.iter().any(|folder| std::path::Path::new(folder).join(program).exists())
}

impl Answer {
    /// True if it names something.
    fn names(&self) -> bool {
        !["none", "unknown", "not-saturated", "not-a-server-limit"].contains(&self.limiter.as_str())
    }

    /// Measured over predicted, less one.
    fn off(&self) -> Option<f64> {
        Some(self.changed_per_s? / self.predicted_per_s? - 1.0)
    }
}

impl Row {
    fn is_right(&self) -> bool {
        self.outcome.as_ref().is_ok_and(|answer| self.set_up.truth.contains(&answer.limiter.as_str()))
    }

    fn is_wrong_for_sure(&self) -> bool {
        let is_sure = |answer: &Answer| answer.names() && answer.confidence == Some(Confidence::High);
        !self.is_right() && self.outcome.as_ref().is_ok_and(is_sure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_zoo_has_thirty_set_ups_each_with_a_name_of_its_own_and_a_truth() {
        let names: BTreeSet<_> = all().map(|set_up| set_up.name).collect();
        assert_eq!(names.len(), all().count());
        assert!(names.len() >= 30, "{}", names.len());
        for set_up in all() {
            assert!(!set_up.truth.is_empty() && !set_up.known_by.is_empty(), "{}", set_up.name);
            assert!(!set_up.name.contains(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit() && c != '-'));
        }
    }

    #[test]
    fn an_answer_is_read_from_a_sweep_and_held_against_the_truth() {
        let record = serde_json::json!({ "limiter": {
            "name": "cpu-limited", "confidence": "high", "says": "busy", "prediction": { "expected_per_s": 200.0 } } });
        let set_up = all().next().expect("there are some");
        let answer = Answer { changed_per_s: Some(150.0), ..answer(&record) };
        assert_eq!((answer.confidence, answer.off()), (Some(Confidence::High), Some(-0.25)));
        let row = Row { set_up, outcome: Ok(answer) };
        assert!(!row.is_right() && row.is_wrong_for_sure(), "{}", set_up.name);
        let none = Row { set_up, outcome: Ok(super::answer(&serde_json::json!({}))) };
        assert!(!none.is_right() && !none.is_wrong_for_sure(), "it names nothing");
    }
}
