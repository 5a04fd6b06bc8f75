//! The flags of `plimsoll profile`.

use super::examples::Examples;
use clap::{ArgGroup, Args, Subcommand};
use model::Duration;
use std::path::PathBuf;

const EXAMPLES: Examples = Examples(&[
    ("whoever listens on this port, with descendants", "plimsoll profile --port 8080 -d 10s"),
    ("a process", "plimsoll profile --pid 4711 -d 30s -o profile-before"),
    ("the whole machine, as JSON", "plimsoll profile --all -d 5s --json | jq .profile.processes"),
    ("under load, measurement window only", "plimsoll run http://127.0.0.1:8080/ --profile -o a"),
    ("change per good response", "plimsoll profile diff a b -o a-to-b"),
]);

/// Sample where CPU time goes, and draw flame graphs
///
/// 99 samples per second on each CPU, with call chains; symbols are resolved afterwards. Writes profile.folded,
/// profile.svg and profile.json, and with --pid or --port off-cpu-stacks.folded and off-cpu-stacks.svg (where threads
/// waited). Needs root, CAP_PERFMON or kernel.perf_event_paranoid=0.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES.short("profile"),
    after_long_help = EXAMPLES.full(),
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
#[command(group = ArgGroup::new("who").required(true).args(["pid", "port", "all"]))]
pub(crate) struct ProfileArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<ProfileVerb>,
    /// Process ID, including descendants
    #[arg(long, value_name = "N")]
    pub(crate) pid: Option<u32>,
    /// TCP port whose listeners are profiled, including descendants
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// All processes of this machine
    #[arg(long)]
    pub(crate) all: bool,
    /// Sampling time
    #[arg(short, long, value_name = "TIME", default_value = "10s")]
    pub(crate) duration: Duration,
    /// Directory for the files [default: a new one in plimsoll-runs]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// One JSON object on stdout instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress on stderr
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProfileVerb {
    Diff(DiffArgs),
}

/// Draw the differential flame graph of two profiled runs, per good response
///
/// Both must have been measured with --profile. Writes diff.svg (widths of the second run), diff-reverse.svg (widths of
/// the first, including code that is gone) and diff.folded. Red grew from the first to the second, blue shrank. One
/// pair of profiles is no evidence: the standard error of k samples is about the square root of k.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// Directory of the first run
    #[arg(value_name = "RUN_A")]
    pub(crate) before: PathBuf,
    /// Directory of the second run
    #[arg(value_name = "RUN_B")]
    pub(crate) after: PathBuf,
    /// Directory for the files, created if missing
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
}
