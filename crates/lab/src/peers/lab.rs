//! The bench: where binaries and raw outputs are, which core is whose, and what else the machine did.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use xtask::packages;

/// Core of the server under test.
pub(super) const SERVER_CORE: &str = "0";
/// Core of the load generator.
pub(super) const CLIENT_CORE: &str = "1";

/// Users that siege may have, each a thread.
const SIEGE_USERS_MAX: u32 = 1024;

/// Paths and facts every measurement shares.
pub(super) struct Lab {
    pub(super) nginx: PathBuf,
    pub(super) time: PathBuf,
    /// Raw outputs, server configuration and logs.
    pub(super) folder: PathBuf,
    /// Which network everything ran in, in words.
    pub(super) isolation: String,
    keep: bool,
}

impl Lab {
    /// Opens `raw` as the folder for raw output, or a temporary one that goes away with the lab.
    pub(super) fn open(raw: Option<&Path>, isolation: String) -> Result<Self> {
        if std::thread::available_parallelism()?.get() < 2 {
            bail!("two cores are needed: one for the server, one for the client");
        }
        let temporary = std::env::temp_dir().join(format!("plimsoll-peers-{}", std::process::id()));
        let folder = raw.map_or(temporary, Path::to_path_buf);
        std::fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
        let folder = folder.canonicalize()?;
        for (name, connection) in [("siege-keep.conf", "keep-alive"), ("siege-close.conf", "close")] {
            std::fs::write(folder.join(name), siege_config(connection))?;
        }
        let found = |name: &str| packages::find(name).with_context(|| format!("{name} is not installed"));
        Ok(Self { nginx: found("nginx")?, time: found("time")?, folder, isolation, keep: raw.is_some() })
    }

    /// A file of the raw folder.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A command bound to one core, which ends when this process does, however that ends.
    pub(super) fn pinned(core: &str, program: &Path) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "taskset", "-c", core]).arg(program);
        command
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if !self.keep {
            // Nothing to be done about a folder that will not go; it is in the temporary directory.
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// siege reads how to use connections from a file; without one it writes to the home directory.
fn siege_config(connection: &str) -> String {
    format!(
        "protocol = HTTP/1.1\nconnection = {connection}\nlimit = {SIEGE_USERS_MAX}\nlogging = false\nverbose = false\n"
    )
}
