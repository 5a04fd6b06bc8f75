//! The flags of `plimsoll history`.

use super::examples::Examples;
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: Examples = Examples(&[
    ("all results in a directory", "plimsoll history plimsoll-runs"),
    ("the same as a page with charts", "plimsoll history plimsoll-runs -o history.html"),
    ("exit code 1 after a change to the worse", "plimsoll history nightly-* --fail-if-worse --margin 3%"),
    ("changes as JSON", "plimsoll history plimsoll-runs --json | jq '.series[0].figures[].changes'"),
]);

const EXITS: &str = "
Exit codes: 0 also with changes; 1 with --fail-if-worse if the last change of any figure made it worse; others as in \
plimsoll --help.";

/// Find changes over many stored results
///
/// It says when goodput, p99, server CPU per request, capacity, the effect of a variant or the largest contentful paint
/// of a
/// page moved, and by how much.
///
/// Server CPU per request of comparisons is normalised by their canary trials: a slower machine is not reported as a change.
/// Results that were measured alike (target, load, client, machine) form a series; each figure of a series is searched by
/// E-divisive with a permutation test, which keeps its rate of false alarms for any noise. Invalid results,
/// interrupted results and bounds are skipped and listed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES.short("history"), after_long_help = EXAMPLES.with(&[EXITS]))]
pub(crate) struct HistoryArgs {
    /// Result directories of run, sweep, capacity, compare or render, or directories that hold them
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath, required = true)]
    pub(crate) directories: Vec<PathBuf>,
    /// Smallest change that is reported
    #[arg(long, value_name = "PERCENT", default_value = "1%", allow_hyphen_values = true)]
    pub(crate) margin: String,
    /// Share of figures without a change in which one is found, 0.1% to 20%
    #[arg(long, value_name = "PERCENT", default_value = "1%", allow_hyphen_values = true)]
    pub(crate) false_alarms: String,
    /// Count numbers that are only bounds too, as those of disturbed results
    #[arg(long)]
    pub(crate) bounds: bool,
    /// Server CPU per request of comparisons as it was measured, not normalised by their canaries
    #[arg(long)]
    pub(crate) raw: bool,
    /// Seed of the permutations
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Exit code 1 if the last change of any figure made it worse
    #[arg(long)]
    pub(crate) fail_if_worse: bool,
    /// Page with charts: a file to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// One JSON object on stdout instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// All results left out, and all that the results of a series have in common
    #[arg(short, long)]
    pub(crate) verbose: bool,
}
