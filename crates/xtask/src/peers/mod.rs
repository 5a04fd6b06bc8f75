//! `cargo xtask peers`: plimsoll beside wrk and other load generators, same servers, interleaved rounds.
//!
//! The server is pinned to core 0 and the client to core 1 with one thread. Only ratios taken from one interleaved
//! run are claims: on a shared machine the same run varies by 5 to 15 % between repetitions.

mod client;
mod figures;
pub(crate) mod floor;
mod goals;
mod install;
mod isolation;
mod lab;
mod latency;
mod pacing;
mod page;
pub(crate) mod progress;
mod readers;
pub(crate) mod scale;
mod server;
mod tables;
mod throughput;
mod tools;

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::options::Options;
use crate::{packages, workspace};
use lab::Lab;
use progress::Progress;

/// What starting and ending a client takes beside its window, in seconds: for the forecast only.
const RUN_OVERHEAD_S: f64 = 0.3;
/// What `--only` calls the latencies under a stall and the evenness of open loops.
const STALL: &str = "stall";
const PACING: &str = "pacing";

/// What was asked for on the command line.
pub(crate) struct Settings {
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
    fn read(options: &mut Options) -> Result<Self> {
        let quick = options.flag("--quick");
        let settings = Self {
            rounds: options.value("--rounds")?.unwrap_or(if quick { 1 } else { 5 }),
            seconds: options.value("--seconds")?.unwrap_or(if quick { 1 } else { 3 }),
            long_seconds: if quick { 4 } else { 8 },
            connections: options.value("--connections")?.unwrap_or(64),
            only: options.value("--only")?,
            raw: options.value("--raw")?,
            write_docs: options.flag("--write-docs"),
        };
        options.finish()?;
        if settings.rounds == 0 || settings.seconds == 0 || settings.connections == 0 {
            bail!("rounds, seconds and connections must be at least 1");
        }
        if let Some(only) = &settings.only {
            let cases: Vec<&str> = throughput::PLANS.iter().map(|plan| plan.key).chain([STALL, PACING]).collect();
            if !cases.contains(&only.as_str()) {
                bail!("--only: there is no case `{only}`; the cases are {}", cases.join(", "));
            }
            if settings.write_docs {
                bail!("--write-docs writes a page with every case: leave --only out");
            }
        }
        Ok(settings)
    }

    fn wants(&self, case: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == case)
    }
}

/// Builds, isolates, measures and prints the page.
pub(crate) fn run(mut options: Options) -> Result<()> {
    let settings = Settings::read(&mut options)?;
    let Some(isolation) = isolation::of_this_process() else {
        return prepare_and_isolate();
    };
    lab::raise_file_limit()?;
    let lab = Lab::open(settings.raw.as_deref(), isolation)?;
    let results = measure(&lab, &settings)?;
    let page = page::render(&lab, &settings, &results);
    print!("{page}");
    if settings.write_docs {
        workspace::write("docs/peers.md", &page)?;
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
    install::ensure();
    isolation::restart_isolated()
}

#[cfg(test)]
mod tests {
    use super::Settings;
    use crate::options::Options;

    fn read(line: &str) -> Result<Settings, String> {
        let mut options = Options::new(line.split_whitespace().map(str::to_owned));
        Settings::read(&mut options).map_err(|error| error.to_string())
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
