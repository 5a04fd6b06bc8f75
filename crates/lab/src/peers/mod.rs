//! `cargo xtask peers`: plimsoll beside wrk and other load generators, same servers, interleaved rounds.
//!
//! The server is pinned to core 0 and the client to core 1 with one thread. Only ratios taken from one interleaved
//! run are claims: on a shared machine the same run varies by 5 to 15 % between repetitions.

mod client;
mod figures;
pub mod floor;
mod goals;
mod isolation;
mod lab;
mod latency;
mod pacing;
mod page;
mod readers;
pub mod scale;
mod server;
mod tables;
mod throughput;
mod tools;

use std::path::{Path, PathBuf};

use crate::install::Origin;
use crate::progress::Progress;
use crate::raise_file_limit;
use anyhow::{Context, Result, bail};
use lab::Lab;
use xtask::{packages, workspace};

/// Tools that come through cargo. One that cannot be had is left out of the comparison, and the page says so.
const TOOLS: [&str; 2] = ["oha", "rewrk"];
/// What starting and ending a client takes beside its window, in seconds: for the forecast only.
const RUN_OVERHEAD_S: f64 = 0.3;
/// What `--only` calls the latencies under a stall and the evenness of open loops.
const STALL: &str = "stall";
const PACING: &str = "pacing";

/// plimsoll beside wrk, h2load, ab, httperf, hey, siege, oha and rewrk: same server, interleaved rounds; about 15 minutes
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Rounds of each case [default: 5, with --quick 1]
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Length of a measured window of the throughput cases in seconds [default: 3, with --quick 1]
    #[arg(long, value_name = "S")]
    seconds: Option<u32>,
    /// Connections of the ordinary cases
    #[arg(long, value_name = "C", default_value_t = 64)]
    connections: u32,
    /// One case: keep-alive, many, nginx, close, tls, stall or pacing
    #[arg(long, value_name = "CASE", conflicts_with = "write_docs")]
    only: Option<String>,
    /// One short round (3 minutes): does everything still run?
    #[arg(long)]
    quick: bool,
    /// Directory for the raw output of every tool, and rounds.csv with the figures of every round
    #[arg(long, value_name = "DIR")]
    raw: Option<PathBuf>,
    /// Write docs/lab/peers.md as well
    #[arg(long)]
    write_docs: bool,
}

/// How everything is measured.
struct Settings {
    rounds: usize,
    /// Length of a measured window in the throughput cases, in seconds.
    seconds: u32,
    /// Length of the latency and pacing runs, in seconds.
    long_seconds: u32,
    connections: u32,
    /// The one case to run; none: all.
    only: Option<String>,
    raw: Option<PathBuf>,
    write_docs: bool,
}

/// What was measured.
#[derive(Default)]
struct Results {
    cases: Vec<throughput::Case>,
    stall: Vec<latency::Said>,
    pacing: Vec<pacing::Pacing>,
}

impl Settings {
    fn new(options: Options) -> Result<Self> {
        let Options { rounds, seconds, connections, only, quick, raw, write_docs } = options;
        let settings = Self {
            rounds: rounds.unwrap_or(if quick { 1 } else { 5 }),
            seconds: seconds.unwrap_or(if quick { 1 } else { 3 }),
            long_seconds: if quick { 4 } else { 8 },
            connections,
            only,
            raw,
            write_docs,
        };
        if settings.rounds == 0 || settings.seconds == 0 || settings.connections == 0 {
            bail!("rounds, seconds and connections must be at least 1");
        }
        if let Some(only) = &settings.only {
            let cases: Vec<&str> = throughput::PLANS.iter().map(|plan| plan.key).chain([STALL, PACING]).collect();
            if !cases.contains(&only.as_str()) {
                bail!("--only: there is no case `{only}`; the cases are {}", cases.join(", "));
            }
        }
        Ok(settings)
    }

    fn wants(&self, case: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == case)
    }
}

/// Builds, isolates, measures and prints the page.
pub fn run(options: Options) -> Result<()> {
    let settings = Settings::new(options)?;
    let Some(isolation) = isolation::of_this_process() else {
        return prepare_and_isolate();
    };
    raise_file_limit()?;
    let lab = Lab::open(settings.raw.as_deref(), isolation)?;
    let results = measure(&lab, &settings)?;
    std::fs::write(lab.file("rounds.csv"), tables::rounds(&results.cases)).context("writing rounds.csv")?;
    let page = page::render(&lab, &settings, &results);
    print!("{page}");
    if settings.write_docs {
        workspace::write("docs/lab/peers.md", &page)?;
    }
    Ok(())
}

fn measure(lab: &Lab, settings: &Settings) -> Result<Results> {
    let long_seconds = settings.long_seconds;
    let plans = throughput::PLANS.iter().filter(|plan| settings.wants(plan.key));
    let mut expected_s: f64 = plans.clone().map(|plan| plan.expected_s(settings)).sum();
    if settings.wants(STALL) {
        expected_s += latency::expected_s(long_seconds);
    }
    if settings.wants(PACING) {
        expected_s += pacing::expected_s(long_seconds);
    }
    let mut progress = Progress::new(expected_s);
    let mut results = Results::default();
    for plan in plans {
        results.cases.push(plan.measure(lab, settings, &mut progress)?);
    }
    if settings.wants(STALL) {
        results.stall = latency::measure(lab, long_seconds, &mut progress)?;
    }
    if settings.wants(PACING) {
        results.pacing = pacing::measure(lab, long_seconds, &mut progress)?;
    }
    Ok(results)
}

/// Everything that needs the network, then this task again, isolated.
fn prepare_and_isolate() -> Result<()> {
    packages::ensure(packages::FOR_PEERS)?;
    for name in TOOLS {
        if let Err(error) = Origin::Crates(name).install(Path::new(".")) {
            eprintln!("going on without {name}: {error:#}");
        }
    }
    isolation::restart_isolated()
}

#[cfg(test)]
mod tests {
    use super::{Options, Settings};
    use crate::testing::parsed;

    fn read(line: &str) -> Result<Settings, String> {
        let options = parsed::<Options>(line).map_err(|error| error.to_string())?;
        Settings::new(options).map_err(|error| error.to_string())
    }

    #[test]
    fn one_case_can_be_chosen() {
        let all = read("--quick").unwrap();
        assert!(all.wants("tls") && all.wants("stall"));
        let tls = read("--only tls").unwrap();
        assert!(tls.wants("tls") && !tls.wants("stall"));
        let error = read("--only tsl").err().unwrap();
        assert!(error.contains("`tsl`") && error.contains("keep-alive, many, nginx, close, tls, stall"), "{error}");
    }

    #[test]
    fn a_page_is_never_written_from_a_part() {
        assert!(read("--only tls --write-docs").err().unwrap().contains("--only"));
        assert!(read("--write-docs").is_ok());
        assert!(read("--rounds 0").is_err());
    }
}
