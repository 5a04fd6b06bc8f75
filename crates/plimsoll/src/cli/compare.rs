//! The flags of `plimsoll compare`.

use crate::cli::examples::Examples;
use crate::cli::given::Given;
use crate::cli::threshold::{CONDITIONS_OF_COMPARISON, CiFiles};
use crate::cli::{ArrivalsArg, MeasuredArgs, OutputArgs, WarmupArg};
use clap::{Args, ValueEnum};
use model::{Count, Duration, Rate};

const EXAMPLES: Examples = Examples(&[
    (
        "two servers that run already, the baseline first",
        "plimsoll compare http://127.0.0.1:8080/ http://127.0.0.1:8081/",
    ),
    ("servers that plimsoll starts, afresh each time", "plimsoll compare --serve nginx --serve 'nginx workers=2'"),
    (
        "two builds, with names",
        "plimsoll compare --serve 'command -- ./old' --serve 'command -- ./new' \\\n--name old --name new",
    ),
    ("server CPU per request decides (A and B are URLs)", "plimsoll compare A B --only fixed --fail-if 'cpu>2%'"),
    ("in a pipeline", "plimsoll compare A B --fail-if 'goodput<-3%,p99>10%' --json"),
    ("highest rate that meets the goal", "plimsoll compare A B --only capacity --goal 'p99<50ms'"),
    ("both at once, on CPUs of their own", "plimsoll compare --duet --serve nginx --serve 'nginx gzip=on'"),
    ("functions that cost the difference", "plimsoll compare --serve nginx --serve 'nginx gzip=on' --profile"),
    ("smallest change that this machine shows", "plimsoll compare --aa --serve nginx"),
    (
        "load from two machines",
        "plimsoll compare http://10.0.0.10:8080/ http://10.0.0.10:8081/ \\\n--client ssh://load1,ssh://load2",
    ),
    ("runs that are stored, or two page renders", "plimsoll compare plimsoll-runs/before plimsoll-runs/after"),
    ("flags from a file (url, duration, ...); what is typed replaces them", "plimsoll compare @load.toml --json"),
]);

const CALLS: &str = "
Calls, from the whole 95 % interval of the change: better or worse (beyond --margin), small change (not 0, within it), \
same (around 0, within it), cannot tell.

Exit codes: 0 nothing is worse, 1 worse or a condition of --fail-if has failed, 5 cannot tell. They rest on server CPU per \
request at the fixed load (response p50 where the server is not seen), on goodput at saturation and, with --capacity, on \
the capacity; others as in plimsoll --help.";

