//! `cargo xtask sampler`: monitoring overhead: CPU time of samples, and goodput with and without them.

mod page;
pub(crate) mod runs;
mod toggled;

use anyhow::Result;
use model::Estimate;
use serde_json::Value;
use stats::paired_ratio;

use crate::machine;
use crate::progress::Progress;
use crate::record::{count, number};
use runs::{Bench, Goodput};
use xtask::workspace;

/// Fewer have no interval worth the name.
const BLOCKS_MIN: u64 = 18;
/// Of a block, with two runs of one load, and in every third two of the other; s.
const BLOCK_S: f64 = 8.0 / 3.0 * 4.2;
/// Pairs of stretches with and without samples, for each block; those need many more to say as much.
const PAIRS_PER_BLOCK: usize = 8;
/// Of the three runs before the blocks; s.
const ALONE_S: f64 = 36.0;
/// Processes that do nothing, beside the load.
const SLEEPERS: usize = 200;
/// Connections of the load, each of them two sockets here.
const CONNECTIONS: u32 = 1_000;
/// Threads of the server whose states are looked at.
const THREADS: u32 = 50;

/// Most that a figure may be, all of them shares.
const LOOKS_MAX: f64 = 0.005;
const STATES_MAX: f64 = 0.02;
const LOSS_MAX: f64 = 0.01;
const UNACCOUNTED_MAX: f64 = 0.1;

/// What was measured.
struct Results {
    looks: Cost,
    /// Sockets of the load's port that the samples have seen.
    sockets: u64,
    states: Cost,
    accounts: Accounts,
    /// Goodput with samples in parts of that without: where each request takes as much of the server's CPU time,
    steady: Estimate,
    /// and as fast as one core answers.
    toggled: Estimate,
    /// With a profile and samples, in parts of with samples alone.
    profiled: Result<Estimate, String>,
}

/// Cost of sampling, as a record tells it.
struct Cost {
    looks: u64,
    ms_per_look: f64,
    /// Of one CPU.
    cpu_share: f64,
}

/// CPU time of all processes, and of interrupts, in parts of the machine's busy time.
struct Accounts {
    processes: f64,
    softirq: f64,
}

impl Accounts {
    /// How far they are from the whole. Some kernels count interrupts for the process that they interrupt, others for none.
    fn missing(&self) -> f64 {
        if self.processes < 1.0 { (1.0 - self.processes - self.softirq).max(0.0) } else { self.processes - 1.0 }
    }
}

/// The cost of sampling beside a load: CPU time of the samples, goodput with and without them and with a profile; 5 minutes
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Options {
    /// Blocks with and without, every third with a profile; fewer have no interval worth the name
    #[arg(long, value_name = "N", default_value_t = BLOCKS_MIN, value_parser = clap::value_parser!(u64).range(BLOCKS_MIN..))]
    blocks: u64,
    /// Seed of the order within them
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write docs/lab/observer-cost.md as well
    #[arg(long)]
    write_docs: bool,
}

/// Measures, prints the table, and writes the page when it is wanted.
pub fn run(Options { blocks, seed, write_docs }: Options) -> Result<()> {
    let bench = Bench::new(workspace::build_plimsoll()?)?;
    let results = measure(&bench, blocks as usize, seed)?;
    print!("{}", page::table(&results));
    if write_docs {
        page::render(&machine(), &results).write(page::PATH)?;
    }
    Ok(())
}

fn measure(bench: &Bench, blocks: usize, seed: u64) -> Result<Results> {
    let pairs = blocks * PAIRS_PER_BLOCK;
    let mut progress = Progress::new(ALONE_S + blocks as f64 * BLOCK_S + pairs as f64 * toggled::PAIR_S);
    progress.say(&format!("{SLEEPERS} sleeping processes and {CONNECTIONS} connections"));
    let many = bench.many()?;
    progress.say(&format!("a server with {THREADS} threads"));
    let threads = bench.threads()?;
    progress.say("the CPU time of all processes");
    let busy = bench.busy()?;
    progress.did(ALONE_S);
    let [steady, profiled] = bench.blocks(blocks, seed, |block| {
        progress.say(&format!("block {} of {blocks}", block + 1));
        if block > 0 {
            progress.did(BLOCK_S);
        }
    })?;
    progress.did(BLOCK_S);
    let toggled = toggled::pairs(bench, pairs, seed, |pair| {
        if pair % PAIRS_PER_BLOCK == 0 {
            progress.say(&format!("looks on and off, pair {} of {pairs}", pair + 1));
        }
        progress.did(toggled::PAIR_S);
    })?;
    let Goodput { per_s, unprofiled } = profiled;
    Ok(Results {
        looks: cost(&many, "/observed/sampler")?,
        sockets: sockets(&many),
        states: cost(&threads, "/observed/pools_sampler")?,
        accounts: accounts(&busy)?,
        steady: paired_ratio(&steady.per_s),
        toggled: paired_ratio(&toggled),
        profiled: unprofiled.map_or_else(|| Ok(paired_ratio(&per_s)), Err),
    })
}

fn cost(record: &Value, path: &str) -> Result<Cost> {
    let of = |name: &str| number(record, &format!("{path}/{name}"));
    Ok(Cost { looks: of("looks")? as u64, ms_per_look: of("cpu_ns_per_look")? / 1e6, cpu_share: of("cpu_share")? })
}

/// Both ends of all connections.
fn sockets(record: &Value) -> u64 {
    ["server", "client"].map(|end| count(record, &format!("/observed/sockets/{end}/established"))).iter().sum()
}

fn accounts(record: &Value) -> Result<Accounts> {
    let of = |name: &str| number(record, &format!("/observed/machine/{name}"));
    Ok(Accounts { processes: of("accounted_share")?, softirq: of("softirq_mean")? / of("busy_mean")? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn interrupts_count_where_the_kernel_charges_them_to_nobody() {
        let missing = |processes, softirq| Accounts { processes, softirq }.missing();
        assert!((missing(0.8, 0.15) - 0.05).abs() < 1e-9);
        assert!((missing(1.04, 0.15) - 0.04).abs() < 1e-9);
        assert!(missing(0.97, 0.15).abs() < 1e-9);
    }

    #[test]
    fn figures_are_read_from_the_record_and_missed_when_they_are_not_there() {
        let record = json!({ "observed": {
            "sampler": { "looks": 12, "cpu_ns_per_look": 3e6, "cpu_share": 0.003 },
            "sockets": { "server": { "established": 1000 }, "client": { "established": 998, "time_wait": 7 } },
            "machine": { "accounted_share": 0.9, "softirq_mean": 0.1, "busy_mean": 0.5 },
        }});
        let looks = cost(&record, "/observed/sampler").unwrap();
        assert_eq!((looks.looks, looks.ms_per_look, looks.cpu_share, sockets(&record)), (12, 3.0, 0.003, 1998));
        assert!((accounts(&record).unwrap().softirq - 0.2).abs() < 1e-9);
        let why = cost(&record, "/observed/pools_sampler").err().unwrap().to_string();
        assert!(why.contains("/observed/pools_sampler/looks"), "{why}");
    }
}
