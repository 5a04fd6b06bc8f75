//! `cargo xtask reproduce`: the release binary, built twice from the last commit, is the same to the byte.
//!
//! The two builds differ in what two machines differ in: the folder of the sources and that of cargo's home.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::platform::Platform;
use crate::release;
use crate::snapshot::{self, Snapshot};
use xtask::workspace::{self, printed};

/// Builds twice, prints both hashes, and keeps the binary as `target/reproduce/plimsoll` if they are the same.
pub(crate) fn run() -> Result<()> {
    let folder = std::path::absolute(workspace::target().join("reproduce")).context("the target folder")?;
    snapshot::clear(&folder)?;
    snapshot::tell_changes()?;
    Platform::own()?.prepare()?;
    let home = release::cargo_home()?;
    let first = build(&folder.join("first"), &home)?;
    let elsewhere = folder.join("second");
    let other_home = elsewhere.join("home");
    fs::create_dir_all(&elsewhere).with_context(|| format!("making {}", elsewhere.display()))?;
    symlink(&home, &other_home).with_context(|| format!("linking {}", other_home.display()))?;
    let second = build(&elsewhere.join("deeper").join("sources"), &other_home)?;
    let hashes = printed(Command::new("sha256sum").args([&first, &second]))?;
    println!("{hashes}");
    if !are_same(&hashes) {
        bail!("two builds of one commit differ; `diffoscope` tells in what");
    }
    let kept = folder.join("plimsoll");
    fs::rename(&first, &kept).with_context(|| format!("writing {}", kept.display()))?;
    for build in ["first", "second"] {
        snapshot::clear(&folder.join(build))?;
    }
    println!("the same; kept: {}", kept.display());
    Ok(())
}

/// The release binary of the last commit, built in `folder`.
fn build(folder: &Path, home: &Path) -> Result<PathBuf> {
    let copy = Snapshot::at(folder)?;
    release::build(&copy, Platform::own()?, home, &copy.root.join("target"))
}

/// True if `sha256sum` lists two files with one hash.
fn are_same(hashes: &str) -> bool {
    let hashes: Vec<&str> = hashes.lines().filter_map(|line| line.split_whitespace().next()).collect();
    matches!(hashes.as_slice(), [first, second] if first == second)
}

#[cfg(test)]
mod tests {
    use super::are_same;

    #[test]
    fn two_equal_hashes_are_the_same_and_one_is_not() {
        assert!(are_same("0a1b  /a/plimsoll\n0a1b  /b/plimsoll"));
        assert!(!are_same("0a1b  /a/plimsoll\n0a1c  /b/plimsoll"));
        assert!(!are_same("0a1b  /a/plimsoll"));
        assert!(!are_same(""));
    }
}
