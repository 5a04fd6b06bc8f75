//! Both commands of the README, from a clone of the last commit.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::room::{Changes, Machine, Shown, User};
use super::rust;
use crate::snapshot::{self, Snapshot};
use xtask::{debian, workspace};

/// What the README says that the machine has beside Rust: a C compiler, which Debian gives out in two packages.
const COMPILER: &[&str] = &["gcc", "libc6-dev"];

/// The commands of the README: what the program is for, and its tests.
const COMMANDS: [&[&str]; 2] = [&["cargo", "run", "--release", "--", "sweep"], &["cargo", "xtask", "test"]];

/// Builds, measures and tests as a user who has just cloned the repository.
pub(super) fn run(user: User) -> Result<()> {
    snapshot::tell_changes()?;
    let tree = debian::tree(debian::SUITE, COMPILER)?;
    let folder = workspace::target().join("bare").join(format!("readme-{user:?}").to_lowercase());
    snapshot::clear(&folder)?;
    fs::create_dir_all(folder.join("changes")).context("making a folder for what is written")?;
    let clone = Snapshot::at(&folder.join("plimsoll"))?;
    let shown = shown(user, &clone.root, &folder)?;
    let changes = Changes { folder: folder.join("changes"), in_memory: false };
    let variables = [
        ("HOME", user.home().to_owned()),
        ("PATH", format!("{}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", rust::PROGRAMS)),
        ("RUSTUP_HOME", rust::RUSTUP.to_owned()),
        // What it downloads is here already.
        ("CARGO_NET_OFFLINE", "true".to_owned()),
    ];
    let variables = variables.map(|(name, value)| (name, OsString::from(value)));
    for words in COMMANDS {
        let program: Vec<&Path> = words.iter().map(Path::new).collect();
        let machine = Machine::of_builder(user);
        let mut command = machine.command(&tree, &changes, &shown, &clone.root, &variables, &program);
        let begun = Instant::now();
        let last = last_line(&mut command).with_context(|| words.join(" "))?;
        println!("     as {user:?}: `{}` succeeded in {} s: {last}", words.join(" "), begun.elapsed().as_secs());
    }
    snapshot::clear(&folder)
}

/// The clone, Rust, and a copy of the crates that cargo has downloaded.
fn shown(user: User, clone: &Path, folder: &Path) -> Result<Vec<Shown>> {
    let registry = folder.join("registry");
    rust::copy_registry(&registry)?;
    if user == User::Ordinary {
        workspace::run(Command::new("chown").args(["--recursive", "1000:1000"]).args([clone, &registry]))?;
    }
    let writable = |source: &Path, at: PathBuf| Shown { source: source.to_owned(), at, is_writable: true };
    let own = [writable(clone, clone.to_owned()), writable(&registry, Path::new(user.home()).join(".cargo/registry"))];
    Ok(own.into_iter().chain(rust::shown(&folder.join("rustup"))?).collect())
}

/// Runs a command that has to succeed, prints what it prints, and returns its last line.
fn last_line(command: &mut Command) -> Result<String> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot start unshare")?;
    let output = child.stdout.take().context("it has no standard output")?;
    let mut last = String::new();
    for line in BufReader::new(output).lines() {
        last = line.context("reading its output")?;
        println!("{last}");
    }
    let status = child.wait()?;
    ensure!(status.success(), "it ended with {status}: {last}");
    Ok(last)
}
