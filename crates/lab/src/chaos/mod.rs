//! `cargo xtask chaos`: measurements and servers that end in every way but their own, again and again. Nothing of them may be
//! left running, and nothing that was measured may be lost but the last second.

mod cycles;
mod disk;
mod ending;
mod endings;
mod follow;
mod judge;
mod leaks;
mod log;
mod moment;
mod page;
mod processes;
mod recover;
mod rows;
mod said;
mod scene;
mod setting;
mod terminal;
mod tries;
mod verb;

use std::io::Write as _;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use clap::builder::PossibleValuesParser;
pub use cycles::{Chaos, Cycle, VICTIMS, Victim};

use crate::machine;
use ending::Ending;
use endings::ENDINGS;
use judge::Kept;
use page::Page;
use rows::{Row, Tried, row};
use tries::Tries;
use xtask::{packages, workspace};

/// Servers that are started and killed, beside the endings of the table.
const SERVERS: &str = "servers";
/// How often, where nothing else is said.
const CYCLES: u64 = 200;

/// Measurements and servers that end by a power cut, a full disk, a closed terminal and so on, at instants from a seed. Prints
/// what was left and what was lost; fails when that is more than nothing and the last second
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Tries of each ending [default: 200 of a power cut, 50 of a full disk, 20 of others]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: Option<u32>,
    /// How often servers are started and killed [default: 200; with --rounds 7 times as often as that]
    #[arg(long, value_name = "N")]
    cycles: Option<u64>,
    /// These endings alone
    #[arg(long, value_name = "ENDING,...", value_delimiter = ',', value_parser = names())]
    only: Vec<String>,
    /// One try of it alone
    #[arg(long = "try", value_name = "N", requires = "only", value_parser = clap::value_parser!(u32).range(1..))]
    number: Option<u32>,
    /// Seed of what is random [default: the time]
    #[arg(long)]
    seed: Option<u64>,
    /// Write docs/chaos.md as well; with --only these endings alone
    #[arg(long, conflicts_with = "number")]
    write_docs: bool,
}

impl Options {
    /// The command that makes the same tries again.
    fn command(&self, seed: u64) -> String {
        let mut command = format!("cargo xtask chaos --seed {seed}");
        if !self.only.is_empty() {
            command += &format!(" --only {}", self.only.join(","));
        }
        for (name, value) in [("rounds", self.rounds.map(u64::from)), ("cycles", self.cycles)] {
            command += &value.map_or_else(String::new, |value| format!(" --{name} {value}"));
        }
        command + " --write-docs"
    }
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(ENDINGS.iter().map(|ending| ending.name).chain([SERVERS]))
}

/// Makes all tries; fails when one of them loses or leaves something.
pub fn run(options: Options) -> Result<()> {
    let seed = match options.seed {
        Some(seed) => seed,
        None => SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs(),
    };
    let is_wanted = |name: &str| options.only.is_empty() || options.only.iter().any(|only| only == name);
    if is_wanted(SERVERS) {
        packages::ensure(packages::FOR_TESTS)?;
    }
    workspace::run(&mut workspace::cargo(&["build", "--quiet", "--package", "plimsoll"]))?;
    let program = workspace::target().join("debug/plimsoll");
    println!("     --seed {seed}");
    let mut tries = Tries::new(program.clone(), seed).map_err(anyhow::Error::msg)?;
    for ending in ENDINGS.iter().filter(|ending| is_wanted(ending.name)) {
        let most = options.rounds.unwrap_or(ending.tries);
        let numbers = options.number.map_or(1..=most, |number| number..=number);
        make(&mut tries, ending, numbers);
    }
    if is_wanted(SERVERS) {
        let cycles = options.cycles.or_else(|| options.rounds.map(|rounds| u64::from(rounds) * VICTIMS.len() as u64));
        kill_servers(program, seed, cycles.unwrap_or(CYCLES), &mut tries)?;
    }
    finish(&tries, seed, &options)
}

/// At most `rounds` tries of each ending, for a test; returns what was not as it should be, and prints what was skipped.
pub fn problems(program: PathBuf, seed: u64, rounds: u32) -> Result<Vec<String>> {
    let mut tries = Tries::new(program, seed).map_err(anyhow::Error::msg)?;
    for ending in &ENDINGS {
        tries.make(ending, 1..=rounds.min(ending.tries), |_, _| {});
    }
    page::skipped(&tries.rows).iter().for_each(|line| println!("{line}"));
    Ok(tries.problems)
}

/// Makes tries of an ending, and prints how far it is.
fn make(tries: &mut Tries, ending: &Ending, numbers: RangeInclusive<u32>) {
    let (last, before) = (*numbers.end(), tries.problems.len());
    tries.make(ending, numbers, |number, problems| {
        print!("\r     {}: {number} of {last}, problems {problems} ", ending.name);
        // A terminal that takes nothing is no reason to end.
        let _ = std::io::stdout().flush();
    });
    println!();
    tries.problems[before..].iter().for_each(|problem| println!("     {problem}"));
}

/// Starts servers and kills whoever takes part; a row for each victim.
fn kill_servers(program: PathBuf, seed: u64, cycles: u64, tries: &mut Tries) -> Result<()> {
    let mut chaos = Chaos::new(program, seed).map_err(anyhow::Error::msg)?;
    for number in 1..=cycles {
        let Cycle { server, victim, problems } = chaos.cycle(number);
        let (left, named) = (problems.len(), format!("{SERVERS}, cycle {number}, {server}, {}", victim.name()));
        tries.problems.extend(problems.iter().map(|problem| format!("{named}: {problem}")));
        problems.iter().for_each(|problem| println!("\r     {named}: {problem}"));
        let tried =
            Tried { struck: true, is_killed: true, kept: Kept::NoResult, lost: None, said: None, left, problems };
        row(&mut tries.rows, SERVERS, victim.name()).add(&tried);
        print!("\r     {SERVERS}: {number} of {cycles}, problems {} ", tries.problems.len());
        std::io::stdout().flush()?;
    }
    println!();
    Ok(())
}

/// Prints the table, writes the page, and fails if anything was not as it should be.
fn finish(tries: &Tries, seed: u64, options: &Options) -> Result<()> {
    let rows: &[Row] = &tries.rows;
    print!("{}", page::table(rows));
    page::skipped(rows).iter().for_each(|line| println!("{line}"));
    if options.write_docs {
        let new = Page::new(&options.command(seed), &machine(), rows);
        let page = if options.only.is_empty() { new } else { Page::read(&workspace::read(page::PATH)?).with(new) };
        workspace::write(page::PATH, &page.render())?;
    }
    if tries.problems.is_empty() {
        return Ok(());
    }
    bail!(
        "{} problem(s); make a try again with --seed {seed} --only ENDING --try N:\n  {}",
        tries.problems.len(),
        tries.problems.join("\n  ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, FromArgMatches};

    #[test]
    fn the_page_names_the_command_that_makes_it_again() {
        let command = Options::augment_args(clap::Command::new("chaos").no_binary_name(true));
        let line = "--only sighup,servers --rounds 3 --cycles 9 --write-docs";
        let options = command.try_get_matches_from(line.split(' ')).expect("it is a command line");
        let options = Options::from_arg_matches(&options).expect("it is a command line");
        let expected = "cargo xtask chaos --seed 7 --only sighup,servers --rounds 3 --cycles 9 --write-docs";
        assert_eq!(options.command(7), expected);
    }
}
