//! Tasks of the developer: `cargo xtask TASK`.
//!
//! No product code lives here and no product code depends on it.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a developer's tool talks to its terminal")]
#![expect(clippy::disallowed_methods, reason = "it times whole processes and may not depend on engine's clock")]

mod bare;
mod book;
mod deny;
mod dist;
mod docs;
mod failures;
mod fuzz;
mod hermetic;
mod junit;
mod measuring;
mod platform;
mod release;
mod reproduce;
mod sbom;
mod snapshot;
mod tally;
mod test;
mod tidy;
mod times;
mod tools;

use clap::Parser;
use std::ffi::OsString;
use std::process::ExitCode;
use xtask::workspace;

/// Tasks of the developer. Any other TASK is a program of the lab, which measures plimsoll itself: `cargo xtask lab --help`
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", subcommand_value_name = "TASK", disable_help_subcommand = true)]
enum Task {
    /// Format, tidy, lints, docs and the hermetic tests: no root, no packages, nothing that time decides
    Test {
        /// Also licences and advisories, 4 seconds of each fuzz target, the hermetic tests where nothing is installed, and the
        /// measuring tests with real servers; installs what these need, as root. A measuring test that a disturbed machine keeps
        /// from deciding is named and counted as skipped. What CI runs; 25 minutes on 2 quiet CPUs, 35 on busy ones
        #[arg(long)]
        all: bool,
    },
    /// Both commands of the README from a clone on a bare Debian tree with Rust and a C compiler, as root and as an ordinary
    /// user; or, with --repeat, the hermetic tests on a tree where nothing is installed. Needs root
    Bare(bare::Options),
    /// Rules of this repository that no lint checks
    Tidy,
    /// docs/reference/rules.md, written from the rules
    Docs,
    /// The pages of docs as a book in target/book, which is read in a browser and searched without a network
    Book,
    /// Every fuzz target, one after another, with cargo-fuzz on nightly; `--minutes 60` for long fuzzing, which no other task
    /// does, and which keeps in fuzz/corpus as few inputs as reach all that was reached
    Fuzz(fuzz::Options),
    /// Dependencies against deny.toml (licences, bans, sources, advisories), and the SBOM of the binary in target/sbom
    SupplyChain,
    /// The files of a release, made twice in different folders: their hashes must be the same. Not part of `test --all`, as it
    /// builds the whole program twice
    Reproduce,
    /// What a release consists of, in target/dist: static binary, archive, Debian package, Python wheel, npm package, container
    /// image, licences, checksums. Made from the last commit; what this machine can run is installed in a folder of its own
    /// and measures for a second. 15 minutes for each platform on 2 quiet CPUs
    Dist(dist::Options),
    /// Programs that measure plimsoll itself, such as `cargo xtask peers`; `cargo xtask lab --help` lists them
    #[command(external_subcommand)]
    Lab(Vec<OsString>),
}

fn main() -> ExitCode {
    let (name, outcome) = match Task::parse() {
        Task::Test { all } => return test::run(all),
        Task::Bare(options) => ("bare", bare::run(&options)),
        Task::Tidy => ("tidy", tidy::run()),
        Task::Book => ("book", book::run()),
        Task::Docs => ("docs", docs::run()),
        Task::Fuzz(options) => ("fuzz", fuzz::run(options)),
        Task::SupplyChain => ("supply-chain", deny::run().and_then(|()| sbom::write())),
        Task::Reproduce => ("reproduce", reproduce::run()),
        Task::Dist(options) => ("dist", dist::run(&options)),
        Task::Lab(words) => return lab(&words),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask {name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// A program of the lab, which needs much more to be built; `lab` itself names none, and is left out.
fn lab(words: &[OsString]) -> ExitCode {
    let words = words.strip_prefix(&[OsString::from("lab")]).unwrap_or(words);
    let status = workspace::cargo(&["run", "--quiet", "--package", "lab", "--"]).args(words).status();
    match status.map(|status| status.code()) {
        // It has said why.
        Ok(code) => ExitCode::from(code.map_or(1, |code| code as u8)),
        Err(error) => {
            eprintln!("xtask: cannot start cargo: {error}");
            ExitCode::FAILURE
        }
    }
}
