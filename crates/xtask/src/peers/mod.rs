//! `cargo xtask peers`: plimsoll beside wrk against the same servers, in interleaved rounds.
//!
//! The server is pinned to core 0 and the client to core 1 with one thread. Only ratios taken from one interleaved
//! run are claims: on a shared machine the same run varies by 5 to 15 % between repetitions.

mod client;
mod figures;
pub(crate) mod floor;
mod lab;
mod latency;
mod pacing;
mod page;
mod server;
mod throughput;

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::options::Options;
use crate::{packages, workspace};
use lab::Lab;

/// Set in the copy of this process that runs inside the network namespace, or that could not have one.
const ISOLATION: &str = "PLIMSOLL_PEERS_ISOLATION";

/// What was asked for on the command line.
pub(crate) struct Settings {
    rounds: usize,
    /// Length of a measured window in the throughput cases, in seconds.
    seconds: u32,
    /// Length of the latency and pacing runs, in seconds.
    long_seconds: u32,
    connections: u32,
    raw: Option<PathBuf>,
    write_docs: bool,
}

impl Settings {
    fn read(options: &mut Options) -> Result<Self> {
        let quick = options.flag("--quick");
        let settings = Self {
            rounds: options.value("--rounds")?.unwrap_or(if quick { 1 } else { 5 }),
            seconds: options.value("--seconds")?.unwrap_or(if quick { 1 } else { 4 }),
            long_seconds: if quick { 4 } else { 10 },
            connections: options.value("--connections")?.unwrap_or(64),
            raw: options.value("--raw")?,
            write_docs: options.flag("--write-docs"),
        };
        options.finish()?;
        if settings.rounds == 0 || settings.seconds == 0 || settings.connections == 0 {
            bail!("rounds, seconds and connections must be at least 1");
        }
        Ok(settings)
    }
}

/// Builds, isolates, measures and prints the page.
pub(crate) fn run(mut options: Options) -> Result<()> {
    let settings = Settings::read(&mut options)?;
    let Some(isolation) = std::env::var(ISOLATION).ok() else {
        return prepare_and_isolate();
    };
    lab::raise_file_limit()?;
    let lab = Lab::open(settings.raw.as_deref(), isolation)?;
    let cases = throughput::measure(&lab, &settings)?;
    let stall = latency::measure(&lab, settings.long_seconds)?;
    let pacing = pacing::measure(&lab, settings.long_seconds)?;
    let page = page::render(&lab, &settings, &cases, &stall, &pacing);
    print!("{page}");
    if settings.write_docs {
        let path = workspace::root().join("docs/peers.md");
        std::fs::write(&path, &page).context("writing docs/peers.md")?;
        eprintln!("written: docs/peers.md");
    }
    Ok(())
}

/// Everything that needs the network or cargo, then this task again, as a release build, in a namespace of its own.
///
/// Container tooling puts connection tracking on the host's loopback, which costs about 0.6 µs per request; a fresh
/// network namespace has none.
fn prepare_and_isolate() -> Result<()> {
    packages::ensure(packages::FOR_PEERS)?;
    workspace::run(&mut workspace::cargo(&["build", "--quiet", "--release", "-p", "plimsoll", "-p", "xtask"]))?;
    let isolated = rustix::process::geteuid().is_root() && can_unshare();
    let mut command = if isolated {
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", "ip link set lo up && exec \"$0\" \"$@\""]);
        command.arg(workspace::release_binary("xtask"));
        command.env(ISOLATION, "a private network namespace");
        command
    } else {
        let mut command = Command::new(workspace::release_binary("xtask"));
        command.env(ISOLATION, "the host's loopback (no private network namespace: connection tracking may distort)");
        command
    };
    Err(command.args(std::env::args_os().skip(1)).exec()).context("cannot start the isolated copy")
}

fn can_unshare() -> bool {
    let mut probe = Command::new("unshare");
    probe.args(["--net", "ip", "link", "set", "lo", "up"]).stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}
