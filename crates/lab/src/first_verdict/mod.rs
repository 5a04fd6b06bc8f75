//! `cargo xtask first-verdict`: what `cargo xtask dist` has made, where nothing is installed: the Debian package on a bare
//! Debian tree, the image without a distribution.

mod tree;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::containers::Podman;
use tree::Tree;
use xtask::debian;
use xtask::packages::{self, Tool};
use xtask::workspace::{self, printed};

/// Time from `dpkg -i` to the first verdict.
const FIRST_VERDICT_MAX: Duration = Duration::from_secs(90);
/// Exit codes with a verdict: valid or a bound, and invalid.
const WITH_VERDICT: [i32; 2] = [0, 4];
const VERDICTS: [&str; 3] = ["VALID", "BOUND", "INVALID"];

const TOOLS: &[Tool] =
    &[Tool::new("unshare", &["util-linux"]), Tool::new("podman", &["podman"]), Tool::new("runc", &["runc"])];

/// What has to be installed beside the manual pages.
const FILES: [&str; 7] = [
    "/usr/bin/plimsoll",
    "/usr/share/bash-completion/completions/plimsoll",
    "/usr/share/doc/plimsoll/THIRD-PARTY-LICENCES.txt",
    "/usr/share/doc/plimsoll/README.md",
    "/usr/share/doc/plimsoll/copyright",
    "/usr/share/fish/vendor_completions.d/plimsoll.fish",
    "/usr/share/zsh/vendor-completions/_plimsoll",
];

/// The Debian package of `cargo xtask dist` on a bare Debian tree, with the time from `dpkg -i` to the first verdict (at most
/// 90 s), and a verdict in its container image: debootstrap, podman and runc, as root; 3 minutes, the next time 2
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Debian release of the tree
    #[arg(long, value_name = "NAME", default_value = debian::SUITE)]
    suite: String,
}

/// Installs and measures.
///
/// # Errors
/// If something has not been made, installed or found, or the first verdict comes too late.
pub fn run(options: Options) -> Result<()> {
    ensure!(rustix::process::geteuid().is_root(), "debootstrap needs root");
    let architecture = printed(Command::new("dpkg").arg("--print-architecture"))?;
    let package = made(&format!("_{architecture}.deb"))?;
    let image = made(&format!("-{}-image.tar", std::env::consts::ARCH))?;
    packages::ensure(TOOLS)?;
    let tree = Tree::new(&options.suite)?;
    fs::copy(&package, tree.root().join("plimsoll.deb")).context("copying the package into the tree")?;
    installed(&tree)?;
    contained(&image)
}

/// A file that `cargo xtask dist` has made.
pub(crate) fn made(ending: &str) -> Result<PathBuf> {
    let folder = workspace::target().join("dist");
    let files = fs::read_dir(&folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let found = files.filter(|path| path.to_string_lossy().ends_with(ending)).min();
    found.with_context(|| format!("no file *{ending} in {}: run `cargo xtask dist`", folder.display()))
}

/// Installs the package, and has the first command of the README give its verdict.
fn installed(tree: &Tree) -> Result<()> {
    let begun = Instant::now();
    workspace::run(tree.command("dpkg").args(["-i", "/plimsoll.deb"]))?;
    let installed = begun.elapsed();
    let verdict = verdict(tree.command("plimsoll").arg("sweep"))?;
    let took = begun.elapsed();
    println!("{verdict}");
    println!("{:.1} s from `dpkg -i` to this verdict, {:.1} s of it dpkg", took.as_secs_f64(), installed.as_secs_f64());
    ensure!(took < FIRST_VERDICT_MAX, "that is too long: at most {} s", FIRST_VERDICT_MAX.as_secs());
    let listed = printed(tree.command("dpkg").args(["-L", "plimsoll"]))?;
    let pages = pages(tree)?;
    let missing = missing(&listed, &pages, &tree.root());
    ensure!(missing.is_empty(), "not installed: {}", missing.join(", "));
    println!("{} files are in their places, {} of them manual pages", FILES.len() + pages.len(), pages.len());
    Ok(())
}

/// Names of the manual pages that the program has.
fn pages(tree: &Tree) -> Result<Vec<String>> {
    workspace::run(tree.command("plimsoll").args(["man", "/tmp/man"]))?;
    let folder = fs::read_dir(tree.root().join("tmp/man")).context("the manual pages")?;
    folder.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// What is not in the list of dpkg, or only there.
fn missing(listed: &str, pages: &[String], root: &Path) -> Vec<String> {
    let pages = pages.iter().map(|page| format!("/usr/share/man/man1/{page}.gz"));
    let wanted = FILES.iter().map(|&file| file.to_owned()).chain(pages);
    wanted.filter(|file| !listed.lines().any(|line| line == file) || !root.join(&file[1..]).is_file()).collect()
}

/// Loads the image, and has it measure the built-in server.
fn contained(image: &Path) -> Result<()> {
    let podman = Podman::new(&workspace::target().join("containers"))?;
    let said = printed(podman.command("podman").args(["load", "--quiet", "--input"]).arg(image))?;
    let name = said.split_whitespace().last().context("podman load names no image")?;
    let mut run = podman.command("podman");
    let verdict = verdict(run.args(["run", "--rm", "--network", "none", name, "run", "--duration", "5s"]));
    // Kept, it would be nameless when the next one is loaded.
    printed(podman.command("podman").args(["rmi", name]))?;
    println!("{name}: {}", verdict?);
    Ok(())
}

/// The first line of a measurement.
fn verdict(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().context("starting the measurement")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let first = said.lines().next().unwrap_or_default().to_owned();
    let is_verdict = VERDICTS.iter().any(|verdict| first.split_whitespace().next() == Some(verdict));
    let has_verdict = is_verdict && output.status.code().is_some_and(|code| WITH_VERDICT.contains(&code));
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(has_verdict, "no verdict, but {}: {first} {}", output.status, errors.trim());
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::{FILES, missing, verdict};
    use std::process::Command;

    #[test]
    fn a_file_is_missing_that_is_not_listed_or_not_there() {
        let root = tempfile::tempdir().unwrap();
        let page = "/usr/share/man/man1/plimsoll-run.1.gz";
        let all: Vec<&str> = FILES.into_iter().chain([page]).collect();
        for file in &all {
            let path = root.path().join(&file[1..]);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let pages = ["plimsoll-run.1".to_owned()];
        let (listed, none) = (all.join("\n"), Vec::<String>::new());
        assert_eq!(missing(&listed, &pages, root.path()), none);
        assert_eq!(missing(&FILES.join("\n"), &pages, root.path()), [page]);
        std::fs::remove_file(root.path().join(&page[1..])).unwrap();
        assert_eq!(missing(&listed, &pages, root.path()), [page]);
    }

    #[test]
    fn a_verdict_is_the_first_line_and_an_error_is_none() {
        let said = |script: &str| verdict(Command::new("sh").args(["-c", script]));
        assert_eq!(said("echo 'INVALID      too short'; exit 4").unwrap(), "INVALID      too short");
        let error = said("echo 'no such server' >&2; exit 3").unwrap_err().to_string();
        assert!(error.contains("exit status: 3") && error.ends_with("no such server"), "{error}");
        assert!(said("echo hello").is_err());
    }
}
