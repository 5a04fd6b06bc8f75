//! The flags of `plimsoll sweep`.

use super::examples::Examples;
use super::measured::{MeasuredArgs, OutputArgs};
use super::threshold::{CONDITIONS, ThresholdArgs};
use super::values::{ArrivalsArg, OverArg, WarmupArg};
use clap::Args;
use model::{Count, Duration};

const EXAMPLES: Examples = Examples(&[
    ("connections 1, 2, 4, ... until the server saturates", "plimsoll sweep http://127.0.0.1:8080/"),
    ("built-in server, whose peak is known", "plimsoll sweep"),
    (
        "requests per second instead of connections",
        "plimsoll sweep http://127.0.0.1:8080/ --over rate --from 500 --to 50k",
    ),
    ("longer, and each load three times", "plimsoll sweep http://127.0.0.1:8080/ -d 15s --iterations 3"),
    ("the rows of a paper's table", "plimsoll sweep http://127.0.0.1:8080/ --loads 16,32,64 --iterations 6"),
    ("two servers in one report", "plimsoll sweep --serve 'nginx workers=1' --serve 'nginx workers=2'"),
    ("load from two machines", "plimsoll sweep http://10.0.0.10/ --client ssh://load1,ssh://load2"),
    ("flags from a file (url, duration, ...); what is typed replaces them", "plimsoll sweep @load.toml --json"),
]);

/// Raise the load until the server saturates: peak, knee, bottleneck
///
/// Loads rise geometrically until throughput stops growing, levels are added around the knee, then all are repeated in
/// shuffled order. Between levels it waits until no request is outstanding.
///
/// Flags may stand in a TOML file that is named as @FILE directly after the verb. Its keys are the long names of flags,
/// and url or serve. A flag that is typed replaces that of the file.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES.short("sweep"),
    after_long_help = EXAMPLES.with(&[CONDITIONS]),
    next_help_heading = "Load"
)]
pub(crate) struct SweepArgs {
    /// Target URL; without it the built-in server
    ///
    /// http://, https://, or FastCGI to an application without its web server: fastcgi://HOST:PORT/FILE or
    /// fastcgi+unix:SOCKET:/FILE, where FILE is the script on the machine of the application.
    #[arg(help_heading = clap::builder::Resettable::Reset)]
    pub(crate) url: Option<String>,
    /// Load that rises from level to level
    #[arg(help_heading = "Common", long, value_enum, value_name = "WHAT", default_value_t = OverArg::Connections)]
    pub(crate) over: OverArg,
    /// First load [default: 1 connection, or 100 requests/s]
    ///
    /// With --client it is one connection per machine.
    #[arg(help_heading = "Common", long, value_name = "LOAD")]
    pub(crate) from: Option<Count>,
    /// Highest load to try [default: 1024 connections, or 1M requests/s]
    #[arg(help_heading = "Common", long, value_name = "LOAD")]
    pub(crate) to: Option<Count>,
    /// These loads and no others, comma-separated, such as 16,32,64
    ///
    /// Each is measured, whatever the server does at those before it, so that the rows of several sweeps are the same.
    #[arg(hide_short_help = true, long, value_name = "LOAD,...", value_delimiter = ',', conflicts_with_all = ["from", "to", "points"])]
    pub(crate) loads: Vec<Count>,
    /// Length of each measurement window
    #[arg(help_heading = "Common", short, long, value_name = "TIME", default_value = "3s")]
    pub(crate) duration: Duration,
    /// Server to start and measure, such as 'nginx workers=2'; repeatable
    ///
    /// The curves of several servers stand in one report. plimsoll serve --list has all servers and their settings.
    #[arg(help_heading = "Common", long, value_name = "SERVER", conflicts_with = "url", allow_hyphen_values = true)]
    pub(crate) serve: Vec<String>,
    /// Restart the server before each load level, with its initial data; with --serve
    #[arg(hide_short_help = true, long, requires = "serve", conflicts_with = "url")]
    pub(crate) restart: bool,
    /// CPU flame graph of one more measurement at the peak: profile.svg
    ///
    /// The levels stay unprofiled.
    /// Also off-cpu.svg (what workers waited for at the peak) and off-cpu-stacks.svg (where threads waited). Needs the
    /// permissions of plimsoll profile.
    #[arg(long, conflicts_with_all = ["client", "server_host"])]
    pub(crate) profile: bool,
    /// A/B-test the predicted bottleneck in 6 randomised blocks; with --serve or without a URL
    ///
    /// After the measurement the server is restarted with and without the limit raised, and the gain is compared with
    /// the prediction. Each block takes one warm-up and window per variant.
    #[arg(hide_short_help = true, long, conflicts_with_all = ["url", "server_host", "no_observe"])]
    pub(crate) confirm: bool,
    /// Target number of load levels
    #[arg(hide_short_help = true, long, value_name = "N", default_value = "8")]
    pub(crate) points: Count,
    /// Repetitions per load level
    #[arg(long, value_name = "N", default_value = "2")]
    pub(crate) iterations: Count,
    /// Load before each that does not count: a time, or auto [default: 500ms]
    ///
    /// With auto it lasts until goodput is steady.
    /// Unless a warm-up is given here, each sends at most 20 requests where one of them may change something (POST, PUT,
    /// PATCH, DELETE).
    #[arg(long, value_name = "TIME|auto")]
    pub(crate) warmup: Option<WarmupArg>,
    /// Extra time to make up for disturbed measurement time [default: half of the planned time]
    ///
    /// Disturbed: the hypervisor, a CPU quota or other programs took CPU time from client or server.
    #[arg(hide_short_help = true, long, value_name = "TIME", conflicts_with = "client")]
    pub(crate) budget: Option<Duration>,
    /// Connections, opened as needed: the limit of requests in flight; with --over rate [default: 256]
    #[arg(hide_short_help = true, short, long, value_name = "N")]
    pub(crate) connections: Option<Count>,
    /// Inter-arrival distribution; with --over rate [default: poisson]
    #[arg(hide_short_help = true, long, value_enum, value_name = "DISTRIBUTION")]
    pub(crate) arrivals: Option<ArrivalsArg>,
    #[command(flatten)]
    pub(crate) measured: MeasuredArgs,
    #[command(flatten)]
    pub(crate) thresholds: ThresholdArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
