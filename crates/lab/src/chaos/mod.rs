//! `cargo xtask chaos`: measurements and servers that end in every way but their own, again and again. Nothing of them may be
//! left running, and nothing that was measured may be lost but the last second.

mod agents;
mod choice;
mod cycles;
mod disk;
mod ending;
mod endings;
mod fleet;
mod follow;
mod hostile;
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
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use clap::ArgGroup;
use clap::builder::PossibleValuesParser;
pub use cycles::{Chaos, Cycle, VICTIMS, Victim};
pub use hostile::Hostile;

use crate::{build_debug_plimsoll, is_wanted, machine};
use agents::Machines;
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
const TRIES_OF_AGENTS: u32 = 100;
const TRIES_OF_HOSTILE: u32 = 100;

/// Measurements and servers that end by a power cut, a full disk, a closed terminal and so on, at instants from a seed. Prints
/// what was left and what was lost; fails when that is more than nothing and the last second
#[derive(Clone, Debug, clap::Args)]
#[command(group = ArgGroup::new("which").args(["only", "agents"]))]
pub struct Options {
    /// Measurements with load of agents instead, of which coordinator, agent, ssh, server or link is ended
    #[arg(long, conflicts_with_all = ["rounds", "cycles"])]
    agents: bool,
    /// Tries with agents [default: 100]
    #[arg(long, value_name = "N", requires = "agents", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    tries: Option<u32>,
    /// Tries of each ending [default: 200 of a power cut, 50 of a full disk, 100 of each hostile part, 20 of others]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: Option<u32>,
    /// How often servers are started and killed [default: 200; with --rounds 7 times as often as that]
    #[arg(long, value_name = "N")]
    cycles: Option<u64>,
    /// These endings alone
    #[arg(long, value_name = "ENDING,...", value_delimiter = ',', value_parser = names())]
    only: Vec<String>,
    /// One try of it alone
    #[arg(long = "try", value_name = "N", requires = "which", value_parser = clap::value_parser!(u32).range(1..))]
    number: Option<u32>,
    /// Seed of what is random [default: the time]
    #[arg(long)]
    seed: Option<u64>,
    /// Write docs/lab/crash-tests.md as well; with --only or --agents these endings alone
    #[arg(long, conflicts_with = "number")]
    write_docs: bool,
}

impl Options {
    /// The command that makes the same tries again.
    fn command(&self, seed: u64) -> String {
        let mut command = format!("cargo xtask chaos --seed {seed}");
        if self.agents {
            command += " --agents";
        }
        if !self.only.is_empty() {
            command += &format!(" --only {}", self.only.join(","));
        }
        for (name, value) in
            [("rounds", self.rounds.map(u64::from)), ("cycles", self.cycles), ("tries", self.tries.map(u64::from))]
        {
            command += &value.map_or_else(String::new, |value| format!(" --{name} {value}"));
        }
        command + " --write-docs"
    }
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(
        ENDINGS.iter().map(|ending| ending.name).chain([SERVERS]).chain(Hostile::ALL.map(Hostile::name)),
    )
}

/// Makes all tries; fails when one of them loses or leaves something.
pub fn run(options: Options) -> Result<()> {
    let seed = match options.seed {
        Some(seed) => seed,
        None => SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs(),
    };
    if options.agents {
        return kill_agents(seed, &options);
    }
    let is_wanted = |name: &str| is_wanted(&options.only, name);
    if is_wanted(SERVERS) {
        packages::ensure(packages::FOR_TESTS)?;
    }
    let program = build_debug_plimsoll()?;
    println!("     --seed {seed}");
    let mut tries = Tries::new(program.clone(), seed).map_err(anyhow::Error::msg)?;
    for ending in ENDINGS.iter().filter(|ending| is_wanted(ending.name)) {
        let most = options.rounds.unwrap_or(ending.tries);
        let numbers = options.number.map_or(1..=most, |number| number..=number);
        make(&mut tries, ending, numbers);
    }
    for hostile in Hostile::ALL.into_iter().filter(|hostile| is_wanted(hostile.name())) {
        let last = options.rounds.unwrap_or(TRIES_OF_HOSTILE);
        meet(hostile, &program, seed, options.number.map_or(1..=last, |number| number..=number), &mut tries);
    }
    if is_wanted(SERVERS) {
        let cycles = options.cycles.or_else(|| options.rounds.map(|rounds| u64::from(rounds) * VICTIMS.len() as u64));
        kill_servers(program, seed, cycles.unwrap_or(CYCLES), &mut tries)?;
    }
    finish(&tries, seed, &options)
}

