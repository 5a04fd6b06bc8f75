//! The flags of `plimsoll profile`.

use clap::{ArgGroup, Args, Subcommand};
use model::Duration;
use std::path::PathBuf;

const PROFILE_EXAMPLES: &str = "\
Examples:
  plimsoll profile --port 8080 -d 10s                 who listens there, with children
  plimsoll profile --pid 4711 -d 30s -o profile-before
  plimsoll profile --all -d 5s --json | jq .profile.processes
  plimsoll run http://127.0.0.1:8080/ --profile -o a  under load: only the measured window
  plimsoll profile diff a b -o a-to-b                 what has changed for each good response";

/// Samples what runs on the CPUs, and draws it as a flame graph.
///
/// 99 times a second on each CPU, with the call chains of kernel and program; the names are looked up afterwards. Writes
/// profile.folded (one line a stack), profile.svg (to be zoomed and searched in a browser) and profile.json. It needs to be
/// root, or CAP_PERFMON, or kernel.perf_event_paranoid=0. Only what runs is sampled: time spent waiting is not seen.
#[derive(Debug, Args)]
#[command(after_help = PROFILE_EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(group = ArgGroup::new("who").required(true).args(["pid", "port", "all"]))]
pub(crate) struct ProfileArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<ProfileVerb>,
    /// This process and its descendants
    #[arg(long, value_name = "N")]
    pub(crate) pid: Option<u32>,
    /// The processes that listen on this TCP port, and their descendants
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// Everything on this machine
    #[arg(long)]
    pub(crate) all: bool,
    /// How long to sample
    #[arg(short, long, value_name = "TIME", default_value = "10s")]
    pub(crate) duration: Duration,
    /// Directory for the files [default: a new one in plimsoll-runs]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Print one JSON object instead of text
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

/// Draws what has changed between two profiled runs, for each good response.
///
/// Both must have been measured with --profile. Writes diff.svg (as wide as the second run: what it spends),
/// diff-reverse.svg (as wide as the first: what it spent, also on what is gone) and diff.folded. Red grew from the first to
/// the second, blue shrank. One pair of profiles is a picture, no evidence: of k samples the error is about the root of k.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// Directory of the first run
    #[arg(value_name = "RUN_A")]
    pub(crate) before: PathBuf,
    /// Directory of the second
    #[arg(value_name = "RUN_B")]
    pub(crate) after: PathBuf,
    /// Directory for the files, created if need be
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
}
