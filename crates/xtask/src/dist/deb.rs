//! The Debian package, made by cargo-deb; what is in it stands in the manifest of `plimsoll`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::archive::File;
use crate::platform::Platform;
use crate::release::PROFILE;
use crate::snapshot::Snapshot;
use crate::tools;
use xtask::workspace::{self, printed};

const TOOL: &str = "cargo-deb";
const TOOL_VERSION: &str = "3.6.2";
/// Place in the sources of what the program makes itself, as the manifest names it.
const MADE: &str = "target/deb";
/// Completion scripts: the shell, and the name of the file there.
const COMPLETIONS: [(&str, &str); 3] = [("bash", "plimsoll.bash"), ("zsh", "_plimsoll"), ("fish", "plimsoll.fish")];

/// The folder of what is made for the package.
pub(super) fn folder(sources: &Path) -> PathBuf {
    sources.join(MADE)
}

/// Manual pages and completions of a program that runs here, and the licences, at their place in the sources.
pub(super) fn documents(program: &Path, sources: &Path, licences: &Path) -> Result<()> {
    let folder = folder(sources);
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

/// The manual pages and completions as files of an archive.
pub(super) fn written(sources: &Path) -> Result<Vec<File>> {
    let folder = folder(sources);
    let manual = fs::read_dir(folder.join("man")).context("the manual pages")?;
    let mut pages = manual.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    pages.sort();
    let pages = pages.iter().map(|page| File::copy_into("man/", page));
    let completions = COMPLETIONS.iter().map(|(_, file)| File::copy_into("completions/", &folder.join(file)));
    pages.chain(completions).collect()
}

/// The package of a platform whose binary is built in `target`.
pub(super) fn pack(copy: &Snapshot, target: &Path, platform: &Platform, output: &Path) -> Result<()> {
    let tool = tools::compiled(TOOL, TOOL_VERSION)?;
    // The binary is stripped already, and another program must not make another one of it.
    let arguments =
        ["deb", "--quiet", "--no-build", "--no-strip", "--locked", "--profile", PROFILE, "--package", "plimsoll"];
    let mut command = tools::cargo(&tool, &arguments)?;
    command.args(["--target", platform.triple, "--output"]).arg(output).current_dir(&copy.root);
    command.env("CARGO_TARGET_DIR", target).env("SOURCE_DATE_EPOCH", copy.epoch_s.to_string());
    workspace::run(&mut command)
}
