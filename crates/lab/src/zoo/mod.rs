//! `cargo xtask zoo`: real servers whose limiter is known, and how often plimsoll names it.

mod causes;
mod data;
mod network;
mod page;
mod proxies;
mod runtimes;

use crate::decide::Watched;
use crate::injections::real::{Maker, Said};
use crate::progress::each;
use crate::{is_wanted, machine};
use anyhow::{Result, bail, ensure};
use judge::limiter::names_a_limit;
use model::{Confidence, Limiter};
use serde_json::Value;
use std::path::PathBuf;
use xtask::{packages, workspace};

/// Forecast of the time of a script; s.
const SCRIPT_S: f64 = 20.0;
/// Goals: shares of the names given with high and with medium confidence that are right, and how far predictions may be off.
const HIGH: f64 = 0.95;
const MEDIUM: f64 = 0.8;
const PREDICTED: f64 = 0.2;
/// Requests at a time in the scripts that have `SLOTS` in them, and twice as many to try what was predicted. Where something else
/// is changed than a number of four, the script says what by the second.
const SLOTS: [&str; 2] = ["4", "8"];

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
    /// Words of which the sentence has one: what the owner of the server has to be told.
    pub says: &'static [&'static str],
    /// How that is known.
    pub known_by: &'static str,
    /// Bash that starts and measures it, in the words of the preludes. `SLOTS` in it is a limit that can be doubled.
    pub script: &'static str,
}

impl SetUp {
    /// Its script with a limit of so many.
    fn with(&self, slots: &str) -> String {
        self.script.replace("SLOTS", slots)
    }

    /// True if what was predicted of it can be tried.
    fn can_be_doubled(&self) -> bool {
        self.script.contains("SLOTS")
    }
}

/// What plimsoll said of a set-up.
#[derive(Clone, Debug, Default, PartialEq)]
struct Answer {
    /// None where the record has none.
    limiter: Option<Limiter>,
    /// Goodput with the change that it predicted, where that was tried; responses per second.
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
    /// Write docs/lab/bottleneck-tests.md as well; with --only the others are listed without an answer
    #[arg(long)]
    write_docs: bool,
}

/// All set-ups, by what limits them.
fn all() -> impl Iterator<Item = &'static SetUp> {
    [proxies::ALL, runtimes::ALL, data::ALL, network::ALL, causes::ALL].into_iter().flatten()
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
    let maker = Maker::new(workspace::plimsoll(binary)?);
    let (wanted, others): (Vec<_>, Vec<_>) = all().partition(|set_up| is_wanted(&only, set_up.name));
    let forecast_s = |set_up: &SetUp| if set_up.can_be_doubled() { 2.0 * SCRIPT_S } else { SCRIPT_S };
    let wanted = each(wanted, |set_up| (set_up.name, forecast_s(set_up)));
    let mut rows: Vec<Row> = wanted.map(|set_up| Row { set_up, outcome: measure(&maker, set_up) }).collect();
    print!("{}\n{}\n{}", page::table(&rows), page::sums(&rows), page::list(&rows));
    ensure!(rows.iter().any(|row| row.outcome.is_ok()), "nothing was measured");
    if write_docs {
        rows.extend(others.into_iter().map(|set_up| Row { set_up, outcome: Err("left out".to_owned()) }));
        page::render(&machine(), &rows).write(page::PATH)?;
    }
    let wrong: Vec<&str> = rows.iter().filter(|row| row.is_wrong_for_sure()).map(|row| row.set_up.name).collect();
    if wrong.is_empty() { Ok(()) } else { bail!("wrong with high confidence: {}", wrong.join(", ")) }
}

/// Measures a set-up, and with the change that is predicted for it.
fn measure(maker: &Maker, set_up: &SetUp) -> Result<Answer, String> {
    if let Some(missing) = set_up.needs.iter().find(|program| packages::find(program).is_none()) {
        return Err(format!("{missing} is not installed"));
    }
    let [one, twice] = SLOTS.map(|slots| set_up.with(slots));
    let answer = answer(&record(maker, &one).value?)?;
    if !set_up.can_be_doubled() || answer.predicted_per_s().is_none() {
        return Ok(answer);
    }
    let changed_per_s = record(maker, &twice).value?["peak"]["goodput_per_s"].as_f64();
    Ok(Answer { changed_per_s, ..answer })
}

/// A set-up, for a test that measures it.
///
/// # Panics
/// When there is none of that name.
pub fn named(name: &str) -> &'static SetUp {
    all().find(|set_up| set_up.name == name).expect("a set-up of the zoo")
}

