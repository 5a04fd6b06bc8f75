//! `cargo xtask aa`: a server compared with itself, for real: the stretches of one long load are dealt to a baseline and a
//! variant that are the same.

use std::io::{BufRead, BufReader};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use stats::{CONFIDENCE, shuffled_blocks};

use crate::calibrate::side;
use crate::machine;
use crate::markdown::{Page, Table};
use crate::record::number;
use crate::sampler::runs::{Bench, RECORD};
use xtask::workspace;

const PAGE: &str = "docs/lab/aa.md";
/// Of each comparison.
const BLOCKS: usize = 6;
/// Ticks of a stretch; they are cut each second.
const STRETCH_TICKS: usize = 2;
/// So many in ten may be flagged; twice what 95 % intervals promise, as there are few.
const FLAGGED_MAX: f64 = 0.1;
/// A change that is made up in the variant, to show what such comparisons resolve.
const CHANGE: f64 = 1.03;
/// The load: half of one core, in answers that take CPU time.
const SERVER: &str = "target path=/cpu?us=500";
const RATE: &str = "1000";

/// A server compared with itself: stretches of one long load, dealt to two variants that are the same. Prints how many
/// comparisons flag a difference; fails when that is more than one in ten; 16 minutes
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Options {
    /// Comparisons, of 6 blocks of two stretches of 2 s each
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(10..=1000))]
    comparisons: u32,
    /// Seed of which stretch belongs to which
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write docs/lab/aa.md as well
    #[arg(long)]
    write_docs: bool,
}

/// What is compared, of a stretch.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stretch {
    cpu_ns_per_request: f64,
    /// Mean over its ticks.
    p50_ns: f64,
}

/// How often a quantity was flagged.
#[derive(Debug, PartialEq)]
struct Row {
    what: &'static str,
    flagged: usize,
    /// With the change that is made up.
    found: usize,
    comparisons: usize,
}

impl Row {
    fn is_well(&self) -> bool {
        self.flagged as f64 <= FLAGGED_MAX * self.comparisons as f64
    }
}

/// Measures, prints the table, and writes the page when it is wanted.
pub fn run(Options { comparisons, seed, write_docs }: Options) -> Result<()> {
    let plimsoll = workspace::build_plimsoll()?;
    let seconds = comparisons as usize * BLOCKS * 2 * STRETCH_TICKS;
    eprintln!("one load of {seconds} s");
    let bench = Bench::new(plimsoll)?;
    let (directory, window) = (bench.records.path(), format!("{seconds}s"));
    bench.run_in(&["--serve", SERVER, "-R", RATE, "-c", "64", "--warmup", "2s", "-d", &window], directory)?;
    let log = std::fs::File::open(directory.join(RECORD).join("events.jsonl")).context("the events of the load")?;
    let stretches = stretches(BufReader::new(log).lines().map_while(Result::ok))?;
    let rows = [
        row("server CPU per request", &stretches, seed, |stretch| stretch.cpu_ns_per_request)?,
        row("response p50", &stretches, seed, |stretch| stretch.p50_ns)?,
    ];
    let table = table(&rows);
    print!("{table}");
    if write_docs {
        page(&machine(), &table, comparisons).write(PAGE)?;
    }
    match rows.iter().find(|row| !row.is_well()) {
        None => Ok(()),
        Some(row) => {
            bail!("{}: {} of {} comparisons flag a difference that is none", row.what, row.flagged, row.comparisons)
        }
    }
}

/// Of the events of a load: its ticks and samples, second by second.
fn stretches(log: impl Iterator<Item = String>) -> Result<Vec<Stretch>> {
    let (mut ticks, mut cpu_ns) = (Vec::new(), Vec::new());
    for line in log {
        let event: Value = serde_json::from_str(&line).context("an event")?;
        if event["phase"] != "measure" {
            continue;
        }
        match event["event"].as_str() {
            Some("tick") => ticks.push((number(&event, "/flow/completed")?, number(&event, "/response_p50_ns")?)),
            Some("observed") => {
                let processes = event.pointer("/server/processes").and_then(Value::as_array).context("no processes")?;
                cpu_ns.push(processes.iter().filter_map(|process| process["cpu_ns"].as_f64()).sum::<f64>());
            }
            _ => {}
        }
    }
    let pairs: Vec<_> = ticks.into_iter().zip(cpu_ns).collect();
    let stretch = |pairs: &[((f64, f64), f64)]| {
        let sum = |of: fn(&((f64, f64), f64)) -> f64| pairs.iter().map(of).sum::<f64>();
        Stretch {
            cpu_ns_per_request: sum(|pair| pair.1) / sum(|pair| pair.0.0),
            p50_ns: sum(|pair| pair.0.1) / pairs.len() as f64,
        }
    };
    Ok(pairs.chunks_exact(STRETCH_TICKS).map(stretch).collect())
}

