//! `cargo xtask reproduce`: the release binary, built twice from the last commit, is the same to the byte.
//!
//! The two builds differ in what two machines differ in: the folder of the sources and that of cargo's home. Files below
//! these, and those of the standard library, get names that are the same everywhere.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::snapshot::{self, Snapshot};
use xtask::workspace::{self, printed};

/// Builds twice, prints both hashes, and keeps the binary as `target/reproduce/plimsoll` if they are the same.
pub(crate) fn run() -> Result<()> {
    let folder = std::path::absolute(workspace::target().join("reproduce")).context("the target folder")?;
    snapshot::clear(&folder)?;
    snapshot::tell_changes()?;
    let home = cargo_home()?;
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
    let target = copy.root.join("target");
    let mut cargo = workspace::cargo(&["build", "--release", "--locked", "--package", "plimsoll"]);
    cargo.current_dir(&copy.root).env("CARGO_HOME", home).env("CARGO_TARGET_DIR", &target);
    // C compilers have it for their dates.
    cargo.env("SOURCE_DATE_EPOCH", &copy.epoch_s);
    // Stronger than all other places of flags.
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags(&names(&copy.root, home)?));
    workspace::run(&mut cargo)?;
    Ok(target.join("release").join("plimsoll"))
}

/// Folders with sources, and the names that a binary has for them.
fn names(root: &Path, home: &Path) -> Result<Vec<(PathBuf, String)>> {
    let real_home = fs::canonicalize(home).with_context(|| format!("opening {}", home.display()))?;
    let sysroot = printed(Command::new("rustc").args(["--print", "sysroot"]))?;
    let version = printed(Command::new("rustc").args(["--version", "--verbose"]))?;
    let commit = version.lines().find_map(|line| line.strip_prefix("commit-hash: "));
    let commit = commit.context("rustc does not tell its commit")?;
    Ok(vec![
        (real_home, "/cargo".to_owned()),
        (home.to_owned(), "/cargo".to_owned()),
        // The name they have where the sources of the standard library are not installed.
        (Path::new(&sysroot).join("lib/rustlib/src/rust"), format!("/rustc/{commit}")),
        (root.to_owned(), "/plimsoll".to_owned()),
    ])
}

/// Flags of rustc as cargo takes them from `CARGO_ENCODED_RUSTFLAGS`.
fn flags(names: &[(PathBuf, String)]) -> String {
    let flags = names.iter().map(|(folder, name)| format!("--remap-path-prefix={}={name}", folder.display()));
    flags.collect::<Vec<_>>().join("\u{1f}")
}

fn cargo_home() -> Result<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    std::path::absolute(home.context("neither CARGO_HOME nor HOME is set")?).context("cargo's home")
}

/// True if `sha256sum` lists two files with one hash.
fn are_same(hashes: &str) -> bool {
    let hashes: Vec<&str> = hashes.lines().filter_map(|line| line.split_whitespace().next()).collect();
    matches!(hashes.as_slice(), [first, second] if first == second)
}

#[cfg(test)]
mod tests {
    use super::{are_same, flags};
    use std::path::PathBuf;

    #[test]
    fn two_equal_hashes_are_the_same_and_one_is_not() {
        assert!(are_same("0a1b  /a/plimsoll\n0a1b  /b/plimsoll"));
        assert!(!are_same("0a1b  /a/plimsoll\n0a1c  /b/plimsoll"));
        assert!(!are_same("0a1b  /a/plimsoll"));
        assert!(!are_same(""));
    }

    #[test]
    fn a_folder_may_have_a_space() {
        let name = |folder: &str, name: &str| (PathBuf::from(folder), name.to_owned());
        let text = flags(&[name("/my home/.cargo", "/cargo"), name("/src", "/plimsoll")]);
        let flags: Vec<&str> = text.split('\u{1f}').collect();
        assert_eq!(flags, ["--remap-path-prefix=/my home/.cargo=/cargo", "--remap-path-prefix=/src=/plimsoll"]);
    }
}
