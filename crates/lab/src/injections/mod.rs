//! `cargo xtask injections`: every rule of the judge is put to its fault, and to the same without it.

pub mod clean_runs;
pub mod examples;
mod made_up;
mod page;
mod quiet;
pub mod real;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, bail};
use real::{Maker, Real, Said};

use crate::decide::account::{Account, QUIET};
use crate::progress::Progress;
use crate::{build_debug_plimsoll, is_wanted, machine};
use xtask::{packages, workspace};

/// How long a script takes, about.
const SCRIPT_S: f64 = 4.5;

/// What rules said of a fault.
#[derive(Default)]
struct Row {
    rules: &'static [&'static str],
    fault: &'static str,
    /// How often it was made.
    times: u32,
    /// How often all of the rules fired with it, or plimsoll refused to begin because of it.
    fired: u32,
    /// How often plimsoll refused to begin.
    refused: u32,
    /// How often the same was measured without it.
    clean_times: u32,
    /// How often all of them were silent then.
    silent: u32,
    /// What fired with it.
    others: BTreeSet<String>,
    /// What of that has nothing to do with it, while nobody else took CPU time.
    unexpected: BTreeSet<String>,
    /// What fired without it.
    usual: BTreeSet<String>,
    /// Why it could not be made, or what went wrong.
    remark: Option<String>,
    /// True if this machine cannot have such a fault.
    is_impossible: bool,
}

impl Row {
    fn new(rules: &'static [&'static str], fault: &'static str) -> Self {
        Self { rules, fault, ..Self::default() }
    }

    /// The rules, as they are listed.
    fn name(&self) -> String {
        self.rules.join(", ")
    }

    /// True if it says nothing against the rules.
    fn is_well(&self) -> bool {
        let is_found = (self.fired, self.silent) == (self.times, self.clean_times) && self.unexpected.is_empty();
        self.is_impossible || is_found
    }

    /// What fired because of the fault, beside the rules.
    fn also_fired(&self) -> impl Iterator<Item = &str> {
        let own = |rule: &&String| !self.rules.contains(&rule.as_str()) && !self.usual.contains(*rule);
        self.others.iter().filter(own).map(String::as_str)
    }
}

/// How often everything is done.
#[derive(Clone, Copy)]
struct Rounds {
    faults: u32,
    /// Rounds that measure without the fault as well.
    clean: u32,
}

impl Rounds {
    /// True if this round, counted from 1, is one of the clean ones: the first, and others evenly spread.
    const fn is_clean(self, round: u32) -> bool {
        (round - 1) * self.clean % self.faults < self.clean
    }
}

/// Every rule put to its fault, and to the same without it; about 8 minutes a time. Fails when one is silent on its fault,
/// fires without it, or fires on a fault that it has nothing to do with
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// How often each fault is made on this machine
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// How often the same is measured without it [default: as often]
    #[arg(long, value_name = "N")]
    clean: Option<u32>,
    /// These rules alone
    #[arg(long, value_name = "RULE,...", value_delimiter = ',')]
    only: Vec<String>,
    /// Only the faults that are made up, which take no time
    #[arg(long, conflicts_with = "write_docs")]
    made_up: bool,
    /// Write docs/lab/injections.md as well, after each round; with --only the rows of these rules
    #[arg(long)]
    write_docs: bool,
}

/// Makes the faults, prints what came of them, and fails when a rule has none, is silent on it, or fires without it or on
/// another.
pub fn run(Options { repeat: faults, clean, only, made_up: made_up_only, write_docs: write }: Options) -> Result<()> {
    let clean = clean.unwrap_or(faults);
    if clean == 0 || clean > faults {
        bail!("--clean must be from 1 to {faults}, as often as --repeat: each fault is held against its absence");
    }
    complete()?;
    let is_wanted = |rule: &str| is_wanted(&only, rule);
    let made_up: Vec<Row> =
        made_up::all().filter(|(rule, _)| is_wanted(rule)).map(|(rule, fault)| made_up::row(rule, fault)).collect();
    if made_up.is_empty() {
        bail!("--only: there is no rule `{}`; `plimsoll rules` lists them", only.join(","));
    }
    let wanted: Vec<&Real> =
        real::all().filter(|real| !made_up_only && real.rules.iter().copied().any(is_wanted)).collect();
    let before = if write && !only.is_empty() { workspace::read(page::PATH)? } else { String::new() };
    let keep = |made: &[Row]| match (write, only.is_empty()) {
        (false, _) => Ok(()),
        (true, true) => page::render(&machine(), made, &made_up).write(page::PATH),
        (true, false) => workspace::write(page::PATH, &page::again(&before, &only.join(","), made)?),
    };
    let made = if wanted.is_empty() { Vec::new() } else { make(&wanted, Rounds { faults, clean }, keep)? };
    print!("{}", page::tables(&made, &made_up));
    let failed: Vec<String> = made.iter().chain(&made_up).filter(|row| !row.is_well()).map(Row::name).collect();
    match failed.is_empty() {
        true => Ok(()),
        false => bail!("silent on a fault, not silent without it, or beside other rules: {}", failed.join(", ")),
    }
}

