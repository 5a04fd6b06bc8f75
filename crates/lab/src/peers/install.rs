//! Tools that come through cargo, into a folder of their own under `target`.

use std::path::PathBuf;
use std::process::Stdio;

use xtask::workspace;

/// Installed when they are not there yet.
const TOOLS: [&str; 2] = ["oha", "rewrk"];

/// Where cargo puts the program.
pub(super) fn path(name: &str) -> PathBuf {
    root().join("bin").join(name)
}

/// Installs what is missing. A tool that cannot be had is left out of the comparison, and the page says so.
pub(super) fn ensure() {
    for name in TOOLS.into_iter().filter(|name| !path(name).is_file()) {
        eprintln!("cargo install {name} (once, some minutes)");
        let mut install = workspace::cargo(&["install", "--quiet", "--locked", name, "--root"]);
        let status = install.arg(root()).stdin(Stdio::null()).status();
        if !status.is_ok_and(|status| status.success()) {
            eprintln!("{name} cannot be installed: going on without it");
        }
    }
}

fn root() -> PathBuf {
    workspace::target().join("peers-tools")
}
