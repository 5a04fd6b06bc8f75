//! The flags of `plimsoll experiment`.

use super::examples::Examples;
use crate::cli::OutputArgs;
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: Examples = Examples(&[
    ("an example to begin with", "plimsoll experiment --print > nginx.toml"),
    ("measure it; the same command goes on after ^C or a crash", "plimsoll experiment nginx.toml -o nginx"),
    ("steps in their order, and their duration", "plimsoll experiment nginx.toml --dry-run"),
    ("what each layer and setting of WordPress costs and gains", "plimsoll experiment wordpress-ladder -o ladder"),
    ("1 to 20 connections, rising rates, with and without a cache", "plimsoll experiment wordpress-tables -o tables"),
    (
        "an experiment of the program as the beginning of your own",
        "plimsoll experiment wordpress-ladder --print > own.toml",
    ),
]);

const EXITS: &str = "
Exit code: the worst of the steps, in the order 130, 3, 2, 4, 1, 5, 0; 5 also if the budget was used up before the last \
step. Codes as in plimsoll --help.";

/// Measure variants under several loads, from a file; resumable
///
/// The file names a server with placeholders, variants that fill them in (all combinations of a grid, or a list), loads,
/// and repetitions. Each repetition is a block that measures every variant under every load once, in an order of its
/// own. Steps are runs, sweeps or searches for a capacity, or comparisons of all variants, each with a result and a page.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES.short("experiment"), after_long_help = EXAMPLES.with(&[EXITS]))]
pub(crate) struct ExperimentArgs {
    /// Experiment in TOML, or wordpress-ladder or wordpress-tables, which come with the program
    #[arg(value_name = "FILE", required_unless_present = "print")]
    pub(crate) file: Option<PathBuf>,
    /// Print the steps in their order and their duration; nothing is measured
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Measure windows that are too short for a valid result (LD-04) all the same
    ///
    /// Without it such an experiment is refused before its first step, as each of its results would be INVALID.
    #[arg(long)]
    pub(crate) allow_short_windows: bool,
    /// Print the file, or an example with comments
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) print: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
