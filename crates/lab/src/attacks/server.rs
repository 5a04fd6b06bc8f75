//! A built-in server of any version of plimsoll.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::child::{Killed, announced};
use crate::usage;

/// Files that it may have open: half as many as an attack opens, so that a flood that is not held off fills it.
pub(super) const FILES_MAX: u64 = 10_000;

/// Ends with this value.
pub(super) struct Server {
    child: Killed,
    pub(super) address: SocketAddr,
}

impl Server {
    /// Starts it on a free port of loopback.
    pub(super) fn start(program: &Path, options: &[&str]) -> Result<Self> {
        let mut command = Command::new("prlimit");
        command.arg(format!("--nofile={FILES_MAX}")).arg(program);
        command.args(["target", "--listen", "127.0.0.1:0", "--die-with-parent"]).args(options);
        let (child, said) = announced(command.stderr(Stdio::null())).with_context(|| program.display().to_string())?;
        let address = said["listening"].as_str().and_then(|address| address.parse().ok());
        Ok(Self { child, address: address.with_context(|| format!("{}: {said}", program.display()))? })
    }

    /// Most memory that it had.
    pub(super) fn memory_bytes(&self) -> u64 {
        usage::sizes(self.child.id()).ok().and_then(|sizes| sizes.vmhwm).unwrap_or(0) * 1024
    }
}
