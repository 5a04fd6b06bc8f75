//! The Debian package, made by cargo-deb; what is in it stands in the manifest of `plimsoll`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::platform::Platform;
use crate::snapshot::Snapshot;
use crate::tools;
use xtask::workspace::{self, printed};

const TOOL: &str = "cargo-deb";
const TOOL_VERSION: &str = "3.6.2";
/// Place in the sources of what the program makes itself, as the manifest names it.
const MADE: &str = "target/deb";
/// Completion scripts: the shell, and the name of the file there.
const COMPLETIONS: [(&str, &str); 3] = [("bash", "plimsoll.bash"), ("zsh", "_plimsoll"), ("fish", "plimsoll.fish")];

/// Manual pages and completions of a program that runs here, and the licences, at their place in the sources.
pub(super) fn documents(program: &Path, sources: &Path, licences: &Path) -> Result<()> {
    let folder = sources.join(MADE);
    workspace::run(Command::new(program).arg("man").arg(folder.join("man")))?;
    for (shell, file) in COMPLETIONS {
        let script = printed(Command::new(program).args(["completions", shell]))?;
        let path = folder.join(file);
        fs::write(&path, format!("{script}\n")).with_context(|| format!("writing {}", path.display()))?;
    }
    let name = licences.file_name().context("the list of licences has no name")?;
    let path = folder.join(name);
    fs::copy(licences, &path).map(drop).with_context(|| format!("writing {}", path.display()))
}

/// The package of a platform whose binary is built in `target`.
pub(super) fn pack(copy: &Snapshot, target: &Path, platform: &Platform, output: &Path) -> Result<()> {
    let tool = tools::compiled(TOOL, TOOL_VERSION)?;
    // The binary is stripped already, and another program must not make another one of it.
    let arguments =
        ["deb", "--quiet", "--no-build", "--no-strip", "--locked", "--profile", "dist", "--package", "plimsoll"];
    let mut command = tools::cargo(&tool, &arguments)?;
    command.args(["--target", platform.triple, "--output"]).arg(output).current_dir(&copy.root);
    command.env("CARGO_TARGET_DIR", target).env("SOURCE_DATE_EPOCH", copy.epoch_s.to_string());
    workspace::run(&mut command)
}
