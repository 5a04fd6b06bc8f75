//! Gives the program the commit of its sources, which `plimsoll --version` prints.
//!
//! `PLIMSOLL_COMMIT` names it where sources come without git, as a packager has them. Else git is asked, for release
//! builds alone:
//! a development build would be made again after each commit, for a name that changes before the next one.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=PLIMSOLL_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    let given = std::env::var("PLIMSOLL_COMMIT").ok().filter(|commit| !commit.is_empty());
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    if let Some(commit) = given.or_else(|| if is_release { of_checkout() } else { None }) {
        println!("cargo::rustc-env=PLIMSOLL_BUILD_COMMIT={commit}");
    }
}

/// The commit that is checked out; none if these sources are no part of it, but of an archive inside some other checkout.
fn of_checkout() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    // It has a line more after each commit and checkout.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    println!("cargo::rerun-if-changed={log}");
    let commit = git(&["rev-parse", "HEAD"])?;
    // Git shortens it by what else is in the repository, which is not the same in each copy.
    commit.get(..8).map(str::to_owned)
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
