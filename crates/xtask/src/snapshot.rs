//! A clone of the last commit, in a folder of its own: what is released is what is committed.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use xtask::workspace;

/// Sources of the last commit.
pub(crate) struct Snapshot {
    /// Root of the workspace, without links: cargo names files by it.
    pub(crate) root: PathBuf,
    /// The commit's hash.
    pub(crate) commit: String,
    /// Time of the commit in seconds since 1970, as `SOURCE_DATE_EPOCH` has it.
    pub(crate) epoch_s: u64,
    /// The same time as text (RFC 3339).
    pub(crate) time: String,
}

impl Snapshot {
    /// Clones into `folder`, whatever is there.
    pub(crate) fn at(folder: &Path) -> Result<Self> {
        clear(folder)?;
        let commit = git(&["rev-parse", "HEAD"])?;
        let source = workspace::root();
        workspace::run(Command::new("git").args(["clone", "--quiet", "--no-checkout"]).arg(&source).arg(folder))?;
        let checkout = ["checkout", "--quiet", "--detach", commit.as_str()];
        workspace::run(Command::new("git").arg("-C").arg(folder).args(checkout))?;
        let root = fs::canonicalize(folder).with_context(|| format!("opening {}", folder.display()))?;
        let of_commit = |format: &str| git(&["log", "-1", &format!("--format={format}"), &commit]);
        let epoch_s = of_commit("%ct")?.parse().context("the time of the commit")?;
        let time = of_commit("%cI")?;
        Ok(Self { root, commit, epoch_s, time })
    }
}

/// Says that there are changes that a snapshot does not have.
pub(crate) fn tell_changes() -> Result<()> {
    if !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty() {
        println!("     the last commit is taken: changes since then are left out");
    }
    Ok(())
}

/// Removes a folder that need not be there.
pub(crate) fn clear(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.with_context(|| format!("removing {}", folder.display())),
    }
}

fn git(arguments: &[&str]) -> Result<String> {
    workspace::printed(Command::new("git").args(arguments).current_dir(workspace::root()))
}