/// Compare a baseline with variants, each change with its interval
///
/// The changes are those of CPU time, latency and goodput.
///
/// All variants are measured in blocks, in shuffled order, servers of plimsoll restarted for each. In each block the
/// variants take turns within seconds, first at an open loop at 70 % of what the baseline gets out (less if a variant gets
/// out much less), then at a closed loop that saturates. It ends when every change can be called.
///
/// Flags may stand in a TOML file that is named as @FILE directly after the verb. Its keys are the long names of flags,
/// and url or serve. A flag that is typed replaces that of the file.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES.short("compare"),
    after_long_help = EXAMPLES.with(&[CONDITIONS_OF_COMPARISON, CALLS]),
    next_help_heading = "Comparison"
)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub(crate) given: Given,
    /// Target URLs, the baseline first; or directories of stored results
    #[arg(id = "url", value_name = "URL|DIR", help_heading = clap::builder::Resettable::Reset)]
    pub(crate) targets: Vec<String>,
    /// Server to start and measure, such as 'nginx workers=2'; repeatable
    ///
    /// The baseline comes first. plimsoll serve --list has all servers and their settings.
    #[arg(help_heading = "Common", long, value_name = "SERVER", conflicts_with = "url", allow_hyphen_values = true)]
    pub(crate) serve: Vec<String>,
    /// Connections of the closed loop that saturates
    #[arg(help_heading = "Common", short, long, value_name = "N", default_value = "64")]
    pub(crate) connections: Count,
    /// Rate of the fixed load [default: 70 % of what the baseline can do]
    #[arg(help_heading = "Common", short = 'R', long, value_name = "PER_SECOND")]
    pub(crate) rate: Option<Rate>,
    /// Time for all blocks
    #[arg(help_heading = "Common", long, value_name = "TIME", default_value = "10m")]
    pub(crate) budget: Duration,
    /// Exit code 1 if this holds, such as 'goodput<-3%,cpu>2%'
    ///
    /// These conditions decide the exit code instead of the default, that any variant is worse; comma-separated, repeatable. The conditions are listed below the examples.
    #[arg(help_heading = "Common", long, value_name = "CONDITIONS", allow_hyphen_values = true)]
    pub(crate) fail_if: Vec<String>,
    /// Name of a variant, in the order of the variants; repeatable
    #[arg(hide_short_help = true, long, value_name = "NAME")]
    pub(crate) name: Vec<String>,
    /// Compare one server with itself
    ///
    /// It shows false alarms, and the smallest change that this machine shows.
    #[arg(long)]
    pub(crate) aa: bool,
    /// Two servers at the same time, each on half of the cores
    ///
    /// The halves are swapped in each block. What disturbs both at once is in both and cancels. For two --serve at a
    /// fixed load of at most 60 % of what either gets
    /// out of its half, by default 50 %: what two servers at once get out at saturation says nothing of either.
    #[arg(long)]
    pub(crate) duet: bool,
    /// One of the loads only
    #[arg(long, value_enum, value_name = "LOAD")]
    pub(crate) only: Option<OnlyArg>,
    /// Search for the capacity of each variant in each block, besides the other loads
    #[arg(hide_short_help = true, long)]
    pub(crate) capacity: bool,
    /// Conditions that a load within the capacity has to meet, such as 'p99<100ms,errors<0.1%', as of plimsoll capacity
    #[arg(hide_short_help = true, long, value_name = "GOAL", allow_hyphen_values = true)]
    pub(crate) goal: Option<String>,
    /// Time for the search of each variant in each block [default: 30s]
    #[arg(hide_short_help = true, long, value_name = "TIME")]
    pub(crate) capacity_budget: Option<Duration>,
    /// Change that matters, 0.1% to 50%
    ///
    /// Smaller ones are called the same, or a small change.
    #[arg(long, value_name = "PERCENT", default_value = "2%", allow_hyphen_values = true)]
    pub(crate) margin: String,
    /// Stop as soon as every interval is this narrow: its half-width, 0.1% to 50% [default: 0.3 of the margin]
    #[arg(hide_short_help = true, long, value_name = "PERCENT", allow_hyphen_values = true)]
    pub(crate) precision: Option<String>,
    /// Blocks at most; without --precision exactly so many, if the budget allows [default: until the answer is clear]
    #[arg(hide_short_help = true, long, value_name = "N")]
    pub(crate) blocks: Option<Count>,
    /// Compare even if status or size of the responses differ
    #[arg(hide_short_help = true, long)]
    pub(crate) allow_different_responses: bool,
    /// Measured time of each variant at each load in a block, at least 1s [default: 2s at saturation and 3s at the fixed
    /// load, or 4s below 1,000 requests per second and where the variants do not take turns]
    ///
    /// Variants that take turns have up to four windows of at least 1 s and 1,000 requests each.
    #[arg(hide_short_help = true, short, long, value_name = "TIME")]
    pub(crate) duration: Option<Duration>,
    /// One server at a time, each variant measured to the end before the next
    ///
    /// Without it the servers of all variants run in each block, and the variants take turns within seconds, so that
    /// whatever disturbs the machine for longer is in all of them. It takes the memory of all servers at once.
    #[arg(hide_short_help = true, long)]
    pub(crate) one_at_a_time: bool,
    /// Warm-up load before each window, not measured: a time, 0s, or auto (until goodput is steady by MSER-5) [default:
    /// auto, with --client 2s]
    ///
    /// Variants that take turns have it when their block begins, 0.5 s before another load, and 0.25 s before the next
    /// window of the same load.
    ///
    /// Unless a warm-up is given here, each lasts 2 s and sends at most 20 requests where one of them may change
    /// something (POST, PUT, PATCH, DELETE).
    #[arg(hide_short_help = true, long, value_name = "TIME|auto")]
    pub(crate) warmup: Option<WarmupArg>,
    /// Inter-arrival distribution of the fixed load
    #[arg(
        hide_short_help = true,
        long,
        value_enum,
        value_name = "DISTRIBUTION",
        default_value_t = ArrivalsArg::Poisson
    )]
    pub(crate) arrivals: ArrivalsArg,
    #[command(flatten)]
    pub(crate) measured: MeasuredArgs,
    /// CPU flame graphs of the difference: profiles/1-to-2.svg
    ///
    /// Each variant is profiled after the blocks, in a trial of its own of twice the --duration at the fixed load (or the
    /// only one), which no figure is from. Needs a server on this machine and the permissions of plimsoll profile.
    #[arg(
        hide_short_help = true,
        long,
        help_heading = "Observation",
        conflicts_with_all = ["aa", "client", "server_host"]
    )]
    pub(crate) profile: bool,
    #[command(flatten)]
    pub(crate) files: CiFiles,
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
