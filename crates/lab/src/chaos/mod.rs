//! `cargo xtask chaos`: servers under test are started and ended again and again, mostly by SIGKILL for one of the
//! processes that take part. Nothing of them may be left.

mod cycles;
mod leaks;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
pub use cycles::{Chaos, Cycle, VICTIMS, Victim};

use xtask::{packages, workspace};

/// What happened to a server by victim: how often, and what was left.
type Table = BTreeMap<&'static str, BTreeMap<Victim, u64>>;

/// Servers under test, started and ended; they, their supervisor and plimsoll are killed at random. Fails when something is left
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Options {
    /// How often
    #[arg(long, value_name = "N", default_value_t = 200)]
    cycles: u64,
    /// Seed of what is random [default: the time]
    #[arg(long)]
    seed: Option<u64>,
}

/// Runs the cycles; fails when one of them leaves something.
pub fn run(Options { cycles, seed }: Options) -> Result<()> {
    let seed = match seed {
        Some(seed) => seed,
        None => SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs(),
    };
    packages::ensure(packages::FOR_TESTS)?;
    workspace::run(&mut workspace::cargo(&["build", "--quiet", "--package", "plimsoll"]))?;
    let mut chaos = Chaos::new(workspace::target().join("debug/plimsoll"), seed).map_err(anyhow::Error::msg)?;
    println!("     {cycles} cycles, --seed {seed}");
    let (mut table, mut leaks) = (Table::new(), 0);
    for number in 1..=cycles {
        let Cycle { server, victim, problems } = chaos.cycle(number);
        *table.entry(server).or_default().entry(victim).or_default() += 1;
        for problem in &problems {
            println!("\r     cycle {number}: {server}, {}: {problem}", victim.name());
        }
        leaks += problems.len();
        print!("\r     {number} of {cycles}, leaks {leaks} ");
        std::io::stdout().flush()?;
    }
    println!();
    show(&table);
    println!("     leaks = {leaks}");
    if leaks > 0 {
        bail!("{leaks} leak(s); repeat with --seed {seed}");
    }
    Ok(())
}

fn show(table: &Table) {
    let width = |name: &str| name.len().max(5);
    let head: Vec<&str> = VICTIMS.iter().map(|victim| victim.name()).collect();
    println!("     {:<16} {}", "killed:", head.join("  "));
    for (server, counts) in table {
        let count = |victim: &Victim| counts.get(victim).copied().unwrap_or(0);
        let cells: Vec<String> =
            VICTIMS.iter().map(|victim| format!("{:>width$}", count(victim), width = width(victim.name()))).collect();
        println!("     {server:<16} {}", cells.join("  "));
    }
}
