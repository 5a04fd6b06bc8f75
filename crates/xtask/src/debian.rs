//! Bare Debian trees of debootstrap(8): what a machine has on which nothing was installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::packages::{self, Tool};
use crate::workspace;

/// Release of the trees, unless another one is asked for: that of the packages which the tests install.
pub const SUITE: &str = "bookworm";

const TOOLS: &[Tool] = &[Tool::new("debootstrap", &["debootstrap"])];

/// The tree of a release with some more packages, which is made the first time. Nobody may write into it: it is copied, or
/// used with what it lacks mounted above it.
///
/// # Errors
/// If the caller is not root, or debootstrap fails.
pub fn tree(suite: &str, packages: &[&str]) -> Result<PathBuf> {
    ensure!(rustix::process::geteuid().is_root(), "debootstrap needs root");
    let folder = workspace::target().join("debian");
    let tree = folder.join([&[suite], packages].concat().join("+"));
    if !tree.is_dir() {
        packages::ensure(TOOLS)?;
        debootstrap(&folder, &tree, suite, packages)?;
    }
    Ok(tree)
}

/// The tree has its name only when it is complete: a half of one would be taken for the whole by the next caller.
fn debootstrap(folder: &Path, tree: &Path, suite: &str, packages: &[&str]) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let work = folder.join(format!("debootstrap-{}", std::process::id()));
    println!("     debootstrap {suite} {}", packages.join(" "));
    let mut debootstrap = Command::new("debootstrap");
    debootstrap.arg("--variant=minbase");
    if !packages.is_empty() {
        debootstrap.arg(format!("--include={}", packages.join(",")));
    }
    let made = workspace::run(debootstrap.arg(suite).arg(&work).stdin(Stdio::null()).stdout(Stdio::null()))
        .and_then(|()| fs::rename(&work, tree).with_context(|| format!("making {}", tree.display())));
    if made.is_err() {
        // What is wrong has been said already.
        let _ = fs::remove_dir_all(&work);
    }
    made
}
