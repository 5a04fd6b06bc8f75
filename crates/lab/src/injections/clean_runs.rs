//! `cargo xtask clean-runs`: loads that nothing is wrong with, again and again. No rule may make more than a note of them.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use model::FindingState;

use super::quiet::{Disturbance, Quiet};
use super::real::{Maker, Said};
use crate::machine;
use crate::markdown::{Page, Table};
use crate::progress::Progress;

/// How long a run takes, about.
const RUN_S: f64 = 9.0;
const PATH: &str = "docs/lab/clean-runs.md";
const METHOD: &str = "\
Loads that nothing is wrong with, measured again and again, each in a network namespace of its own with server and client on
one core each. The task fails when a run is INVALID, or when a rule makes more than a note of more than 2 % of them.

- LD-04 is left out: windows of 6 s are too short for some quantile.
- *explained*: a rule about what other programs or the hypervisor do to this machine fired, and the task saw the same by
  itself. EN-01 and CL-08: `/proc/stat` reports more than 0.5 % of the time of a CPU as stolen, which is half of the share
  that these rules warn of. EN-03 and CL-09: programs that ran before and after the load used more than 1 % of a CPU. CL-03:
  more than 1 % was stolen, or a thread of high priority that wakes up every 5 ms was itself late: the 99.5th percentile of
  its delay was at least half of the 99th percentile of the send delay of the requests.
";
/// Says that the windows are too short for some quantile, which they are, so that many fit into a few minutes.
const TOO_SHORT: &str = "LD-04";
/// Share of the runs in which a rule may warn; with fewer runs than [`FEW`] once.
const SHARE_MAX: f64 = 0.02;
const FEW: u64 = 50;
/// More of a CPU than this given to another machine explains what EN-01 and CL-08 say.
const STOLEN_MIN: f64 = 0.005;
/// More of a CPU than this used by other programs explains what EN-03 and CL-09 say.
const OTHERS_MIN: f64 = 0.01;
/// More than this makes more than one request in a hundred late, which is the quantile that CL-03 looks at.
const STOLEN_OF_P99: f64 = 0.01;

/// Servers and loads, by what they are called. Server and client have half of the cores each.
const LOADS: [(&str, &str); 6] = [
    ("nginx, closed loop", "measure run --serve 'nginx file-size=1KiB' -c 16 -d 6s --warmup 1s"),
    ("nginx, open loop", "measure run --serve 'nginx file-size=1KiB' -R 1000 -c 64 -d 6s --warmup 1s"),
    ("target, closed loop", "measure run -c 16 -d 6s --warmup 1s"),
    ("target, open loop", "measure run -R 1000 -c 64 -d 6s --warmup 1s"),
    ("php-fpm, closed loop", "measure run --serve 'php-fpm children=8' -c 4 -d 6s --warmup 1s"),
    ("php-fpm, open loop", "measure run --serve 'php-fpm children=8' -R 100 -c 16 -d 6s --warmup 1s"),
];

/// What was said of all runs.
#[derive(Clone, Default)]
struct Tally {
    runs: u64,
    /// Runs that a rule made invalid without an explanation.
    invalid: u64,
    /// Runs in which a rule made more than a note without one, by rule.
    alarms: BTreeMap<String, u64>,
    /// Runs in which it had one.
    explained: BTreeMap<String, u64>,
}

impl Tally {
    fn add(&mut self, findings: &[(String, FindingState)], explains: impl Fn(&str) -> bool) {
        self.runs += 1;
        let mut is_invalid = false;
        for (rule, state) in findings.iter().filter(|(rule, state)| *state > FindingState::Note && rule != TOO_SHORT) {
            let is_explained = explains(rule);
            is_invalid |= !is_explained && *state == FindingState::Invalid;
            let counts = if is_explained { &mut self.explained } else { &mut self.alarms };
            *counts.entry(rule.clone()).or_default() += 1;
        }
        self.invalid += u64::from(is_invalid);
    }