impl SetUp {
    /// Limiter in the record of a sweep; null where that has none.
    pub fn limiter(&self, maker: &Maker) -> Watched<Result<Value, String>> {
        record(maker, &self.with(SLOTS[0])).map(|record| Ok(record?["limiter"].clone()))
    }
}

fn record(maker: &Maker, script: &str) -> Watched<Result<Value, String>> {
    maker.make(&format!("{}\n{script}", include_str!("prelude.sh"))).map(|said| match said? {
        Said::Judged(judged) => Ok(judged.record),
        Said::Refused(line) | Said::Impossible(line) => Err(line),
    })
}

fn answer(record: &Value) -> Result<Answer, String> {
    let limiter = serde_json::from_value(record["limiter"].clone()).map_err(|error| format!("limiter: {error}"))?;
    Ok(Answer { limiter, changed_per_s: None })
}

impl Answer {
    fn name(&self) -> &str {
        self.limiter.as_ref().map_or("none", |limiter| &limiter.name)
    }

    /// All that it says of it.
    fn sentence(&self) -> &str {
        self.limiter.as_ref().map_or("", |limiter| &limiter.says)
    }

    /// How sure it is; none where it names no limit.
    fn confidence(&self) -> Option<Confidence> {
        self.limiter.as_ref().filter(|limiter| names_a_limit(limiter)).map(|limiter| limiter.confidence)
    }

    /// Goodput that it predicts of a change, or, where it knows of none, the most that it says is possible without the limit;
    /// responses per second.
    fn predicted_per_s(&self) -> Option<f64> {
        let limiter = self.limiter.as_ref().filter(|limiter| names_a_limit(limiter))?;
        let change = limiter.prediction.as_ref().map(|prediction| prediction.expected_per_s);
        change.or_else(|| limiter.next.as_ref().map(|next| next.ceiling_per_s))
    }

    /// Measured over predicted, less one.
    fn off(&self) -> Option<f64> {
        Some(self.changed_per_s? / self.predicted_per_s()? - 1.0)
    }
}

impl Row {
    /// True if the name and the sentence are right.
    fn is_right(&self) -> bool {
        let has_words = |answer: &Answer| self.set_up.says.iter().any(|words| answer.sentence().contains(words));
        self.outcome.as_ref().is_ok_and(|answer| self.set_up.truth.contains(&answer.name()) && has_words(answer))
    }

    fn is_wrong_for_sure(&self) -> bool {
        let is_sure = |answer: &Answer| answer.confidence() == Some(Confidence::High);
        !self.is_right() && self.outcome.as_ref().is_ok_and(is_sure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Prediction;
    use std::collections::BTreeSet;

    #[test]
    fn the_zoo_has_sixty_set_ups_each_with_a_name_of_its_own_and_a_truth() {
        let names: BTreeSet<_> = all().map(|set_up| set_up.name).collect();
        assert_eq!(names.len(), all().count());
        assert!(names.len() >= 60, "{}", names.len());
        for set_up in all() {
            assert!(
                !set_up.truth.is_empty() && !set_up.says.is_empty() && !set_up.known_by.is_empty(),
                "{}",
                set_up.name
            );
            assert!(!set_up.name.contains(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit() && c != '-'));
        }
    }

    /// A limiter with a prediction.
    pub(super) fn said(name: &str, confidence: Confidence, expected_per_s: f64) -> Limiter {
        let prediction = Prediction {
            change: "twice as many".to_owned(),
            setting: None,
            from: None,
            to: None,
            expected_per_s,
            low_per_s: None,
            high_per_s: None,
        };
        Limiter { name: name.to_owned(), confidence, prediction: Some(prediction), ..Limiter::default() }
    }

    #[test]
    fn a_limit_that_can_be_doubled_is_in_the_script_once_it_is_set() {
        let doubled = all().filter(|set_up| set_up.can_be_doubled()).count();
        assert!(doubled >= 5, "{doubled}");
        assert!(all().all(|set_up| !set_up.with("4").contains("SLOTS")));
    }

    #[test]
    fn an_answer_is_read_from_a_sweep_and_held_against_the_truth() {
        let record = serde_json::json!({ "limiter": said("cpu-limited", Confidence::High, 200.0) });
        let set_up = all().next().expect("there are some");
        let answer = Answer { changed_per_s: Some(150.0), ..answer(&record).expect("a limiter") };
        assert_eq!((answer.confidence(), answer.off()), (Some(Confidence::High), Some(-0.25)));
        let row = Row { set_up, outcome: Ok(answer) };
        assert!(!row.is_right() && row.is_wrong_for_sure(), "{}", set_up.name);
        let none = Row { set_up, outcome: super::answer(&serde_json::json!({})) };
        assert!(!none.is_right() && !none.is_wrong_for_sure(), "it names nothing");
    }
}