/// Fails unless each rule of the judge has a fault, and each fault a rule.
fn complete() -> Result<()> {
    let rules: BTreeSet<&str> = judge::rules().iter().map(|rule| rule.id).collect();
    let faults: BTreeSet<&str> = made_up::all().map(|(rule, _)| *rule).collect();
    if let Some(rule) = rules.difference(&faults).next() {
        bail!("{rule} has no injection: make one up in faults/src/examples");
    }
    match faults
        .iter()
        .copied()
        .chain(real::all().flat_map(|real| [real.rules, real.may].into_iter().flatten().copied()))
        .find(|rule| !rules.contains(rule))
    {
        Some(rule) => bail!("there is an injection for {rule}, which is no rule"),
        None => Ok(()),
    }
}

/// Makes all faults round by round, and has what came of them so far kept after each.
fn make(wanted: &[&'static Real], rounds: Rounds, keep: impl Fn(&[Row]) -> Result<()>) -> Result<Vec<Row>> {
    let maker = Maker::new(plimsoll()?).after_a_look();
    let scripts = wanted.len() as f64 * f64::from(rounds.faults + rounds.clean);
    let progress = Mutex::new(Progress::new(scripts * SCRIPT_S));
    let progress = || progress.lock().unwrap_or_else(PoisonError::into_inner);
    let mut rows: Vec<Row> = wanted.iter().map(|real| Row::new(real.rules, real.fault)).collect();
    for round in 1..=rounds.faults {
        let one = |(row, real): (&mut Row, &'static Real)| {
            progress().say(&format!("{} {round} of {}: {}", row.name(), rounds.faults, real.fault));
            let scripts = 1 + u32::from(rounds.is_clean(round));
            if !row.is_impossible {
                measure(row, &maker, real, rounds.is_clean(round));
            }
            progress().did(f64::from(scripts) * SCRIPT_S);
        };
        let pairs = rows.iter_mut().zip(wanted.iter().copied());
        real::each(pairs.collect(), |(_, real)| real, one);
        keep(&rows)?;
    }
    Ok(rows)
}

/// Everything that is needed, and the binary.
fn plimsoll() -> Result<PathBuf> {
    packages::ensure(packages::FOR_TESTS)?;
    build_debug_plimsoll()
}

/// Makes a fault once, followed by the same without it when that is wanted.
fn measure(row: &mut Row, maker: &Maker, real: &Real, and_clean: bool) {
    row.times += 1;
    let made = maker.make(real.faulty);
    let others = made.disturbance();
    match made.value {
        Ok(Said::Judged(judged)) => {
            let silent = judged.silent(real.rules);
            row.fired += u32::from(silent.is_empty());
            let unexpected = if others.share > QUIET { Vec::new() } else { real.unexpected(&judged) };
            if !unexpected.is_empty() {
                row.remark = Some(format!("beside it: {}", unexpected.join(", ")));
                row.unexpected.extend(unexpected.into_iter().map(str::to_owned));
            }
            if !silent.is_empty() {
                row.remark = Some(format!("silent: {}", silent.join(", ")));
                keep_record(row, &judged.record);
            }
            row.others.extend(judged.fired().map(str::to_owned));
        }
        Ok(Said::Refused(line)) => {
            (row.fired, row.refused) = (row.fired + 1, row.refused + 1);
            row.remark = Some(line);
        }
        Ok(Said::Impossible(reason)) => {
            (row.remark, row.is_impossible) = (Some(reason), true);
            return;
        }
        Err(problem) => row.remark = Some(problem),
    }
    if !and_clean {
        return;
    }
    let made = maker.make(real.clean);
    let others = made.disturbance();
    match made.value {
        Ok(Said::Judged(judged)) => {
            row.usual.extend(judged.fired().map(str::to_owned));
            let told: Vec<&str> = real.rules.iter().copied().filter(|rule| judged.tells(rule)).collect();
            // Beside programs that take CPU time they are right to fire, which says nothing of them.
            if !told.is_empty() && others.share > QUIET && told.iter().all(|rule| clean_runs::is_of_others(rule)) {
                row.remark = Some(format!("without it not counted: {others}"));
                return;
            }
            row.silent += u32::from(told.is_empty());
        }
        Ok(Said::Refused(problem) | Said::Impossible(problem)) | Err(problem) => {
            row.remark = Some(format!("without it: {problem}"));
        }
    }
    row.clean_times += 1;
}

/// Keeps the record of a fault that a rule was silent on, for whoever looks for the reason.
fn keep_record(row: &Row, record: &serde_json::Value) {
    let path = workspace::target().join(format!("silent-{}-{}.json", row.rules[0], row.times));
    match std::fs::write(&path, record.to_string()) {
        Ok(()) => eprintln!("{} was silent: {}", row.name(), path.display()),
        Err(error) => eprintln!("{} was silent, and its record cannot be kept: {error}", row.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_an_injection() {
        complete().expect("each rule has one");
    }

    #[test]
    fn clean_rounds_are_spread_evenly() {
        let clean = |faults, clean| -> Vec<u32> {
            (1..=faults).filter(|round| Rounds { faults, clean }.is_clean(*round)).collect()
        };
        assert_eq!(clean(20, 4), [1, 6, 11, 16]);
        assert_eq!(clean(3, 3), [1, 2, 3]);
        assert_eq!(clean(5, 2), [1, 4]);
    }

    #[test]
    fn every_made_up_fault_is_found_and_its_absence_too() {
        for (rule, fault) in made_up::all() {
            let row = made_up::row(rule, fault);
            assert!(row.is_well(), "{rule}: fired {}, silent {}, {:?}", row.fired, row.silent, row.remark);
        }
    }
}
