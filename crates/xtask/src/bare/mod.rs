//! `cargo xtask bare`: what somebody meets who has just cloned the repository, on a machine that has Rust and a C compiler and
//! nothing else.
//!
//! Where tests are written most packages are installed already, and a test that needs one passes there.

mod readme;
mod room;
mod rust;

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};

use crate::failures::{Failure, Listed};
use crate::hermetic::{self, Outcome, TestBinary};
use crate::snapshot;
use room::{Changes, MACHINES, Machine, Shown, User};
use xtask::packages::{self, Tool};
use xtask::{debian, workspace};

/// Test binaries that run at the same time: what they share, such as ports, has to bear that.
const BESIDE: usize = 8;

/// What makes the namespaces.
const TOOLS: &[Tool] = &[Tool::new("unshare", &["util-linux"]), Tool::new("ip", &["iproute2"])];

/// What is run, and as whom.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The hermetic tests this many times, eight binaries beside each other, without network or packages: as root without any
    /// variable, as an ordinary user without any, and as an ordinary user with unusual ones, in turn
    #[arg(long, value_name = "N", value_parser = parse_times)]
    repeat: Option<usize>,
    /// Test binaries whose name for cargo, such as `-p stack --lib`, contains this
    #[arg(long, value_name = "TEXT", requires = "repeat", allow_hyphen_values = true)]
    only: Option<String>,
    /// The README's commands as this user alone
    #[arg(long = "as", value_name = "USER", conflicts_with = "repeat", value_parser = ["root", "ordinary"])]
    user: Option<String>,
}

fn parse_times(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|times| *times > 0).ok_or_else(|| "it is a whole number from 1 on".to_owned())
}

/// Runs what was asked for.
pub(crate) fn run(options: &Options) -> Result<()> {
    let Some(times) = options.repeat else { return readme(options.user.as_deref()) };
    let mut binaries = hermetic::build()?;
    let only = options.only.as_deref().unwrap_or_default();
    binaries.retain(|binary| binary.selection.contains(only));
    let outcome = repeat(&prepare()?, &binaries, times)?;
    print!("{}", Listed(&outcome.failures));
    println!("{}", outcome.tally);
    if !outcome.failures.is_empty() {
        bail!("tests failed that pass where packages are installed, or nothing runs beside them");
    }
    Ok(())
}

fn readme(user: Option<&str>) -> Result<()> {
    let users = [("root", User::Root), ("ordinary", User::Ordinary)];
    for (name, user) in users.into_iter().filter(|(name, _)| user.is_none_or(|user| user == *name)) {
        readme::run(user).with_context(|| format!("as {name}"))?;
    }
    Ok(())
}

/// A bare tree, and what its commands have of this machine.
pub(crate) struct Bare {
    tree: PathBuf,
    shown: Vec<Shown>,
    variables: Vec<(&'static str, PathBuf)>,
}

/// Makes the bare tree, and what runs commands in it.
pub(crate) fn prepare() -> Result<Bare> {
    packages::ensure(TOOLS)?;
    let mut shown: Vec<Shown> = [workspace::root(), workspace::target()].map(Shown::read_only).into();
    shown.extend(rust::shown(&workspace::target().join("bare").join("rustup"))?);
    let registry = workspace::target().join("bare").join("registry");
    snapshot::clear(&registry)?;
    fs::create_dir_all(&registry).context("making a folder for crates")?;
    rust::copy_registry(&registry)?;
    let at = Path::new(rust::CARGO_HOME).join("registry");
    shown.push(Shown { source: registry, at, is_writable: false });
    Ok(Bare { tree: debian::tree(debian::SUITE, &[])?, shown, variables: rust::variables()? })
}

/// Runs the test binaries once on each machine.
pub(crate) fn on_each_machine(bare: &Bare, binaries: &[TestBinary]) -> Result<Outcome> {
    repeat(bare, binaries, MACHINES.len())
}

/// Runs the test binaries so many times, on the machines in turn, some binaries beside each other. Prints the output of those
/// that fail.
fn repeat(bare: &Bare, binaries: &[TestBinary], times: usize) -> Result<Outcome> {
    if binaries.is_empty() {
        bail!("there are no test binaries");
    }
    let rounds = MACHINES.iter().cycle().take(times);
    let runs: VecDeque<_> = rounds.flat_map(|machine| binaries.iter().map(move |binary| (machine, binary))).collect();
    let count = runs.len();
    let queue = Mutex::new(runs);
    let all = Mutex::new(Outcome::default());
    let folder = workspace::target().join("bare");
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..BESIDE)
            .map(|number| {
                let (queue, all) = (&queue, &all);
                let folder = folder.join(number.to_string());
                scope.spawn(move || work(bare, &folder, queue, all))
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(|_| bail!("a thread has panicked")))
    })?;
    let all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("     {count} runs of {} test binaries, {BESIDE} at a time: {}", binaries.len(), all.tally);
    Ok(all)
}

/// Takes runs from the queue until it is empty.
fn work(
    bare: &Bare,
    folder: &Path,
    queue: &Mutex<VecDeque<(&Machine, &TestBinary)>>,
    all: &Mutex<Outcome>,
) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let changes = Changes { folder: folder.to_owned(), in_memory: true };
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some((machine, binary)) = next else { return Ok(()) };
        let mut output = String::new();
        let mut command = machine.test(bare, &changes, binary);
        let mut outcome = hermetic::run(&mut command, &binary.selection, |line| {
            output.push_str(line);
            output.push('\n');
        })?;
        let command = format!("cargo xtask bare --repeat {} --only '{}'", MACHINES.len(), binary.selection);
        let on_machine = |failure: Failure| Failure::new(format!("{} as {}", failure.what, machine.name), &command);
        outcome.failures = outcome.failures.into_iter().map(on_machine).collect();
        // Beside seven others they say nothing of the binary.
        outcome.test_times.clear();
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        if !outcome.failures.is_empty() {
            println!("     {} as {}\n{output}", binary.selection, machine.name);
        }
        all.add(outcome);
    }
}
