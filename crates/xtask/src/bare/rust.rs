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

/// The toolchain of this project, and the programs of rustup. Its directory is made anew in `folder`, as a toolchain may be a link
/// to one that is elsewhere, and that place is not there.
pub(super) fn shown(folder: &Path) -> Result<[Shown; 3]> {
    let (name, toolchain) = (toolchain_name()?, sysroot()?.canonicalize().context("finding the toolchain")?);
    let inside = Path::new("toolchains").join(name);
    // Rustup makes the others itself where they are missing, and cannot there.
    for directory in [inside.as_path(), Path::new("update-hashes"), Path::new("downloads"), Path::new("tmp")] {
        std::fs::create_dir_all(folder.join(directory)).context("making a directory for rustup")?;
    }
    let settings = "settings.toml";
    std::fs::copy(home("RUSTUP_HOME", ".rustup")?.join(settings), folder.join(settings))
        .context("copying the settings of rustup")?;
    Ok([
        Shown { source: folder.to_owned(), at: RUSTUP.into(), is_writable: false },
        Shown { source: toolchain, at: Path::new(RUSTUP).join(inside), is_writable: false },
        Shown { source: cargo_home()?.join("bin"), at: PROGRAMS.into(), is_writable: false },
    ])
}

/// Name of the toolchain that this project asks for.
fn toolchain_name() -> Result<String> {
    let mut show = Command::new("rustup");
    let printed = workspace::printed(show.args(["show", "active-toolchain"]).current_dir(workspace::root()))?;
    let name = printed.split_whitespace().next().context("rustup has no active toolchain")?;
    Ok(name.to_owned())
}

/// Where it is.
fn sysroot() -> Result<PathBuf> {
    let printed =
        workspace::printed(Command::new("rustc").args(["--print", "sysroot"]).current_dir(workspace::root()))?;
    Ok(PathBuf::from(printed))
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
    let programs = Path::new(RUSTUP).join("toolchains").join(toolchain_name()?).join("bin");
    Ok(vec![
        ("CARGO", programs.join("cargo")),
        ("RUSTC", programs.join("rustc")),
        ("CARGO_HOME", CARGO_HOME.into()),
        ("CARGO_NET_OFFLINE", "true".into()),
    ])
}
