//! `cargo xtask scale`: many open connections, and memory over time, of plimsoll against its built-in target.

use std::fmt::Display;
use std::fs::File;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Resource, Rlimit};
use serde_json::Value;

use super::client::run as run_client;
use super::isolation;
use super::lab::{CLIENT_CORE, Lab};
use super::server::Server;
use super::tools::{Invocation, Tool, plimsoll};
use crate::child::Killed;
use crate::markdown::{Table, line};
use crate::record::number;
use crate::usage;
use xtask::packages;

/// Loads whose difference gives the memory of a connection.
const CONNECTIONS: [u32; 2] = [1_000, 10_000];
/// Open files each process may have: what that many connections need to take, and no more.
const OPEN_FILES: u64 = 20_000;
/// Length of the loads with many connections, in seconds.
const SECONDS: u32 = 8;
/// From one look at the server's count of open connections to the next.
const LOOK: Duration = Duration::from_millis(200);
/// Connections of the long run.
const LONG_CONNECTIONS: u32 = 64;
/// From one sample of memory to the next.
const SAMPLE: Duration = Duration::from_secs(5);
const SAMPLES_PER_MINUTE: usize = 12;
/// The second minute is held against the last.
const MINUTES_MIN: i64 = 3;
/// How much longer the long run is than what is judged of it: it ends between two samples.
const TAIL_S: u32 = 7;
/// The long run may take this much longer than it should.
const GRACE: Duration = Duration::from_secs(60);
/// How much the last minute's memory may be above the second's.
const GROWTH_MAX: f64 = 1.05;

/// 10,000 connections held open, then memory over time, against the built-in server. Fails when a connection is missing or
/// memory grows
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Options {
    /// Length of the run whose memory must not grow; the second minute is held against the last
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(MINUTES_MIN..))]
    minutes: u32,
    /// One part alone
    #[arg(long)]
    only: Option<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    Connections,
    Memory,
}

/// Checks both, and fails with the figure that is not as it should be.
pub fn run(Options { minutes, only }: Options) -> Result<()> {
    let Some(isolation) = isolation::of_this_process() else {
        packages::ensure(packages::FOR_PEERS)?;
        return isolation::restart_isolated();
    };
    limit_open_files()?;
    let lab = Lab::open(None, isolation)?;
    if only != Some(Part::Memory) {
        many_connections(&lab)?;
    }
    if only != Some(Part::Connections) {
        memory_over_time(&lab, minutes)?;
    }
    Ok(())
}

fn limit_open_files() -> Result<()> {
    let maximum = rustix::process::getrlimit(Resource::Nofile).maximum;
    ensure!(
        maximum.is_none_or(|maximum| maximum >= OPEN_FILES),
        "{OPEN_FILES} open files are needed, {} are allowed: raise `ulimit -Hn`",
        maximum.unwrap_or_default(),
    );
    let limit = Rlimit { current: Some(OPEN_FILES), maximum: Some(OPEN_FILES) };
    rustix::process::setrlimit(Resource::Nofile, limit).context("setting the limit of open files")
}

/// What came of one load.
struct Held {
    connections: u32,
    /// Open when the clock started, as plimsoll says.
    established: u64,
    /// Open at the same time, as the server says.
    open_at_server: u64,
    /// Requests that failed, connections opened again included.
    errors: u64,
    per_s: f64,
    client_kib: u64,
    server_kib: u64,
}

fn many_connections(lab: &Lab) -> Result<()> {
    println!("Connections held open, at most {OPEN_FILES} open files a process, {}:\n", lab.isolation);
    let columns =
        "connections | open, client | open, server | errors | requests/s | client peak, KiB | server peak, KiB";
    print!("{}", Table::new(columns));
    let mut held = Vec::new();
    for connections in CONNECTIONS {
        eprintln!("{connections} connections: {SECONDS} s");
        let load = hold(lab, connections)?;
        let Held { established, open_at_server, errors, client_kib, server_kib, .. } = &load;
        let per_s = format!("{:.0}", load.per_s);
        let cells: [&dyn Display; 7] =
            [&connections, established, open_at_server, errors, &per_s, client_kib, server_kib];
        println!("{}", line(cells));
        check(&load)?;
        held.push(load);
    }
    let each = |kib: fn(&Held) -> u64| {
        let grown_bytes = (kib(&held[1]) as f64 - kib(&held[0]) as f64) * 1024.0;
        grown_bytes / f64::from(held[1].connections - held[0].connections)
    };
    let (client, server) = (each(|held| held.client_kib), each(|held| held.server_kib));
    println!("\nPer connection: client {client:.0} bytes, server {server:.0} bytes.\n");
    Ok(())
}

