//! The loads: plimsoll on its built-in target, beside what makes samples expensive, and with and without samples.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;
use tempfile::TempDir;

use super::{CONNECTIONS, SLEEPERS, THREADS};
use crate::child::{Killed, announced};
use crate::record::{MEASURED, number, printed};

/// What is loaded, on one core from another, in two ways.
struct Load {
    server: &'static str,
    connections: &'static str,
    /// What is asked for in each of them.
    arms: [&'static [&'static str]; 2],
    /// It is measured in one of so many blocks.
    every: usize,
}

/// Without samples and with them. Each answer takes as much of the server's CPU time as the other, however fast its CPU is just
/// now: on a machine whose CPUs are shared the goodput of a run is within 1 % of the next one's.
const STEADY: Load =
    Load { server: "target path=/cpu?us=1000", connections: "4", arms: [&["--no-observe"], &[]], every: 1 };
/// With samples alone and with a profile. Goodput of one run is within 10 % of the next one's.
const PROFILED: Load = Load { server: "target", connections: "16", arms: [&[], &["--profile"]], every: 3 };
/// In the order in which a block measures them.
const LOADS: [Load; 2] = [STEADY, PROFILED];
/// Where a record is, in a directory of its own.
pub(crate) const RECORD: &str = "record";

/// Where the loads run.
pub(crate) struct Bench {
    program: PathBuf,
    pub(crate) records: TempDir,
}

/// Goodput of each block in both ways.
pub(super) struct Goodput {
    pub(super) per_s: Vec<(f64, f64)>,
    /// Why there was no profile.
    pub(super) unprofiled: Option<String>,
}

impl Bench {
    pub(crate) fn new(program: PathBuf) -> Result<Self> {
        Ok(Self { program, records: tempfile::tempdir().context("a directory for records")? })
    }

    /// A light load over many connections beside many processes. It is a closed loop: an open one opens what it needs.
    pub(super) fn many(&self) -> Result<Value> {
        let sleep = || Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().map(Killed);
        let sleepers: Vec<Killed> = (0..SLEEPERS).map(|_| sleep()).collect::<Result<_, _>>().context("sleep")?;
        let (connections, (_target, url)) = (CONNECTIONS.to_string(), self.target(&[])?);
        let slow = format!("{url}sleep?time=2s");
        let record = self.run(&[&slow, "-c", &connections, "-d", "15s", "--warmup", "2s"])?;
        drop(sleepers);
        let seen = super::sockets(&record);
        ensure!(seen >= 2 * u64::from(CONNECTIONS), "only {seen} of {} sockets were looked at", 2 * CONNECTIONS);
        Ok(record)
    }

    /// A light load on a server of many threads.
    pub(super) fn threads(&self) -> Result<Value> {
        let (_target, url) = self.target(&["--workers", &THREADS.to_string()])?;
        let record = self.run(&[&url, "-c", "64", "-R", "500", "-d", "8s", "--warmup", "1s"])?;
        let pools = record.pointer("/observed/pools").and_then(Value::as_array).context("no pools")?;
        let seen = pools.iter().filter_map(|pool| pool["workers_max"].as_u64()).sum::<u64>();
        ensure!(seen >= THREADS.into(), "only {seen} of {THREADS} threads were looked at");
        Ok(record)
    }

    /// The built-in target with these flags, and its URL.
    pub(super) fn target(&self, flags: &[&str]) -> Result<(Killed, String)> {
        let mut command = Command::new(&self.program);
        let (target, said) = announced(command.arg("target").args(flags).arg("--die-with-parent"))?;
        let url = said["url"].as_str().context("the target names no URL")?;
        Ok((target, url.to_owned()))
    }

    /// A load that keeps the machine busy.
    pub(super) fn busy(&self) -> Result<Value> {
        self.run(&["--serve", "target", "-c", "16", "-d", "8s", "--warmup", "1s"])
    }

    /// Blocks of both ways of each load, either of them first equally often.
    pub(super) fn blocks(&self, blocks: usize, seed: u64, mut begins: impl FnMut(usize)) -> Result<[Goodput; 2]> {
        let mut goodput = [const { Goodput { per_s: Vec::new(), unprofiled: None } }; LOADS.len()];
        let orders = LOADS.map(|load| orders(blocks.div_ceil(load.every), seed));
        for block in 0..blocks {
            begins(block);
            for ((load, orders), goodput) in LOADS.iter().zip(&orders).zip(&mut goodput) {
                if block % load.every == 0 {
                    self.block(load, orders[block / load.every], goodput).with_context(|| load.server)?;
                }
            }
        }
        Ok(goodput)
    }

    /// Both ways of one load in that order.
    fn block(&self, load: &Load, order: [usize; 2], goodput: &mut Goodput) -> Result<()> {
        let mut per_s = [f64::NAN; 2];
        for arm in order {
            let its = ["--serve", load.server, "-c", load.connections, "-d", "3s", "--warmup", "500ms"];
            let record = self.run(&[&its[..], load.arms[arm]].concat())?;
            per_s[arm] = number(&record, "/goodput_per_s/value")?;
            let why = record.get("profile_unavailable").and_then(Value::as_str);
            goodput.unprofiled = goodput.unprofiled.take().or_else(|| why.map(str::to_owned));
        }
        goodput.per_s.push(per_s.into());
        Ok(())
    }

    /// The record of a run.
    fn run(&self, arguments: &[&str]) -> Result<Value> {
        let directory = tempfile::tempdir_in(self.records.path())?;
        self.run_in(arguments, directory.path())
    }

    /// The same, with all that is recorded in `directory`.
    pub(crate) fn run_in(&self, arguments: &[&str], directory: &Path) -> Result<Value> {
        printed(&mut self.command(arguments, directory), &MEASURED)
    }

    /// `plimsoll run` with its record in `directory`.
    pub(super) fn command(&self, arguments: &[&str], directory: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("run").args(arguments).args(["--json", "--quiet", "--output"]).arg(directory.join(RECORD));
        command.stdin(Stdio::null());
        command
    }
}

/// The order of the two ways in each block.
pub(super) fn orders(blocks: usize, seed: u64) -> Vec<[usize; 2]> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut orders: Vec<_> = [[0, 1], [1, 0]].into_iter().cycle().take(blocks).collect();
    for last in (1..orders.len()).rev() {
        let other = (rng.next_u64() % (last as u64 + 1)) as usize;
        orders.swap(last, other);
    }
    orders
}

#[cfg(test)]
mod tests {
    use super::orders;

    #[test]
    fn either_comes_first_equally_often_and_not_in_turn() {
        let shuffled = orders(12, 1);
        assert_eq!(shuffled.iter().filter(|order| **order == [0, 1]).count(), 6);
        assert!(shuffled.windows(2).any(|two| two[0] == two[1]), "{shuffled:?}");
        assert_ne!(shuffled, orders(12, 2));
    }
}
