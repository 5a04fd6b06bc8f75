//! `cargo xtask docs`: pages that the program itself writes.

use anyhow::{Context, Result, bail};

use xtask::workspace;

/// Writes the examples of the catalogue and `docs/reference/rules.md`; tests of `lab` and `plimsoll` fail when they are out of date.
pub(crate) fn run() -> Result<()> {
    workspace::run(&mut workspace::cargo(&["run", "--quiet", "--package", "lab", "--", "rule-examples"]))?;
    let arguments = ["run", "--quiet", "--package", "plimsoll", "--", "rules", "--markdown"];
    let output =
        workspace::cargo(&arguments).stderr(std::process::Stdio::inherit()).output().context("starting cargo")?;
    if !output.status.success() {
        bail!("`plimsoll rules --markdown` ended with {}", output.status);
    }
    workspace::write("docs/reference/rules.md", &String::from_utf8(output.stdout)?)
}
