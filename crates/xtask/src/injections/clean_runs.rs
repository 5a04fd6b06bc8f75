//! `cargo xtask clean-runs`: loads that nothing is wrong with, again and again. No rule may make more than a note of them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::real::{self, Said};
use crate::options::Options;
use crate::peers::progress::Progress;

/// How long a run takes, about.
const RUN_S: f64 = 9.5;
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
#[derive(Default)]
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

/// Measures, prints how often each rule fired, and fails when one did too often.
pub(crate) fn run(mut options: Options) -> Result<()> {
    let times: u32 = options.value("--repeat")?.unwrap_or(10).max(1);
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
    }
    print!("{}", table(&by_load));
    let all = by_load.values().fold(Tally::default(), |mut all, tally| {
        all.runs += tally.runs;
        tally.states.iter().for_each(|(state, n)| *all.states.entry(state.clone()).or_default() += n);
        tally.fired.iter().for_each(|(rule, n)| *all.fired.entry(rule.clone()).or_default() += n);
        all
    });
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

fn table(by_load: &BTreeMap<&str, Tally>) -> String {
    let mut table =
        "| load | runs | states | rules that made more than a note |\n| --- | --- | --- | --- |\n".to_owned();
    let list = |counts: &BTreeMap<String, u64>| {
        counts.iter().map(|(name, n)| format!("{name} {n}")).collect::<Vec<_>>().join(", ")
    };
    for (name, Tally { runs, states, fired }) in by_load {
        table += &format!("| {name} | {runs} | {} | {} |\n", list(states), list(fired));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::Tally;

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
    }
}
