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
/// As fast as one core answers, from another: not the pool of workers that is measured where nothing is named.
const FLAT_OUT: [&str; 8] = ["--serve", "target", "-c", "16", "-d", "3s", "--warmup", "500ms"];
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
    /// Good responses of each second.
    pub(super) seconds: Vec<[Vec<f64>; 3]>,
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

    /// Blocks of all three arms, in every order equally often, the orders shuffled.
    pub(super) fn blocks(&self, blocks: usize, seed: u64, mut begins: impl FnMut(usize)) -> Result<Goodput> {
        let mut goodput = Goodput { per_s: Vec::new(), seconds: Vec::new(), unprofiled: None };
        for (block, order) in orders(blocks, seed).into_iter().enumerate() {
            begins(block);
            let (mut per_s, mut seconds) = ([0.0; 3], [const { Vec::new() }; 3]);
            for arm in order {
                let record = self.run(&[&FLAT_OUT[..], ARMS[arm]].concat())?;
                per_s[arm] = super::number(&record, "/goodput_per_s/value")?;
                let each = record["seconds"].as_array().context("the record has no seconds")?;
                seconds[arm] = each.iter().filter_map(|second| second["good"].as_f64()).collect();
                let why = record.get("profile_unavailable").and_then(Value::as_str);
                goodput.unprofiled = goodput.unprofiled.or_else(|| why.map(str::to_owned));
            }
            goodput.per_s.push(per_s);
            goodput.seconds.push(seconds);
        }
        Ok(goodput)
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