    /// What is too much, in words.
    fn faults(&self) -> Vec<String> {
        let most = if self.runs < FEW { 1 } else { (SHARE_MAX * self.runs as f64) as u64 };
        let invalid = (self.invalid > 0).then(|| format!("{} of {} invalid", self.invalid, self.runs));
        let often = self.alarms.iter().filter(|(_, n)| **n > most);
        invalid.into_iter().chain(often.map(|(rule, n)| format!("{rule} in {n} of {}", self.runs))).collect()
    }
}

impl<'a> std::iter::Sum<&'a Self> for Tally {
    fn sum<I: Iterator<Item = &'a Self>>(tallies: I) -> Self {
        let add = |counts: &mut BTreeMap<String, u64>, more: &BTreeMap<String, u64>| {
            more.iter().for_each(|(rule, n)| *counts.entry(rule.clone()).or_default() += n);
        };
        tallies.fold(Self::default(), |mut all, tally| {
            all.runs += tally.runs;
            all.invalid += tally.invalid;
            add(&mut all.alarms, &tally.alarms);
            add(&mut all.explained, &tally.explained);
            all
        })
    }
}

/// True of rules about what others do to this machine, and about requests that are sent late because of it.
pub(super) fn is_of_others(rule: &str) -> bool {
    explains(&Disturbance { stolen: 1.0, late: Duration::ZERO, others: 1.0 }, rule, Duration::ZERO)
}

/// True if what the task has seen is what a rule says of this machine.
fn explains(seen: &Disturbance, rule: &str, slip_p99: Duration) -> bool {
    match rule {
        "EN-01" | "CL-08" => seen.stolen > STOLEN_MIN,
        "EN-03" | "CL-09" => seen.others > OTHERS_MIN,
        "CL-03" => seen.stolen > STOLEN_OF_P99 || 2 * seen.late >= slip_p99,
        _ => false,
    }
}

/// Loads without a fault, a minute a time: no rule may make more than a note of them
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Options {
    /// How often each load
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Write docs/lab/clean-runs.md as well, after each round
    #[arg(long)]
    write_docs: bool,
}

/// Measures, prints how often each rule fired, and fails when one did too often.
pub fn run(Options { repeat: times, write_docs }: Options) -> Result<()> {
    let maker = Maker::new(super::plimsoll()?);
    let mut progress = Progress::new(f64::from(times) * LOADS.len() as f64 * RUN_S);
    let mut by_load = BTreeMap::<&str, Tally>::new();
    for round in 1..=times {
        for (name, script) in LOADS {
            progress.say(&format!("{round} of {times}: {name}"));
            add(by_load.entry(name).or_default(), &maker, script).with_context(|| name.to_owned())?;
            progress.did(RUN_S);
        }
        if write_docs {
            page(&machine(), &by_load, times).write(PATH)?;
        }
    }
    print!("{}", table(&by_load));
    match by_load.values().sum::<Tally>().faults() {
        faults if faults.is_empty() => Ok(()),
        faults => bail!("rules cry wolf: {}", faults.join(", ")),
    }
}

/// Measures once.
fn add(tally: &mut Tally, maker: &Maker, script: &str) -> Result<()> {
    let quiet = Quiet::watch()?;
    let said = maker.make(script).value;
    let seen = quiet.finish()?;
    let judged = match said {
        Ok(Said::Judged(judged)) => judged,
        Ok(Said::Refused(problem) | Said::Impossible(problem)) | Err(problem) => bail!(problem),
    };
    let slip_p99 = Duration::from_nanos(judged.record["latency_ns"]["slip_client"]["p99"].as_u64().unwrap_or(0));
    tally.add(&judged.findings, |rule| explains(&seen, rule, slip_p99));
    let fired = judged.findings.iter().filter(|(_, state)| *state > FindingState::Note);
    let fired: Vec<_> = fired.map(|(rule, state)| format!("{rule} {state:?}")).collect();
    eprintln!("    {seen}; more than a note: {}", fired.join(", "));
    Ok(())
}

