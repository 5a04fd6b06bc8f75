//! A built-in server of any version of plimsoll.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use procfs::process::Process;
use serde_json::Value;

/// Files that it may have open: half as many as an attack opens, so that a flood that is not held off fills it.
pub(super) const FILES_MAX: u64 = 10_000;

/// Ended when it is dropped.
pub(super) struct Server {
    child: Child,
    pub(super) address: SocketAddr,
}

impl Server {
    /// Starts it on a free port of loopback.
    pub(super) fn start(program: &Path, options: &[&str]) -> Result<Self> {
        let mut command = Command::new("prlimit");
        command.arg(format!("--nofile={FILES_MAX}")).arg(program);
        command.args(["target", "--listen", "127.0.0.1:0", "--die-with-parent"]).args(options);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        let mut said = String::new();
        let stdout = child.stdout.take();
        stdout.map(|stdout| BufReader::new(stdout).read_line(&mut said)).transpose()?;
        let address =
            serde_json::from_str::<Value>(&said).ok().and_then(|said| said["listening"].as_str()?.parse().ok());
        match address {
            Some(address) => Ok(Self { child, address }),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                anyhow::bail!("{} does not say where it listens: {said:?}", program.display())
            }
        }
    }

    /// Most memory that it had.
    pub(super) fn memory_bytes(&self) -> u64 {
        let status = Process::new(self.child.id().cast_signed()).and_then(|process| process.status());
        status.ok().and_then(|status| status.vmhwm).unwrap_or(0) * 1024
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