/// Measurements with load of agents, of which somebody is killed.
fn kill_agents(seed: u64, options: &Options) -> Result<()> {
    let program = build_debug_plimsoll()?;
    println!("     --seed {seed}");
    let mut tries = Tries::new(program.clone(), seed).map_err(anyhow::Error::msg)?;
    let machines = Machines::new(&program);
    machines.missing().iter().for_each(|why| println!("     {why}"));
    let last = options.tries.unwrap_or(TRIES_OF_AGENTS);
    for number in options.number.map_or(1..=last, |number| number..=number) {
        let before = tries.problems.len();
        let words = agents::make(&mut tries, &machines, number);
        println!("     {number} of {last}, problems {}: {words}", tries.problems.len());
        tries.problems[before..].iter().for_each(|problem| println!("     {problem}"));
    }
    finish(&tries, seed, options)
}

/// These tries with agents, for a test; returns what was not as it should be, and prints what was skipped.
pub fn problems_of_agents(program: PathBuf, seed: u64, numbers: &[u32]) -> Result<Vec<String>> {
    let mut tries = Tries::new(program.clone(), seed).map_err(anyhow::Error::msg)?;
    let machines = Machines::new(&program);
    numbers.iter().for_each(|number| drop(agents::make(&mut tries, &machines, *number)));
    page::skipped(&tries.rows).iter().for_each(|line| println!("{line}"));
    Ok(tries.problems)
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

/// Tries with somebody hostile, for a test: one of each kind; returns what was not as it should be.
pub fn problems_with(hostile: Hostile, program: PathBuf, seed: u64) -> Result<Vec<String>> {
    let mut tries = Tries::new(program.clone(), seed).map_err(anyhow::Error::msg)?;
    meet(hostile, &program, seed, 1..=hostile.kinds(), &mut tries);
    Ok(tries.problems)
}

/// Meets somebody hostile again and again; a row for each kind.
fn meet(hostile: Hostile, program: &Path, seed: u64, numbers: RangeInclusive<u32>, tries: &mut Tries) {
    let last = *numbers.end();
    for number in numbers {
        let (kind, tried) = hostile.make(program, seed, number);
        let named = format!("{}, try {number}, {kind}", hostile.name());
        tried.problems.iter().for_each(|problem| println!("\r     {named}: {problem}"));
        tries.problems.extend(tried.problems.iter().map(|problem| format!("{named}: {problem}")));
        row(&mut tries.rows, hostile.name(), kind).add(&tried);
        print!("\r     {}: {number} of {last}, problems {} ", hostile.name(), tries.problems.len());
        // A terminal that takes nothing is no reason to end.
        let _ = std::io::stdout().flush();
    }
    println!();
}

/// Starts servers and kills whoever takes part; a row for each victim.
fn kill_servers(program: PathBuf, seed: u64, cycles: u64, tries: &mut Tries) -> Result<()> {
    let mut chaos = Chaos::new(program, seed).map_err(anyhow::Error::msg)?;
    for number in 1..=cycles {
        let Cycle { server, victim, problems } = chaos.cycle(number);
        let (left, named) = (problems.len(), format!("{SERVERS}, cycle {number}, {server}, {}", victim.name()));
        tries.problems.extend(problems.iter().map(|problem| format!("{named}: {problem}")));
        problems.iter().for_each(|problem| println!("\r     {named}: {problem}"));
        let tried = Tried { struck: true, kept: Kept::NoResult, left, problems, ..Tried::broken(String::new()) };
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
        // What is not made again stays.
        let is_all = options.only.is_empty() && !options.agents;
        let page = Page::read(&workspace::read(page::PATH)?);
        let page = if is_all { page.of_agents().with(new) } else { page.with(new) };
        workspace::write(page::PATH, &page.render())?;
    }
    if tries.problems.is_empty() {
        return Ok(());
    }
    bail!(
        "{} problem(s); make a try again with --seed {seed} {} --try N:\n  {}",
        tries.problems.len(),
        if options.agents { "--agents" } else { "--only ENDING" },
        tries.problems.join("\n  ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::parsed;

    #[test]
    fn the_page_names_the_command_that_makes_it_again() {
        let parse = |line: &str| parsed::<Options>(line).expect("it is a command line");
        let options = parse("--only sighup,servers --rounds 3 --cycles 9 --write-docs");
        let expected = "cargo xtask chaos --seed 7 --only sighup,servers --rounds 3 --cycles 9 --write-docs";
        assert_eq!(options.command(7), expected);
        let agents = parse("--agents --tries 12");
        assert_eq!(agents.command(7), "cargo xtask chaos --seed 7 --agents --tries 12 --write-docs");
        assert!(parsed::<Options>("--try 3").is_err(), "of what");
    }
}
