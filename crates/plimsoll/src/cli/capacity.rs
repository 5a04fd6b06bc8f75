//! The flags of `plimsoll capacity`.

use crate::cli::threshold::ThresholdArgs;
use crate::cli::{ArrivalsArg, MeasuredArgs, OutputArgs, WarmupArg};
use clap::Args;
use model::{Count, Duration, Rate};

const EXAMPLES: &str = "\
Examples:
  plimsoll capacity http://127.0.0.1:8080/ --goal 'p99<100ms,errors<0.1%'
  plimsoll capacity http://127.0.0.1:8080/            few errors, and no growing backlog
  plimsoll capacity http://127.0.0.1:8080/ --goal 'p99.9<1s,cpu<80%' --budget 10m
  plimsoll capacity --serve 'nginx workers=2' --goal 'p99<5ms' --width 2%
  plimsoll capacity http://10.0.0.10/ --client ssh://load1,ssh://load2   load from two machines

Goals, comma-separated, all of which have to be met:
  p99<100ms, p99.9<=1s, p50<20ms   quantiles of the response time, from the scheduled send time
  mean<20ms, max<1s                mean and longest response time
  errors<0.1%                      failed share of the requests [default: <0.1%]
  send-rate>99%                    sent share of the requests that were due [default: >99%]
  cpu<80%, cpu<1.5                 CPU use of the server: share of its CPUs, or number of CPUs
  rss<512MiB                       resident memory of the server

Exit codes: 0 also for a capacity that is a named bound, 1 if the goal is not met at the lowest load, 5 if the time
was over before the bracket was confirmed; others as in plimsoll --help.";

/// Highest rate that meets a goal, as a bracket: a load that held, and one above it that failed.
///
/// Open-loop trials, first with doubled rates, then between a rate that held and one that failed, then repeated at both
/// ends. A growing backlog fails a trial too, and ends it early. The noisier the server, the more trials. Before the
/// search a closed loop warms the server up and shows where to begin.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CapacityArgs {
    /// Target URL, such as http://127.0.0.1:8080/page; without it the built-in server
    ///
    /// http://, https://, or FastCGI to an application without its web server: fastcgi://HOST:PORT/FILE or
    /// fastcgi+unix:SOCKET:/FILE, where FILE is the script on the machine of the application.
    pub(crate) url: Option<String>,
    /// Server to start, measure and stop, such as 'nginx workers=2'; see plimsoll serve --list
    #[arg(long, value_name = "SERVER", conflicts_with = "url", allow_hyphen_values = true)]
    pub(crate) serve: Option<String>,
    /// Restart the server before each trial, with its initial data; with --serve
    #[arg(long, requires = "serve", conflicts_with = "url")]
    pub(crate) restart: bool,
    /// Conditions that a load has to meet, such as 'p99<100ms,errors<0.1%', see below
    #[arg(long, value_name = "GOAL", allow_hyphen_values = true)]
    pub(crate) goal: Option<String>,
    /// Wanted width of the bracket: the upper end above the lower one, 0.5% to 50% [default: 3%]
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true)]
    pub(crate) width: Option<String>,
    /// Time for the search; more of it gives a narrower bracket where the server is noisy
    #[arg(long, value_name = "TIME", default_value = "230s")]
    pub(crate) budget: Duration,
    /// Lowest rate to try, per second [default: a thousandth of what a closed loop gets]
    #[arg(long, value_name = "RATE")]
    pub(crate) from: Option<Rate>,
    /// Highest rate to try, per second
    #[arg(long, value_name = "RATE", default_value = "1M")]
    pub(crate) to: Rate,
    /// Measurement window of a trial, at least 4s; the first trials take half of it [default: 6s]
    ///
    /// Longer by default where a quantile of the goal needs more requests than that.
    #[arg(short, long, value_name = "TIME")]
    pub(crate) duration: Option<Duration>,
    /// Warm-up load before each window, not measured: a time, 0s, or auto (until goodput is steady) [default: 1s]
    ///
    /// Unless a warm-up is given here, each sends at most 20 requests where one of them may change something (POST, PUT,
    /// PATCH, DELETE).
    #[arg(long, value_name = "TIME|auto")]
    pub(crate) warmup: Option<WarmupArg>,
    /// Connections, opened as needed: the limit of requests in flight
    #[arg(short, long, value_name = "N", default_value = "256")]
    pub(crate) connections: Count,
    /// Inter-arrival distribution
    #[arg(long, value_enum, default_value_t = ArrivalsArg::Poisson)]
    pub(crate) arrivals: ArrivalsArg,
    #[command(flatten)]
    pub(crate) measured: MeasuredArgs,
    #[command(flatten)]
    pub(crate) thresholds: ThresholdArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