/// `docs/lab/clean-runs.md`.
fn page(machine: &str, by_load: &BTreeMap<&str, Tally>, times: u32) -> Page {
    let command = format!("cargo xtask clean-runs --repeat {times} --write-docs");
    Page::new("Clean runs").made_by(&command, machine).block(METHOD).block(table(by_load))
}

/// A row for each load, and one for all.
fn table(by_load: &BTreeMap<&str, Tally>) -> Table {
    let mut table = Table::new("load | runs | INVALID | false alarms | explained");
    let list = |counts: &BTreeMap<String, u64>| {
        counts.iter().map(|(rule, n)| format!("{rule} {n}")).collect::<Vec<_>>().join(", ")
    };
    let all: Tally = by_load.values().sum();
    for (name, tally) in by_load.iter().map(|(name, tally)| (*name, tally)).chain([("all", &all)]) {
        table.row(&[&name, &tally.runs, &tally.invalid, &list(&tally.alarms), &list(&tally.explained)]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(tally: &mut Tally, times: u64, findings: &[(&str, FindingState)], is_explained: bool) -> Vec<String> {
        let findings: Vec<_> = findings.iter().map(|(rule, state)| ((*rule).to_owned(), *state)).collect();
        (0..times).for_each(|_| tally.add(&findings, |_| is_explained));
        tally.faults()
    }

    #[test]
    fn one_warning_of_few_and_two_percent_of_many_are_borne() {
        let mut all = Tally::default();
        let mut add = |times, findings: &[_]| tally(&mut all, times, findings, false);
        assert_eq!(add(20, &[("LD-04", FindingState::Invalid), ("ST-06", FindingState::Note)]), Vec::<String>::new());
        assert_eq!(add(1, &[("NE-03", FindingState::Warning)]), Vec::<String>::new());
        assert_eq!(add(1, &[("NE-03", FindingState::Warning), ("CL-01", FindingState::Bound)]), ["NE-03 in 2 of 22"]);
        assert_eq!(add(78, &[]), Vec::<String>::new());
        assert_eq!(add(1, &[("EN-03", FindingState::Invalid)]), ["1 of 101 invalid"]);
    }

    #[test]
    fn what_others_did_is_no_false_alarm() {
        let mut all = Tally::default();
        assert_eq!(tally(&mut all, 9, &[("EN-01", FindingState::Invalid)], true), Vec::<String>::new());
        insta::assert_snapshot!("page", page("a machine", &[("a", all)].into(), 9));
    }

    #[test]
    fn only_rules_about_others_are_explained_and_by_the_same_thing() {
        let slip = Duration::from_micros(200);
        let seen = |stolen, late_us| Disturbance { stolen, late: Duration::from_micros(late_us), others: 0.0 };
        let beside = |others| Disturbance { others, ..seen(0.0, 0) };
        for (seen, rule, expected) in [
            (seen(0.006, 0), "EN-01", true),
            (seen(0.006, 0), "CL-08", true),
            (seen(0.006, 0), "CL-03", false),
            (seen(0.011, 0), "CL-03", true),
            (seen(0.004, 900), "EN-01", false),
            (seen(0.0, 100), "CL-03", true),
            (seen(0.0, 99), "CL-03", false),
            (seen(0.5, 900), "PH-06", false),
            (beside(0.011), "EN-03", true),
            (beside(0.011), "CL-09", true),
            (beside(0.009), "EN-03", false),
            (beside(0.5), "EN-01", false),
            (seen(0.5, 900), "EN-03", false),
        ] {
            assert_eq!(explains(&seen, rule, slip), expected, "{rule}: {seen}");
        }
    }

    #[test]
    fn rules_about_others_are_those_that_others_can_explain() {
        assert!(["EN-01", "EN-03", "CL-03", "CL-08", "CL-09"].into_iter().all(is_of_others));
        assert!(!["LD-04", "SA-05", "EN-04"].into_iter().any(is_of_others));
    }
}
