//! The loads: plimsoll on its built-in target, beside what makes looking dear, and with and without looking.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;
use tempfile::TempDir;

use super::{CONNECTIONS, SLEEPERS, THREADS};

/// The arms of a block, by their place in it.
pub(super) const PLAIN: usize = 0;
pub(super) const OBSERVED: usize = 1;
pub(super) const PROFILED: usize = 2;
const ARMS: [&[&str]; 3] = [&["--no-observe"], &[], &["--profile"]];
/// All orders of them: each comes as often as the others.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
/// What is loaded, on one core from another.
#[derive(Clone, Copy)]
pub(super) struct Load {
    pub(super) name: &'static str,
    server: &'static str,
    connections: &'static str,
    /// Whether the profile is one of its arms.
    pub(super) profiled: bool,
    /// It is measured in one of so many blocks.
    pub(super) every: usize,
}
/// Each answer takes as much of the server's CPU time as the other, however fast its CPU is just now: on a machine whose CPUs
/// are shared the goodput of a run is within 1 % of the next one's, and that of the other load within 10 %.
pub(super) const LOADS: [Load; 2] = [
    Load {
        name: "1 ms of CPU time a request",
        server: "target path=/cpu?us=1000",
        connections: "4",
        profiled: false,
        every: 1,
    },
    Load { name: "as fast as one core answers", server: "target", connections: "16", profiled: true, every: 3 },
];
/// The result is valid, or not: nothing here is about that.
const FINE: [i32; 2] = [0, 4];

/// Where the loads run.
pub(super) struct Bench {
    program: PathBuf,
    records: TempDir,
}

/// Goodput of each block by arm.
pub(super) struct Goodput {
    pub(super) per_s: Vec<[f64; 3]>,
    /// Why there was no profile.
    pub(super) unprofiled: Option<String>,
}

/// A process that ends with this value.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Bench {
    pub(super) fn new(program: PathBuf) -> Result<Self> {
        Ok(Self { program, records: tempfile::tempdir().context("a directory for records")? })
    }

    /// A light load over many connections beside many processes.
    pub(super) fn many(&self) -> Result<Value> {
        let sleep = || Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().map(Ending);
        let sleepers: Vec<Ending> = (0..SLEEPERS).map(|_| sleep()).collect::<Result<_, _>>().context("sleep")?;
        let connections = CONNECTIONS.to_string();
        let record = self.run(&["-c", &connections, "-R", "500", "-d", "15s", "--warmup", "1s"])?;
        drop(sleepers);
        Ok(record)
    }

    /// A light load on a server of many threads.
    pub(super) fn threads(&self) -> Result<Value> {
        let threads = THREADS.to_string();
        let mut command = Command::new(&self.program);
        command.args(["target", "--workers", &threads, "--die-with-parent"]).stdin(Stdio::null());
        let mut target = Ending(command.stdout(Stdio::piped()).spawn().context("starting the target")?);
        let mut line = String::new();
        let out = target.0.stdout.take().context("it is piped")?;
        BufReader::new(out).read_line(&mut line)?;
        let said: Value = serde_json::from_str(&line).context("the target's first line")?;
        let url = said["url"].as_str().context("the target names no URL")?;
        let record = self.run(&[url, "-c", "64", "-R", "500", "-d", "8s", "--warmup", "1s"])?;
        let pools = record.pointer("/observed/pools").and_then(Value::as_array).context("no pools")?;
        let seen = pools.iter().filter_map(|pool| pool["workers_max"].as_u64()).sum::<u64>();
        ensure!(seen >= THREADS.into(), "only {seen} of {threads} threads were looked at");
        Ok(record)
    }

    /// A load that keeps the machine busy.
    pub(super) fn busy(&self) -> Result<Value> {
        self.run(&["--serve", "target", "-c", "16", "-d", "8s", "--warmup", "1s"])
    }

    /// Blocks of all arms of each load, in every order equally often, the orders shuffled.
    pub(super) fn blocks(&self, blocks: usize, seed: u64, mut begins: impl FnMut(usize)) -> Result<[Goodput; 2]> {
        let mut goodput = [const { Goodput { per_s: Vec::new(), unprofiled: None } }; LOADS.len()];
        let orders = LOADS.map(|load| orders(blocks.div_ceil(load.every), seed));
        for block in 0..blocks {
            begins(block);
            for ((load, orders), goodput) in LOADS.iter().zip(&orders).zip(&mut goodput) {
                if block % load.every == 0 {
                    self.block(load, orders[block / load.every], goodput).with_context(|| load.name)?;
                }
            }
        }
        Ok(goodput)
    }

    /// All arms of one load in that order.
    fn block(&self, load: &Load, order: [usize; 3], goodput: &mut Goodput) -> Result<()> {
        let mut per_s = [f64::NAN; 3];
        for arm in order.into_iter().filter(|arm| *arm != PROFILED || load.profiled) {
            let its = ["--serve", load.server, "-c", load.connections, "-d", "3s", "--warmup", "500ms"];
            let record = self.run(&[&its[..], ARMS[arm]].concat())?;
            per_s[arm] = super::number(&record, "/goodput_per_s/value")?;
            let why = record.get("profile_unavailable").and_then(Value::as_str);
            goodput.unprofiled = goodput.unprofiled.take().or_else(|| why.map(str::to_owned));
        }
        goodput.per_s.push(per_s);
        Ok(())
    }

    /// The record of a run.
    fn run(&self, arguments: &[&str]) -> Result<Value> {
        let directory = tempfile::tempdir_in(self.records.path())?;
        let output = self.command(arguments, directory.path()).output().context("starting plimsoll")?;
        let is_fine = output.status.code().is_some_and(|code| FINE.contains(&code));
        if !is_fine {
            let stderr = String::from_utf8_lossy(&output.stderr);
            bail!("plimsoll run {} ended with {}: {}", arguments.join(" "), output.status, stderr.trim());
        }
        serde_json::from_slice(&output.stdout).context("plimsoll printed no JSON")
    }

    fn command(&self, arguments: &[&str], directory: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("run").args(arguments).args(["--json", "--quiet", "--output"]).arg(directory.join("record"));
        command.stdin(Stdio::null());
        command
    }
}

/// The order of the arms in each block.
fn orders(blocks: usize, seed: u64) -> Vec<[usize; 3]> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut orders: Vec<_> = ORDERS.into_iter().cycle().take(blocks).collect();
    for last in (1..orders.len()).rev() {
        let other = (rng.next_u64() % (last as u64 + 1)) as usize;
        orders.swap(last, other);
    }
    orders
}

#[cfg(test)]
mod tests {
    use super::{ORDERS, orders};

    #[test]
    fn every_order_comes_equally_often_and_not_in_turn() {
        let shuffled = orders(12, 1);
        for order in ORDERS {
            assert_eq!(shuffled.iter().filter(|other| **other == order).count(), 2);
        }
        assert_ne!(shuffled[..6], ORDERS);
        assert_ne!(shuffled, orders(12, 2));
    }
}
