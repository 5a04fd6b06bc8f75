//! A copy of a bare Debian tree, and commands that run in it as on a machine of its own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use tempfile::TempDir;

use xtask::{debian, workspace};

/// `/proc` and `/sys` are there as on every machine, in a mount namespace that ends with the command.
const INSIDE: &str = "mount --rbind /proc \"$0/proc\" && mount --rbind /sys \"$0/sys\" && exec chroot \"$0\" \"$@\"";

/// A copy that is removed with this.
pub(super) struct Tree {
    folder: TempDir,
}

impl Tree {
    /// A copy of the tree of a release, which is made the first time.
    pub(super) fn new(suite: &str) -> Result<Self> {
        let bare = debian::tree(suite, &[])?;
        let folder = workspace::target().join("first-verdict");
        fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        let tree = Self { folder: tempfile::tempdir_in(&folder).context("a folder for the tree")? };
        workspace::run(Command::new("cp").arg("--archive").args([bare, tree.root()]))?;
        Ok(tree)
    }

    pub(super) fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// A program of the tree, in it.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", INSIDE]).arg(self.root()).arg(program);
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", "/root");
        command
    }
}
