//! The flags of `plimsoll compare`.

use crate::cli::given::Given;
use crate::cli::{ArrivalsArg, MeasuredArgs, OutputArgs, WarmupArg};
use clap::{Args, ValueEnum};
use model::{Count, Duration, Rate};

const EXAMPLES: &str = "\
Examples:
  plimsoll compare http://127.0.0.1:8080/ http://127.0.0.1:8081/    baseline first
  plimsoll compare --serve nginx --serve 'nginx workers=2'          servers that plimsoll starts, afresh each time
  plimsoll compare --serve 'command -- ./old' --serve 'command -- ./new' --name old --name new
  plimsoll compare A B --only fixed --fail-if 'cpu>2%'              server CPU per request decides
  plimsoll compare A B --fail-if 'goodput<-3%,p99>10%' --json       in a pipeline
  plimsoll compare A B --only capacity --goal 'p99<50ms'            highest rate that meets the goal
  plimsoll compare --duet --serve nginx --serve 'nginx gzip=on'     both at once, on CPUs of their own
  plimsoll compare --serve nginx --serve 'nginx gzip=on' --profile  functions that cost the difference
  plimsoll compare --aa --serve nginx                               what this machine can resolve
  plimsoll compare http://10.0.0.10:8080/ http://10.0.0.10:8081/ --client ssh://load1,ssh://load2   load from two machines
  plimsoll compare plimsoll-runs/before plimsoll-runs/after         runs that are stored, or two page renders

Calls, from the whole 95 % interval of the change: better or worse (beyond --margin), small change (not 0, within it),
same (around 0, within it), cannot tell.

Conditions of --fail-if, comma-separated: cpu>2% (server CPU per request), p50>5%, p95>5%, p99>10%, all at the fixed load
unless --only saturated; goodput<-3%, rss>10%, at saturation; capacity<-5% (with --capacity); a change of the variant against
the baseline.

Exit codes: 0 nothing is worse, 1 worse or a condition of --fail-if has failed, 5 cannot tell; they rest on server CPU
per request at the fixed load (response p50 where the server is not seen), on goodput at saturation and, with --capacity,
on the capacity; others as in plimsoll --help.";

/// Comparison of a baseline with variants: change of CPU time, latency and goodput, each with its interval.
///
/// All variants are measured in blocks, each variant once a block in shuffled order, servers of plimsoll restarted each
/// time. In each block: an open loop at 70 % of what the baseline gets out (less if a variant gets out much less), then a
/// closed loop that saturates. After 6 blocks it says how many more are needed.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) given: Given,
    /// Target URLs, the baseline first; or directories of stored runs, or of two page renders
    #[arg(id = "url", value_name = "URL|DIR")]
    pub(crate) targets: Vec<String>,
    /// Server to start, measure and stop, such as 'nginx workers=2'; repeatable, the baseline first
    #[arg(long, value_name = "SERVER", conflicts_with = "url", allow_hyphen_values = true)]
    pub(crate) serve: Vec<String>,
    /// Name of a variant in the result, in the order of the variants; repeatable
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Vec<String>,
    /// Comparison of one server with itself: false alarms, and the smallest change that this machine shows
    #[arg(long)]
    pub(crate) aa: bool,
    /// Two servers at the same time, each with its load on half of the cores, swapped in each block
    ///
    /// What disturbs both at once is in both and cancels. For two --serve at a fixed load of at most 60 % of what either gets
    /// out of its half, by default 50 %: what two servers at once get out at saturation says nothing of either.
    #[arg(long)]
    pub(crate) duet: bool,
    /// One of the loads only
    #[arg(long, value_enum)]
    pub(crate) only: Option<OnlyArg>,
    /// Search for the capacity of each variant in each block, besides the other loads
    #[arg(long)]
    pub(crate) capacity: bool,
    /// Conditions that a load within the capacity has to meet, such as 'p99<100ms,errors<0.1%', as of plimsoll capacity
    #[arg(long, value_name = "GOAL", allow_hyphen_values = true)]
    pub(crate) goal: Option<String>,
    /// Time for the search of each variant in each block [default: 30s]
    #[arg(long, value_name = "TIME")]
    pub(crate) capacity_budget: Option<Duration>,
    /// Rate of the fixed load [default: 70 % of what a closed loop gets out of the baseline]
    #[arg(short = 'R', long, value_name = "PER_SECOND")]
    pub(crate) rate: Option<Rate>,
    /// Connections of the closed loop that saturates
    #[arg(short, long, value_name = "N", default_value = "64")]
    pub(crate) connections: Count,
    /// Change that matters, 0.1% to 50%: smaller ones are called the same, or a small change
    #[arg(long, value_name = "PERCENT", default_value = "2%", allow_hyphen_values = true)]
    pub(crate) margin: String,
    /// Wanted half-width of the intervals, 0.1% to 50%: it ends when they are [default: 0.6 of the margin]
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true)]
    pub(crate) precision: Option<String>,
    /// Blocks at most; without --precision exactly so many, if the budget allows [default: what the precision needs]
    #[arg(long, value_name = "N")]
    pub(crate) blocks: Option<Count>,
    /// Time for all blocks
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub(crate) budget: Duration,
    /// Conditions that make it fail in place of the calls, such as 'goodput<-3%,cpu>2%', see below; repeatable
    #[arg(long, value_name = "CONDITIONS", allow_hyphen_values = true)]
    pub(crate) fail_if: Vec<String>,
    /// Compare even if status or size of the responses differ
    #[arg(long)]
    pub(crate) allow_different_responses: bool,
    /// Measurement window of each trial, at least 1s
    #[arg(short, long, value_name = "TIME", default_value = "4s")]
    pub(crate) duration: Duration,
    /// Warm-up load before each window, not measured: a time, 0s, or auto (until goodput is steady by MSER-5) [default:
    /// auto, with --client 2s]
    ///
    /// Unless a warm-up is given here, each lasts 2 s and sends at most 20 requests where one of them may change
    /// something (POST, PUT, PATCH, DELETE).
    #[arg(long, value_name = "TIME|auto")]
    pub(crate) warmup: Option<WarmupArg>,
    /// Inter-arrival distribution of the fixed load
    #[arg(long, value_enum, default_value_t = ArrivalsArg::Poisson)]
    pub(crate) arrivals: ArrivalsArg,
    #[command(flatten)]
    pub(crate) measured: MeasuredArgs,
    /// Differential CPU flame graph of each variant against the baseline: profiles/1-to-2.svg
    ///
    /// Each variant is profiled after the blocks, in a trial of its own of twice the --duration at the fixed load (or the
    /// only one), which no figure is from. Needs a server on this machine and the permissions of plimsoll profile.
    #[arg(long, help_heading = "Observation", conflicts_with_all = ["aa", "client", "server_host"])]
    pub(crate) profile: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// One of the loads of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnlyArg {
    /// Open loop at a fixed rate
    Fixed,
    /// Closed loop that saturates
    Saturated,
    /// Search for the capacity
    Capacity,
}
