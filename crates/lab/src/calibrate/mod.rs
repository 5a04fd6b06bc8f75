//! `cargo xtask calibrate`: the statistics of searches and comparisons against simulated servers whose truth is known.
//!
//! Everything is made in virtual time from seeds that count from 0, so that the same number of runs gives the same page.

mod aa;
mod blocks;
mod capacity;
mod duet;
mod environment;
mod page;
mod power;
mod queue;
mod random;
mod section;
mod sequential;
mod slower;

use crate::progress::each;
pub(crate) use aa::side;
use anyhow::{Result, bail};
pub(crate) use random::Random;
use section::Section;

/// A part of the page: its name, how long 1,000 runs of it take (s, debug build), and what makes it.
type Part = (&'static str, f64, fn(u64) -> Section);

const PARTS: [Part; 7] = [
    ("capacity", 60.0, capacity::section),
    ("queues", 60.0, queue::section),
    ("comparisons with itself", 60.0, aa::designs),
    ("uneven disturbance", 10.0, aa::uneven),
    ("duets", 10.0, duet::section),
    ("power", 60.0, power::section),
    ("ways of other tools", 60.0, slower::section),
];

/// The statistics of searches and comparisons, in simulation: brackets of known capacities, false positives, power, queues,
/// and comparisons as other tools make them.
/// Prints the tables; fails when a goal is missed
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Simulated runs behind each figure
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(20..))]
    runs: u32,
    /// Write docs/lab/calibration.md as well
    #[arg(long)]
    write_docs: bool,
}

/// Simulates, prints the tables, and fails when a goal is missed.
pub fn run(options: Options) -> Result<()> {
    let runs = u64::from(options.runs);
    let parts = each(PARTS.to_vec(), |(name, seconds, _)| (*name, *seconds));
    let sections: Vec<Section> = parts.map(|(.., make)| make(runs)).collect();
    let page = page::render(runs, &sections);
    if options.write_docs {
        page.write(page::PATH)?;
    }
    print!("{page}");
    match page::missed(&sections) {
        missed if missed.is_empty() => Ok(()),
        missed => bail!("goals missed:\n  {}", missed.join("\n  ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goals, with room for chance, by few runs.
    #[test]
    fn the_goals_are_met_by_a_short_run_of_every_part() {
        let sections: Vec<Section> = std::thread::scope(|scope| {
            let made: Vec<_> = PARTS.iter().map(|(_, _, make)| scope.spawn(|| make(60))).collect();
            made.into_iter().map(|section| section.join().expect("it is made")).collect()
        });
        assert_eq!(page::missed(&sections), [""; 0]);
        let text = page::render(60, &sections).to_string();
        assert!(sections.iter().all(|section| text.contains(&section.page.to_string())));
        assert!(text.lines().all(|line| line.len() <= 120 || line.starts_with('|')), "{text}");
    }
}
