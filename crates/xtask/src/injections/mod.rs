//! `cargo xtask injections`: every rule of the judge is put to its fault, and to the same without it.

pub(crate) mod clean_runs;
mod made_up;
mod page;
pub(crate) mod real;

pub(crate) use page::machine;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use real::{Real, Said};

use crate::options::Options;
use crate::peers::progress::Progress;
use crate::{packages, workspace};

/// How long a script takes, about.
const SCRIPT_S: f64 = 4.5;

/// What a rule said of a fault.
struct Row {
    rule: &'static str,
    fault: &'static str,
    /// How often it was made.
    times: u32,
    /// How often the rule fired with it, or plimsoll refused to begin because of it.
    fired: u32,
    /// How often plimsoll refused to begin.
    refused: u32,
    /// How often the rule was silent without it.
    silent: u32,
    /// What fired with it beside the rule, and not without it.
    others: BTreeSet<String>,
    /// Why it could not be made, or what went wrong.
    remark: Option<String>,
    /// Whether this machine cannot have such a fault.
    is_impossible: bool,
}

impl Row {
    fn new(rule: &'static str, fault: &'static str, times: u32) -> Self {
        let (others, remark) = (BTreeSet::new(), None);
        Self { rule, fault, times, fired: 0, refused: 0, silent: 0, others, remark, is_impossible: false }
    }

    /// Whether it says nothing against the rule.
    fn is_well(&self) -> bool {
        self.is_impossible || (self.fired, self.silent) == (self.times, self.times)
    }
}

/// Makes the faults, prints what came of them, and fails when a rule has none, is silent on it, or fires without it.
pub(crate) fn run(mut options: Options) -> Result<()> {
    let times: u32 = options.value("--repeat")?.unwrap_or(1).max(1);
    let only: Option<String> = options.value("--only")?;
    let (write, made_up_only) = (options.flag("--write-docs"), options.flag("--made-up"));
    options.finish()?;
    if write && (only.is_some() || made_up_only) {
        bail!("--write-docs writes the whole page: leave out --only and --made-up");
    }
    complete()?;
    let is_wanted = |rule: &str| only.as_ref().is_none_or(|only| only == rule);
    let made_up: Vec<Row> = made_up::ALL
        .iter()
        .filter(|(rule, _)| is_wanted(rule))
        .map(|(rule, fault)| made_up::row(rule, fault))
        .collect();
    if made_up.is_empty() {
        bail!("--only: there is no rule `{}`; `plimsoll rules` lists them", only.unwrap_or_default());
    }
    let wanted: Vec<&Real> = real::all().filter(|real| !made_up_only && is_wanted(real.rule)).collect();
    let made = if wanted.is_empty() { Vec::new() } else { make(&wanted, times)? };
    print!("{}", page::tables(&made, &made_up));
    if write {
        std::fs::write(workspace::root().join("docs/injections.md"), page::render(&made, &made_up, times))?;
        eprintln!("written: docs/injections.md");
    }
    let failed: Vec<&str> = made.iter().chain(&made_up).filter(|row| !row.is_well()).map(|row| row.rule).collect();
    match failed.is_empty() {
        true => Ok(()),
        false => bail!("silent on a fault, or not silent without one: {}", failed.join(", ")),
    }
}

/// Fails unless each rule of the judge has a fault, and each fault a rule.
fn complete() -> Result<()> {
    let rules: BTreeSet<&str> = judge::rules().iter().map(|rule| rule.id).collect();
    let faults: BTreeSet<&str> = made_up::ALL.iter().map(|(rule, _)| *rule).collect();
    if let Some(rule) = rules.difference(&faults).next() {
        bail!("{rule} has no injection: make one up in judge/src/examples and name it in injections/made_up.rs");
    }
    match faults.iter().copied().chain(real::all().map(|real| real.rule)).find(|rule| !rules.contains(rule)) {
        Some(rule) => bail!("there is an injection for {rule}, which is no rule"),
        None => Ok(()),
    }
}

fn make(wanted: &[&'static Real], times: u32) -> Result<Vec<Row>> {
    let program = plimsoll()?;
    let mut progress = Progress::new(wanted.len() as f64 * f64::from(times) * 2.0 * SCRIPT_S);
    Ok(wanted.iter().map(|real| row(&program, real, times, &mut progress)).collect())
}

/// Everything that is needed, and the binary.
fn plimsoll() -> Result<PathBuf> {
    packages::ensure(packages::FOR_TESTS)?;
    packages::ensure(packages::FOR_INJECTIONS)?;
    workspace::run(&mut workspace::cargo(&["build", "--quiet", "--package", "plimsoll"]))?;
    Ok(workspace::target().join("debug/plimsoll"))
}

/// Makes a fault `times` times, each time followed by the same without it.
fn row(program: &Path, real: &'static Real, times: u32, progress: &mut Progress) -> Row {
    let mut row = Row::new(real.rule, real.fault, times);
    let mut usual = BTreeSet::new();
    for time in 1..=times {
        progress.say(&format!("{} {time} of {times}: {}", real.rule, real.fault));
        match real::run(program, real.faulty) {
            Ok(Said::Judged { fired, .. }) => {
                row.fired += u32::from(fired.iter().any(|rule| rule == real.rule));
                row.others.extend(fired);
            }
            Ok(Said::Refused(line)) => {
                (row.fired, row.refused) = (row.fired + 1, row.refused + 1);
                row.remark = Some(line);
            }
            Ok(Said::Impossible(reason)) => {
                progress.did(2.0 * SCRIPT_S * f64::from(times - time + 1));
                (row.remark, row.is_impossible) = (Some(reason), true);
                return row;
            }
            Err(problem) => row.remark = Some(problem),
        }
        match real::run(program, real.clean) {
            Ok(Said::Judged { fired, .. }) => {
                row.silent += u32::from(fired.iter().all(|rule| rule != real.rule));
                usual.extend(fired);
            }
            Ok(Said::Refused(problem) | Said::Impossible(problem)) | Err(problem) => {
                row.remark = Some(format!("without it: {problem}"));
            }
        }
        progress.did(2.0 * SCRIPT_S);
    }
    row.others.retain(|rule| rule != real.rule && !usual.contains(rule));
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_an_injection() {
        complete().expect("each rule has one");
    }

    #[test]
    fn every_made_up_fault_is_found_and_its_absence_too() {
        for (rule, fault) in made_up::ALL {
            let row = made_up::row(rule, fault);
            assert!(row.is_well(), "{rule}: fired {}, silent {}, {:?}", row.fired, row.silent, row.remark);
        }
    }
}
