//! `cargo xtask docs`: pages that the program itself writes.

use anyhow::{Context, Result, bail};

use xtask::workspace;

/// Writes `docs/rules.md`; a test of `plimsoll` fails when it is out of date.
pub(crate) fn run() -> Result<()> {
    let arguments = ["run", "--quiet", "--package", "plimsoll", "--", "rules", "--markdown"];
    let output =
        workspace::cargo(&arguments).stderr(std::process::Stdio::inherit()).output().context("starting cargo")?;
    if !output.status.success() {
        bail!("`plimsoll rules --markdown` ended with {}", output.status);
    }
    workspace::write("docs/rules.md", &String::from_utf8(output.stdout)?)
}
