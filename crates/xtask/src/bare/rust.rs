//! The Rust of this machine, as a bare one has it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::room::Shown;
use xtask::workspace;

/// Where a bare machine has the directory of rustup.
pub(super) const RUSTUP: &str = "/usr/local/rustup";
/// Where it has the programs of rustup.
pub(super) const PROGRAMS: &str = "/usr/local/rust/bin";
/// Where it has what cargo downloads, to be read.
pub(super) const CARGO_HOME: &str = "/usr/local/cargo";

/// The toolchains and programs of rustup.
pub(super) fn shown() -> Result<[Shown; 2]> {
    Ok([
        Shown { source: home("RUSTUP_HOME", ".rustup")?, at: RUSTUP.into(), is_writable: false },
        Shown { source: cargo_home()?.join("bin"), at: PROGRAMS.into(), is_writable: false },
    ])
}

/// Copies what cargo has downloaded, with all that Cargo.lock names, to where every user can read it: crates are unpacked with
/// the modes that their authors' files had.
pub(super) fn copy_registry(copy: &Path) -> Result<()> {
    workspace::run(&mut workspace::cargo(&["fetch", "--locked", "--quiet"]))?;
    let registry = cargo_home()?.join("registry");
    workspace::run(Command::new("cp").args(["--archive", "--no-target-directory"]).arg(registry).arg(copy))?;
    workspace::run(Command::new("chmod").args(["--recursive", "a+rX"]).arg(copy))
}

fn cargo_home() -> Result<PathBuf> {
    home("CARGO_HOME", ".cargo")
}

/// A directory of rustup's: where the variable says, or below the home directory.
fn home(variable: &str, folder: &str) -> Result<PathBuf> {
    let below_home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(folder));
    let path = std::env::var_os(variable).map(PathBuf::from).or_else(below_home);
    let path = path.filter(|path| path.is_dir());
    path.with_context(|| format!("rustup has no directory ~/{folder} here, and {variable} names none"))
}

/// What cargo tells a program that it runs: which one it is itself. That works without rustup's choice of a toolchain.
pub(super) fn variables() -> Result<Vec<(&'static str, PathBuf)>> {
    let rustup = home("RUSTUP_HOME", ".rustup")?;
    let rustc = workspace::printed(Command::new("rustc").args(["--print", "sysroot"]).current_dir(workspace::root()))?;
    let sysroot = Path::new(&rustc);
    let inside = sysroot.strip_prefix(&rustup).with_context(|| format!("{rustc} is no toolchain of rustup"))?;
    let programs = Path::new(RUSTUP).join(inside).join("bin");
    Ok(vec![
        ("CARGO", programs.join("cargo")),
        ("RUSTC", programs.join("rustc")),
        ("CARGO_HOME", CARGO_HOME.into()),
        ("CARGO_NET_OFFLINE", "true".into()),
    ])
}
