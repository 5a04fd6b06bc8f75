//! `cargo xtask clean-runs`: loads that nothing is wrong with, again and again. No rule may make more than a note of them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::page::machine;
use super::real::{self, Said};
use crate::options::Options;
use crate::peers::progress::Progress;
use crate::workspace;

/// How long a run takes, about.
const RUN_S: f64 = 9.0;
const PATH: &str = "docs/clean-runs.md";
const METHOD: &str = "\
Loads that nothing is wrong with, measured again and again, each in a network namespace of its own with server and client on
one core each. A verdict is worth something when it is silent there: `cargo xtask clean-runs` fails when one run is INVALID, or
when a rule makes more than a note of more than 2 % of them.

- LD-04 is left out: windows of 6 s are too short for some quantile, as it says, so that many fit into an hour.
- What another program on the machine does is no fault of the load, and EN-03 and CL-09 say so rightly.
";
/// Says that the windows are too short for some quantile, which they are, so that many fit into a few minutes.
const TOO_SHORT: &str = "LD-04";
/// Share of the runs in which a rule may warn; with fewer runs than [`FEW`] once.
const SHARE_MAX: f64 = 0.02;
const FEW: u64 = 50;

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
    /// Verdicts by state.
    states: BTreeMap<String, u64>,
    /// Runs in which a rule made more than a note, by rule.
    fired: BTreeMap<String, u64>,
}

impl Tally {
    fn add(&mut self, state: String, fired: &[String]) {
        self.runs += 1;
        *self.states.entry(state).or_default() += 1;
        for rule in fired.iter().filter(|rule| *rule != TOO_SHORT) {
            *self.fired.entry(rule.clone()).or_default() += 1;
        }
    }

    /// What is too much, in words.
    fn faults(&self) -> Vec<String> {
        let most = if self.runs < FEW { 1 } else { (SHARE_MAX * self.runs as f64) as u64 };
        let invalid = self.states.get("invalid").map(|n| format!("{n} of {} invalid", self.runs));
        let often = self.fired.iter().filter(|(_, n)| **n > most);
        invalid.into_iter().chain(often.map(|(rule, n)| format!("{rule} in {n} of {}", self.runs))).collect()
    }
}

impl std::iter::Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), |mut all, tally| {
            all.runs += tally.runs;
            tally.states.into_iter().for_each(|(state, n)| *all.states.entry(state).or_default() += n);
            tally.fired.into_iter().for_each(|(rule, n)| *all.fired.entry(rule).or_default() += n);
            all
        })
    }
}

/// Measures, prints how often each rule fired, and fails when one did too often.
pub(crate) fn run(mut options: Options) -> Result<()> {
    let times: u32 = options.value("--repeat")?.unwrap_or(10).max(1);
    let write = options.flag("--write-docs");
    options.finish()?;
    let program = super::plimsoll()?;
    let mut progress = Progress::new(f64::from(times) * LOADS.len() as f64 * RUN_S);
    let mut by_load: BTreeMap<&str, Tally> = BTreeMap::new();
    for time in 1..=times {
        for (name, script) in LOADS {
            progress.say(&format!("{time} of {times}: {name}"));
            let (state, fired) = measure(&program, script).with_context(|| name.to_owned())?;
            by_load.entry(name).or_default().add(state, &fired);
            progress.did(RUN_S);
        }
        if write {
            workspace::write(PATH, &page(&by_load, time))?;
        }
    }
    print!("{}", table(&by_load));
    let all: Tally = by_load.into_values().sum();
    match all.faults() {
        faults if faults.is_empty() => Ok(()),
        faults => bail!("rules cry wolf: {}", faults.join(", ")),
    }
}

fn measure(program: &Path, script: &str) -> Result<(String, Vec<String>)> {
    match real::run(program, script) {
        Ok(Said::Judged { state, fired }) => Ok((state, fired)),
        Ok(Said::Refused(problem) | Said::Impossible(problem)) | Err(problem) => bail!(problem),
    }
}

/// `docs/clean-runs.md`.
fn page(by_load: &BTreeMap<&str, Tally>, times: u32) -> String {
    let command = format!("cargo xtask clean-runs --repeat {times} --write-docs");
    format!("# Clean runs\n\nMade by `{command}` on {}.\n\n{METHOD}\n{}", machine(), table(by_load))
}

/// A row for each load, and one for all.
fn table(by_load: &BTreeMap<&str, Tally>) -> String {
    let mut table =
        "| load | runs | states | rules that made more than a note |\n| --- | --- | --- | --- |\n".to_owned();
    let list = |counts: &BTreeMap<String, u64>| {
        counts.iter().map(|(name, n)| format!("{name} {n}")).collect::<Vec<_>>().join(", ")
    };
    let all: Tally = by_load.values().cloned().sum();
    for (name, Tally { runs, states, fired }) in
        by_load.iter().map(|(name, tally)| (*name, tally)).chain([("all", &all)])
    {
        table += &format!("| {name} | {runs} | {} | {} |\n", list(states), list(fired));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{Tally, page};

    #[test]
    fn one_warning_of_few_and_two_percent_of_many_are_borne() {
        let mut tally = Tally::default();
        (0..20).for_each(|_| tally.add("valid".to_owned(), &[]));
        tally.add("valid".to_owned(), &["NE-03".to_owned()]);
        assert_eq!(tally.faults(), Vec::<String>::new());
        tally.add("bound".to_owned(), &["NE-03".to_owned(), "CL-01".to_owned()]);
        assert_eq!(tally.faults(), ["NE-03 in 2 of 22"]);
        (0..78).for_each(|_| tally.add("valid".to_owned(), &[]));
        assert_eq!(tally.faults(), Vec::<String>::new());
        tally.add("invalid".to_owned(), &["EN-03".to_owned()]);
        assert_eq!(tally.faults(), ["1 of 101 invalid"]);
        let page = page(&[("a", tally.clone()), ("b", tally)].into(), 101);
        assert!(
            page.ends_with("| all | 202 | bound 2, invalid 2, valid 198 | CL-01 2, EN-03 2, NE-03 4 |\n"),
            "{page}"
        );
    }
}
