//! The Python wheel, made by maturin; what is in it stands in `pyproject.toml`.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::platform::Platform;
use crate::release::{self, PROFILE};
use crate::snapshot::Snapshot;
use crate::tools;
use xtask::workspace;

const TOOL: &str = "maturin";
/// Systems that install it: a static binary runs on those of glibc and of musl. The oldest that pip knows of each.
const SYSTEMS: [&str; 2] = ["manylinux2014", "musllinux_1_1"];

/// The wheel of a platform whose binary is built in `target` already: cargo finds nothing to do.
pub(super) fn pack(copy: &Snapshot, platform: &Platform, home: &Path, target: &Path, output: &Path) -> Result<()> {
    let tool = tools::pinned(TOOL)?;
    let mut maturin = Command::new(tool.join(TOOL));
    maturin.args(["build", "--quiet", "--profile", PROFILE, "--target", platform.triple, "--compatibility"]);
    maturin.args(SYSTEMS).arg("--out").arg(output);
    release::prepare(&mut maturin, copy, platform, home, target)?;
    workspace::run(&mut maturin)
}
