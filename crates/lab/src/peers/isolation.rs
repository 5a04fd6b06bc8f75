//! A copy of this task, as a release build, in a network namespace of its own.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use xtask::workspace;

/// Set in the copy of this process that runs inside the network namespace, or that could not have one.
const ISOLATION: &str = "PLIMSOLL_PEERS_ISOLATION";

/// Which network this process runs in, in words; none before [`restart_isolated`].
pub(super) fn of_this_process() -> Option<String> {
    std::env::var(ISOLATION).ok()
}

/// Builds, and starts this task again with the same arguments.
///
/// Container tooling puts connection tracking on the host's loopback, which costs about 0.6 µs per request; a fresh
/// network namespace has none.
pub(super) fn restart_isolated() -> Result<()> {
    workspace::run(&mut workspace::cargo(&["build", "--quiet", "--release", "-p", "plimsoll", "-p", "lab"]))?;
    let isolated = rustix::process::geteuid().is_root() && can_unshare();
    let mut command = if isolated {
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", "ip link set lo up && exec \"$0\" \"$@\""]);
        command.arg(workspace::release_binary("lab"));
        command.env(ISOLATION, "a private network namespace");
        command
    } else {
        let mut command = Command::new(workspace::release_binary("lab"));
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
