//! `cargo xtask clean-runs`: loads that nothing is wrong with, again and again. No rule may make more than a note of them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::page::machine;
use super::quiet::Quiet;
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
- A run during which the hypervisor took the CPUs away is no clean one, and rules that say so are right (EN-01, CL-08, CL-03): it
  is told apart, not counted, and made again, at most as often as all that count. It was taken away when `/proc/stat` says so
  for more than 0.5 % of the time of a CPU, or when more than 0.5 % of the wake-ups of a thread of its own on that CPU, before
  everybody else, came 0.5 ms late or more. That is read by the task itself, not by what it tests.
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
    /// Counts a run; gives the rules that count.
    fn add(&mut self, state: String, mut fired: Vec<String>) -> Vec<String> {
        fired.retain(|rule| *rule != TOO_SHORT);
        self.runs += 1;
        *self.states.entry(state).or_default() += 1;
        for rule in &fired {
            *self.fired.entry(rule.clone()).or_default() += 1;
        }
        fired
    }

    /// What is too much, in words.
    fn faults(&self) -> Vec<String> {
        let most = if self.runs < FEW { 1 } else { (SHARE_MAX * self.runs as f64) as u64 };
        let invalid = self.states.get("invalid").map(|n| format!("{n} of {} invalid", self.runs));
        let often = self.fired.iter().filter(|(_, n)| **n > most);
        invalid.into_iter().chain(often.map(|(rule, n)| format!("{rule} in {n} of {}", self.runs))).collect()
    }
}

/// What was said of a load while the machine was quiet, and otherwise.
#[derive(Default)]
struct Runs {
    clean: Tally,
    disturbed: Tally,
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
    let mut by_load: BTreeMap<&str, Runs> = LOADS.iter().map(|(name, _)| (*name, Runs::default())).collect();
    for round in 1..=2 * times {
        let is_wanted = |runs: &Runs| runs.clean.runs < u64::from(times);
        for (name, script) in LOADS {
            let Some(runs) = by_load.get_mut(name).filter(|runs| is_wanted(runs)) else { continue };
            progress.say(&format!("{} of {times}: {name}", runs.clean.runs + 1));
            if add(runs, &program, script).with_context(|| name.to_owned())? {
                progress.did(RUN_S);
            }
        }
        if write {
            workspace::write(PATH, &page(&by_load, times))?;
        }
        if !by_load.values().any(is_wanted) {
            eprintln!("done after {round} rounds");
            break;
        }
    }
    print!("{}", tables(&by_load));
    let clean: Tally = by_load.values().map(|runs| runs.clean.clone()).sum();
    let lacking = u64::from(times) * LOADS.len() as u64 - clean.runs;
    match clean.faults() {
        faults if !faults.is_empty() => bail!("rules cry wolf: {}", faults.join(", ")),
        _ if lacking > 0 => bail!("{lacking} runs are missing: the hypervisor takes too much of this machine away"),
        _ => Ok(()),
    }
}

/// Measures once; whether nothing disturbed that.
fn add(runs: &mut Runs, program: &Path, script: &str) -> Result<bool> {
    let quiet = Quiet::watch()?;
    let said = real::run(program, script);
    let disturbance = quiet.finish()?;
    let (state, fired) = match said {
        Ok(Said::Judged { state, fired }) => (state, fired),
        Ok(Said::Refused(problem) | Said::Impossible(problem)) | Err(problem) => bail!(problem),
    };
    let is_clean = disturbance.is_little();
    let tally = if is_clean { &mut runs.clean } else { &mut runs.disturbed };
    let fired = tally.add(state, fired);
    if !fired.is_empty() || !is_clean {
        eprintln!("    {disturbance}; more than a note: {}", fired.join(", "));
    }
    Ok(is_clean)
}

/// `docs/clean-runs.md`.
fn page(by_load: &BTreeMap<&str, Runs>, times: u32) -> String {
    let command = format!("cargo xtask clean-runs --repeat {times} --write-docs");
    format!("# Clean runs\n\nMade by `{command}` on {}.\n\n{METHOD}\n{}", machine(), tables(by_load))
}

/// The clean runs, and those that were disturbed if there are any.
fn tables(by_load: &BTreeMap<&str, Runs>) -> String {
    let of = |part: fn(&Runs) -> &Tally| -> BTreeMap<&str, Tally> {
        by_load.iter().map(|(name, runs)| (*name, part(runs).clone())).collect()
    };
    let (clean, disturbed) = (of(|runs| &runs.clean), of(|runs| &runs.disturbed));
    match disturbed.values().any(|tally| tally.runs > 0) {
        true => format!("{}\nDisturbed, and not counted:\n\n{}", table(&clean), table(&disturbed)),
        false => table(&clean),
    }
}

/// A row for each load, and one for all.
fn table(by_load: &BTreeMap<&str, Tally>) -> String {
    let mut table =
        "| load | runs | states | rules that made more than a note |\n| --- | --- | --- | --- |\n".to_owned();
    let list = |counts: &BTreeMap<String, u64>| {
        counts.iter().map(|(name, n)| format!("{name} {n}")).collect::<Vec<_>>().join(", ")
    };
    let all: Tally = by_load.values().cloned().sum();
    let rows = by_load.iter().map(|(name, tally)| (*name, tally)).chain([("all", &all)]);
    for (name, Tally { runs, states, fired }) in rows {
        table += &format!("| {name} | {runs} | {} | {} |\n", list(states), list(fired));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{Runs, Tally, page};

    #[test]
    fn one_warning_of_few_and_two_percent_of_many_are_borne() {
        let mut tally = Tally::default();
        let mut add = |times, state: &str, fired: &[&str]| {
            (0..times).for_each(|_| {
                tally.add(state.to_owned(), fired.iter().map(|rule| (*rule).to_owned()).collect());
            });
            tally.faults()
        };
        assert_eq!(add(20, "valid", &["LD-04"]), Vec::<String>::new());
        assert_eq!(add(1, "valid", &["NE-03"]), Vec::<String>::new());
        assert_eq!(add(1, "bound", &["NE-03", "CL-01"]), ["NE-03 in 2 of 22"]);
        assert_eq!(add(78, "valid", &[]), Vec::<String>::new());
        assert_eq!(add(1, "invalid", &["EN-03"]), ["1 of 101 invalid"]);
    }

    #[test]
    fn disturbed_runs_are_told_apart() {
        let tally = |state: &str, fired: &[&str]| {
            let mut tally = Tally::default();
            tally.add(state.to_owned(), fired.iter().map(|rule| (*rule).to_owned()).collect());
            tally
        };
        let runs = |disturbed| Runs { clean: tally("valid", &["NE-03"]), disturbed };
        let by_load = [("a", runs(Tally::default())), ("b", runs(tally("invalid", &["EN-01"])))].into();
        let page = page(&by_load, 1);
        assert!(page.contains("| all | 2 | valid 2 | NE-03 2 |\n\nDisturbed, and not counted:\n"), "{page}");
        assert!(page.ends_with("| b | 1 | invalid 1 | EN-01 1 |\n| all | 1 | invalid 1 | EN-01 1 |\n"), "{page}");
    }
}