/// Comparisons of consecutive stretches, which of the two of a block is the baseline by chance.
fn row(what: &'static str, stretches: &[Stretch], seed: u64, of: impl Fn(&Stretch) -> f64) -> Result<Row> {
    let blocks: Vec<&[Stretch]> = stretches.chunks_exact(2).collect();
    let order = shuffled_blocks(&[0, 1], blocks.len(), seed);
    let pairs: Vec<(f64, f64)> =
        blocks.iter().zip(&order).map(|(block, order)| (of(&block[order[0]]), of(&block[order[1]]))).collect();
    let comparisons: Vec<&[(f64, f64)]> = pairs.chunks_exact(BLOCKS).collect();
    ensure!(!comparisons.is_empty(), "only {} stretches were measured", stretches.len());
    let differs = |pairs: &[(f64, f64)]| side(pairs, CONFIDENCE) != 0;
    let changed =
        |pairs: &[(f64, f64)]| pairs.iter().map(|(base, variant)| (*base, variant * CHANGE)).collect::<Vec<_>>();
    Ok(Row {
        what,
        flagged: comparisons.iter().filter(|pairs| differs(pairs)).count(),
        found: comparisons.iter().filter(|pairs| differs(&changed(pairs))).count(),
        comparisons: comparisons.len(),
    })
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new("quantity | comparisons | flagged | goal | flagged with 3 % made up");
    for Row { what, flagged, found, comparisons } in rows {
        let goal = (FLAGGED_MAX * *comparisons as f64) as usize;
        table.row(&[what, comparisons, flagged, &format_args!("at most {goal}"), found]);
    }
    table
}

fn page(machine: &str, table: &Table, comparisons: u32) -> Page {
    let text = format!(
        "\
One load of {RATE} requests per second on `{SERVER}`, cut into stretches of {STRETCH_TICKS} s. Two neighbours are a block: one is\n\
the baseline, the other the variant, by chance; {BLOCKS} blocks are a comparison, by the intervals that `plimsoll compare` has\n\
(`stats::effect`, 95 %). Every flagged difference is a false alarm, and one in 20 comparisons is expected to have one. The last column\n\
multiplies the variant by {CHANGE}: how often so small a change is found in {} s. A load from which others took CPU time is\n\
prolonged, which makes more comparisons.",
        2 * STRETCH_TICKS * BLOCKS,
    );
    let command = format!("cargo xtask aa --comparisons {comparisons} --write-docs");
    Page::new("A server compared with itself").made_by(&command, machine).block(text).block(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The events of one second.
    fn second(completed: u64, p50_ns: u64, cpu_ns: u64) -> [String; 2] {
        [
            format!(
                r#"{{"event":"tick","phase":"measure","flow":{{"completed":{completed}}},"response_p50_ns":{p50_ns}}}"#
            ),
            format!(r#"{{"event":"observed","phase":"measure","server":{{"processes":[{{"cpu_ns":{cpu_ns}}}]}}}}"#),
        ]
    }

    #[test]
    fn a_stretch_is_made_of_its_seconds_and_warm_up_is_none() {
        let warm = r#"{"event":"tick","phase":"warmup","flow":{"completed":7},"response_p50_ns":7}"#.to_owned();
        let seconds = [second(1_000, 100, 500), second(3_000, 300, 1_500), second(9, 9, 9)].into_iter().flatten();
        let stretches = stretches(std::iter::once(warm).chain(seconds)).unwrap();
        assert_eq!(stretches, [Stretch { cpu_ns_per_request: 0.5, p50_ns: 200.0 }]);
    }

    #[test]
    fn neighbours_that_differ_by_chance_are_not_flagged_and_a_change_is_found() {
        let level = |n: usize| 100.0 + 0.3 * ((n * 7919 % 101) as f64 / 101.0 - 0.5);
        let stretches: Vec<_> =
            (0..40 * BLOCKS * 2).map(|n| Stretch { cpu_ns_per_request: level(n), p50_ns: 1.0 }).collect();
        let row = row("CPU", &stretches, 1, |stretch| stretch.cpu_ns_per_request).unwrap();
        assert_eq!((row.comparisons, row.found), (40, 40));
        assert!(row.is_well(), "{row:?}");
        assert!(!Row { flagged: 5, ..row }.is_well());
    }

    #[test]
    fn the_page_has_the_table_below_how_it_was_made() {
        let row = Row { what: "response p50", flagged: 4, found: 6, comparisons: 60 };
        insta::assert_snapshot!("page", page("a machine", &table(&[row]), 40));
    }
}
