//! `cargo deny`: dependencies against the rules of deny.toml.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::tools;
use xtask::workspace;

/// Licences, bans and sources; advisories if their database can be fetched, else one line says that they are unchecked.
pub(crate) fn run() -> Result<()> {
    let tool = tools::ensure("cargo-deny")?;
    // First: what is wrong with deny.toml fails here, and not as a database that cannot be fetched.
    check(&tool, &["licenses", "bans", "sources"])?;
    if let Some(reason) = fetch_advisories(&tool)? {
        println!("     advisories: not checked: {reason}");
        return Ok(());
    }
    check(&tool, &["--disable-fetch", "advisories"])
}

fn check(tool: &Path, arguments: &[&str]) -> Result<()> {
    let arguments = [&["deny", "--log-level", "error", "check"], arguments].concat();
    workspace::run(&mut tools::cargo(tool, &arguments)?)
}

/// Brings the database up to date; why not, if it is out of reach.
///
/// A step of its own: `check` ends with 1 for an advisory and for a fetch that failed.
fn fetch_advisories(tool: &Path) -> Result<Option<String>> {
    let arguments = ["deny", "--color", "never", "--log-level", "error", "fetch", "db"];
    let mut command = tools::cargo(tool, &arguments)?;
    // A server that asks for a name and password is out of reach as well.
    let output = command.env("GIT_TERMINAL_PROMPT", "0").stdin(Stdio::null()).output().context("cannot start cargo")?;
    if output.status.success() {
        return Ok(None);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    match out_of_reach(&said) {
        Some(reason) => Ok(Some(reason.to_owned())),
        None => bail!("cargo deny fetch ended with {}:\n{said}", output.status),
    }
}

/// The line of cargo-deny about a database that it cannot fetch; none if something else failed.
fn out_of_reach(said: &str) -> Option<&str> {
    let at = said.find("failed to fetch advisory database")?;
    said[at..].lines().next()
}

#[cfg(test)]
mod tests {
    use super::out_of_reach;

    #[test]
    fn only_a_failed_fetch_leaves_advisories_unchecked() {
        let said = "2026-11-20 09:00:00 [ERROR] failed to fetch database: failed to fetch advisory database \
                    https://github.com/RustSec/advisory-db: error sending request\nmore of it\n";
        let reason = out_of_reach(said).unwrap();
        assert!(reason.starts_with("failed to fetch advisory database https://"), "{reason}");
        assert!(reason.ends_with("error sending request"), "{reason}");
        assert_eq!(out_of_reach("[ERROR] failed to fetch database: failed to load advisory database\n"), None);
        assert_eq!(out_of_reach("error[vulnerability]: a use after free\n"), None);
    }
}
