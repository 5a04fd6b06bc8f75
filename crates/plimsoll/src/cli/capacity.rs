//! The flags of `plimsoll capacity`.

use crate::cli::examples::Examples;
use crate::cli::threshold::{CONDITIONS, ThresholdArgs};
use crate::cli::{ArrivalsArg, MeasuredArgs, OutputArgs, WarmupArg};
use clap::Args;
use model::{Count, Duration, Rate};

const EXAMPLES: Examples = Examples(&[
    (
        "highest rate at which few requests fail or take longer than 100 ms",
        "plimsoll capacity http://127.0.0.1:8080/ --goal 'p99<100ms,errors<0.1%'",
    ),
    ("few errors, and no growing backlog", "plimsoll capacity http://127.0.0.1:8080/"),
    (
        "more time for a higher quantile",
        "plimsoll capacity http://127.0.0.1:8080/ --goal 'p99.9<1s,cpu<80%' \\\n--budget 10m",
    ),
    (
        "server that is started for the test, and a narrower bracket",
        "plimsoll capacity --serve 'nginx workers=2' --goal 'p99<5ms' --width 2%",
    ),
    ("load from two machines", "plimsoll capacity http://10.0.0.10/ --client ssh://load1,ssh://load2"),
    ("flags from a file (url, duration, ...); what is typed replaces them", "plimsoll capacity @load.toml --json"),
]);

const GOALS: &str = "\
Goals, comma-separated, all of which have to be met:
  p99<100ms, p99.9<=1s  quantiles of the response time, from the scheduled
                        send time
  mean<20ms, max<1s     mean and longest response time
  ttfb-p95<200ms        quantiles of the time to the first byte, from the
                        actual send time
  errors<0.1%           failed share of the requests [default: <0.1%]
  send-rate>99%         sent share of the requests that were due
                        [default: >99%]
  slo>=99%              share answered well within --slo
  cpu<80%, cpu<1.5      CPU use of the server: share of its CPUs, or
                        number of CPUs
  rss<512MiB            resident memory of the server
";

const EXITS: &str = "
Exit codes: 0 also for a capacity that is a named bound, 1 if the goal is not met at the lowest load, 5 if the time was \
over before the bracket was confirmed; others as in plimsoll --help.";

/// Find the highest rate that meets a goal, such as p99<100ms
///
/// The result is a bracket: a load that met the goal, and one above it that failed.
///
/// Open-loop trials, first with doubled rates, then between a rate that held and one that failed, then repeated at both
/// ends. A growing backlog fails a trial too, and ends it early. The noisier the server, the more trials. Before the
/// search a closed loop warms the server up and shows where to begin.
///
/// Flags may stand in a TOML file that is named as @FILE directly after the verb. Its keys are the long names of flags,
/// and url or serve. A flag that is typed replaces that of the file.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES.short("capacity"),
    after_long_help = EXAMPLES.with(&[CONDITIONS, "", GOALS, EXITS]),
    next_help_heading = "Search"
)]
pub(crate) struct CapacityArgs {
    /// Target URL; without it the built-in server
    ///
    /// http://, https://, or FastCGI to an application without its web server: fastcgi://HOST:PORT/FILE or
    /// fastcgi+unix:SOCKET:/FILE, where FILE is the script on the machine of the application.
    #[arg(help_heading = clap::builder::Resettable::Reset)]
    pub(crate) url: Option<String>,
    /// Conditions that a load has to meet, such as 'p99<100ms,errors<1%'
    ///
    /// They are listed below the examples.
    #[arg(help_heading = "Common", long, value_name = "GOAL", allow_hyphen_values = true)]
    pub(crate) goal: Option<String>,
    /// Time for the search
    ///
    /// More of it gives a narrower bracket where the server is noisy.
    #[arg(help_heading = "Common", long, value_name = "TIME", default_value = "230s")]
    pub(crate) budget: Duration,
    /// Server to start and measure, such as 'nginx workers=2'
    ///
    /// It is stopped after the measurement. plimsoll serve --list has all servers and their settings.
    #[arg(help_heading = "Common", long, value_name = "SERVER", conflicts_with = "url", allow_hyphen_values = true)]
    pub(crate) serve: Option<String>,
    /// Restart the server before each trial, with its initial data; with --serve
    #[arg(hide_short_help = true, long, requires = "serve", conflicts_with = "url")]
    pub(crate) restart: bool,
    /// Wanted width of the bracket, 0.5% to 50% [default: 3%]
    ///
    /// It is how far the upper end is above the lower one.
    #[arg(hide_short_help = true, long, value_name = "PERCENT", allow_hyphen_values = true)]
    pub(crate) width: Option<String>,
    /// Lowest rate to try [default: a thousandth of what a closed loop gets]
    #[arg(hide_short_help = true, long, value_name = "PER_SECOND")]
    pub(crate) from: Option<Rate>,
    /// Highest rate to try
    #[arg(long, value_name = "PER_SECOND", default_value = "1M")]
    pub(crate) to: Rate,
    /// Measurement window of a trial, at least 4s; the first trials take half of it [default: 6s]
    ///
    /// Longer by default where a quantile of the goal needs more requests than that.
    #[arg(hide_short_help = true, short, long, value_name = "TIME")]
    pub(crate) duration: Option<Duration>,
    /// Warm-up load before each window, not measured: a time, 0s, or auto (until goodput is steady) [default: 1s]
    ///
    /// Unless a warm-up is given here, each sends at most 20 requests where one of them may change something (POST, PUT,
    /// PATCH, DELETE).
    #[arg(hide_short_help = true, long, value_name = "TIME|auto")]
    pub(crate) warmup: Option<WarmupArg>,
    /// Connections, opened as needed: the limit of requests in flight
    #[arg(help_heading = "Common", short, long, value_name = "N", default_value = "256")]
    pub(crate) connections: Count,
    /// Inter-arrival distribution
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
    #[command(flatten)]
    pub(crate) thresholds: ThresholdArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