/// A closed loop over that many connections, each of which is used all the time.
fn hold(lab: &Lab, connections: u32) -> Result<Held> {
    let server = Server::target(&[], &lab.file(&format!("scale-{connections}-target.log")))?;
    let invocation = plimsoll(&format!("{}bytes/64 -c {connections}", server.url), SECONDS);
    let ended = AtomicBool::new(false);
    let (finished, open_at_server) = thread::scope(|scope| {
        let watcher = scope.spawn(|| most_open(&server, &ended));
        let label = format!("scale-{connections}");
        let finished = run_client(lab, Tool::Plimsoll, &label, &invocation, SECONDS);
        ended.store(true, Ordering::Relaxed);
        (finished, watcher.join())
    });
    let finished = finished?;
    let open_at_server = open_at_server.map_err(|_| anyhow::Error::msg("the watcher of the server panicked"))??;
    let record: Value = serde_json::from_str(&finished.stdout).context("plimsoll printed no JSON object")?;
    let number = |path: &str| number(&record, path);
    Ok(Held {
        connections,
        established: number("/connections/established")? as u64,
        open_at_server,
        errors: number("/connections/reconnects")? as u64 + failures(&record)?,
        per_s: number("/throughput_per_s")?,
        client_kib: finished.cost.peak_kib,
        server_kib: server.peak_kib()?,
    })
}

/// Most connections that the server has seen open at the same time.
fn most_open(server: &Server, ended: &AtomicBool) -> Result<u64> {
    let mut most = 0;
    while !ended.load(Ordering::Relaxed) {
        most = most.max(server.open_connections()?);
        thread::sleep(LOOK);
    }
    Ok(most)
}

/// All failed requests of a record.
fn failures(record: &Value) -> Result<u64> {
    let failures = record.pointer("/requests/failures").and_then(Value::as_object).context("no /requests/failures")?;
    Ok(failures.values().filter_map(Value::as_u64).sum())
}

fn check(held: &Held) -> Result<()> {
    let Held { connections, established, open_at_server, errors, .. } = *held;
    let asked = u64::from(connections);
    ensure!(established == asked, "plimsoll had {established} connections open, not {connections}");
    ensure!(open_at_server == asked, "the server had {open_at_server} connections open, not {connections}");
    ensure!(errors == 0, "{errors} requests failed at {connections} connections");
    Ok(())
}

/// One long run, whose memory must not grow.
fn memory_over_time(lab: &Lab, minutes: u32) -> Result<()> {
    let server = Server::target(&[], &lab.file("memory-target.log"))?;
    let seconds = minutes * 60 + TAIL_S;
    let invocation = plimsoll(&format!("{}bytes/64 -c {LONG_CONNECTIONS}", server.url), seconds);
    let output = lab.file("memory.json");
    let mut client = start(lab, &invocation, &output)?;
    let (samples_kib, status) = sample(&mut client, Duration::from_secs(seconds.into()) + GRACE)?;
    ensure!(
        status.code().is_some_and(|code| invocation.accepted.contains(&code)),
        "plimsoll ended with {status} after {} samples",
        samples_kib.len(),
    );
    let record: Value = serde_json::from_str(&std::fs::read_to_string(&output)?).context("plimsoll printed no JSON")?;
    let completed = record.pointer("/requests/completed").and_then(Value::as_u64).context("no /requests/completed")?;
    println!("{LONG_CONNECTIONS} connections for {minutes} minutes, {completed} requests, {}:\n", lab.isolation);
    let maxima = by_minute(&samples_kib);
    let mut table = Table::new("minute | largest resident set, KiB");
    maxima.iter().enumerate().for_each(|(minute, kib)| table.row(&[&(minute + 1), kib]));
    print!("{table}");
    let errors = failures(&record)?;
    ensure!(errors == 0, "{errors} requests failed");
    let growth = growth(&maxima)?;
    ensure!(growth <= GROWTH_MAX, "memory grew: the last minute has {growth:.3} of the second minute's");
    println!("\nLast minute ÷ second minute: {growth:.3}.");
    Ok(())
}

fn start(lab: &Lab, invocation: &Invocation, output: &Path) -> Result<Killed> {
    let program = Tool::Plimsoll.path().context("plimsoll is not built")?;
    let mut command = Lab::pinned(CLIENT_CORE, &program);
    command.args(&invocation.arguments).arg("-o").arg(lab.file("memory.run"));
    command.stdin(Stdio::null()).stdout(File::create(output)?).stderr(File::create(lab.file("memory.err"))?);
    command.spawn().map(Killed).context("cannot start plimsoll")
}

/// Resident set every few seconds until the process ends, in KiB.
fn sample(client: &mut Child, limit: Duration) -> Result<(Vec<u64>, ExitStatus)> {
    let started = Instant::now();
    let mut samples_kib = Vec::new();
    loop {
        let next = SAMPLE * (samples_kib.len() as u32 + 1);
        thread::sleep(next.saturating_sub(started.elapsed()));
        if let Some(status) = client.try_wait()? {
            return Ok((samples_kib, status));
        }
        if started.elapsed() > limit {
            bail!("plimsoll is still running after {} s", limit.as_secs());
        }
        samples_kib.push(usage::sizes(client.id())?.vmrss.context("no VmRSS of plimsoll")?);
        if samples_kib.len().is_multiple_of(SAMPLES_PER_MINUTE) {
            eprintln!("{} min: {} KiB", samples_kib.len() / SAMPLES_PER_MINUTE, samples_kib[samples_kib.len() - 1]);
        }
    }
}

/// Largest sample of each minute; samples after the last full minute are of the end of the run, and left out.
fn by_minute(samples_kib: &[u64]) -> Vec<u64> {
    samples_kib.chunks_exact(SAMPLES_PER_MINUTE).filter_map(|minute| minute.iter().copied().max()).collect()
}

/// Last minute ÷ second minute.
fn growth(maxima_kib: &[u64]) -> Result<f64> {
    match maxima_kib {
        [_, second, .., last] => Ok(*last as f64 / *second as f64),
        _ => bail!("only {} full minutes were sampled", maxima_kib.len()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Held, Options, by_minute, check, failures, growth};
    use crate::testing::parsed;

    fn held(established: u64, open_at_server: u64, errors: u64) -> Held {
        let (per_s, client_kib, server_kib) = (1.0, 1, 1);
        Held { connections: 1_000, established, open_at_server, errors, per_s, client_kib, server_kib }
    }

    #[test]
    fn both_sides_have_to_count_every_connection() {
        assert!(check(&held(1_000, 1_000, 0)).is_ok());
        for (held, word) in
            [(held(999, 1_000, 0), "plimsoll"), (held(1_000, 999, 0), "server"), (held(1_000, 1_000, 1), "failed")]
        {
            assert!(check(&held).unwrap_err().to_string().contains(word));
        }
    }

    #[test]
    fn all_kinds_of_failures_count() {
        let record = json!({ "requests": { "failures": { "connect.refused": 2, "head.timeout": 3 } } });
        assert_eq!(failures(&record).unwrap(), 5);
        assert_eq!(failures(&json!({ "requests": { "failures": {} } })).unwrap(), 0);
        assert!(failures(&json!({})).is_err());
    }

    #[test]
    fn the_last_full_minute_is_held_against_the_second() {
        let mut samples = vec![9_000; 12];
        samples.extend([100; 12]);
        samples.extend([100; 11]);
        samples.push(104);
        samples.extend([5_000; 3]);
        let maxima = by_minute(&samples);
        assert_eq!(maxima, [9_000, 100, 104]);
        assert!((growth(&maxima).unwrap() - 1.04).abs() < 1e-9);
        assert!(growth(&maxima[..2]).is_err());
    }

    #[test]
    fn settings_that_cannot_work_are_refused() {
        let read = |line: &str| parsed::<Options>(line).map_err(|error| error.to_string());
        assert!(read("--minutes 2").unwrap_err().contains("2 is not in 3.."));
        assert!(read("--only nothing").unwrap_err().contains("connections, memory"));
        assert_eq!(read("--only memory").unwrap().minutes, 10);
    }
}
