//! The flags of `plimsoll run`.

use super::examples::Examples;
use super::measured::{MeasuredArgs, OutputArgs};
use super::threshold::{CONDITIONS, ThresholdArgs};
use super::values::{ArrivalsArg, WarmupArg};
use clap::Args;
use model::{Count, Duration, Rate};

const EXAMPLES: Examples = Examples(&[
    ("closed loop: 64 connections, as fast as the server answers", "plimsoll run http://127.0.0.1:8080/"),
    ("open loop: 1,000 requests/s with Poisson arrivals", "plimsoll run http://127.0.0.1:8080/ -R 1000 -d 1m"),
    (
        "CI: exit code 1 if the server is slower than this",
        "plimsoll run http://127.0.0.1:8080/ --fail-if 'goodput<1000,p99>100ms'",
    ),
    (
        "a load that ends early where the server fails",
        "plimsoll run http://127.0.0.1:8080/ -R 1000 -d 10m \\\n--abort-if 'errors>5%,send-rate<90%'",
    ),
    (
        "answers that are no 2xx are good ones too, if they are declared",
        "plimsoll run http://127.0.0.1:8080/x --expect status=404",
    ),
    ("one TLS handshake per request", "plimsoll run https://127.0.0.1:8443/ -k --no-keepalive"),
    ("weighted mix of requests", "plimsoll run http://127.0.0.1:8080 --urls mix.txt"),
    (
        "a different body in each request",
        "plimsoll run http://127.0.0.1:8080/users -m POST --template \\\n-b 'name={{run}}-{{counter}}'",
    ),
    ("Unix socket", "plimsoll run http://shop.example/ --unix-socket /run/app.sock"),
    ("server that is started for the test", "plimsoll run --serve 'nginx file-size=64KiB'"),
    ("load from two machines", "plimsoll run http://10.0.0.10/ --client ssh://load1,ssh://load2"),
    ("server observed on its own machine", "plimsoll run http://shop.example/ --server-host ssh://web1"),
    ("server started there", "plimsoll run --serve nginx --server-host ssh://web1 --server-ip 10.0.0.10"),
    ("one figure of the result", "plimsoll run http://127.0.0.1:8080/ --json | jq .goodput_per_s.value"),
    ("flags from a file (url, duration, ...); what is typed replaces them", "plimsoll run @load.toml --json"),
]);

/// Measure one load, and judge whether the result is valid
///
/// Closed loop with -c: each connection sends its next request when the response to the last is complete. Open loop
/// with -R: requests follow a schedule, whether or not the server keeps up, and latency counts from the scheduled send
/// time. Without a URL the built-in server is started on CPUs of its own and measured.
///
/// Flags may stand in a TOML file that is named as @FILE directly after the verb. Its keys are the long names of flags,
/// and url or serve. A flag that is typed replaces that of the file.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES.short("run"),
    after_long_help = EXAMPLES.with(&[CONDITIONS]),
    next_help_heading = "Load"
)]
pub(crate) struct RunArgs {
    /// Target URL; without it the built-in server
    ///
    /// http://, https://, or FastCGI to an application without its web server: fastcgi://HOST:PORT/FILE or
    /// fastcgi+unix:SOCKET:/FILE, where FILE is the script on the machine of the application.
    #[arg(help_heading = clap::builder::Resettable::Reset)]
    pub(crate) url: Option<String>,
    /// Connections [default: 64; with -R at most 256]
    ///
    /// All are opened in advance, by default no more than there are requests (-n). With -R they are opened as they are
    /// needed, at most so many.
    #[arg(help_heading = "Common", short, long, value_name = "N")]
    pub(crate) connections: Option<Count>,
    /// Requests per second over all connections (open loop)
    #[arg(help_heading = "Common", short = 'R', long, value_name = "PER_SECOND")]
    pub(crate) rate: Option<Rate>,
    /// Inter-arrival distribution
    #[arg(
        hide_short_help = true,
        long,
        value_enum,
        value_name = "DISTRIBUTION",
        default_value_t = ArrivalsArg::Poisson,
        requires = "rate"
    )]
    pub(crate) arrivals: ArrivalsArg,
    /// Length of the measurement window [default: 30s]
    #[arg(help_heading = "Common", short, long, value_name = "TIME", conflicts_with = "requests")]
    pub(crate) duration: Option<Duration>,
    /// Number of requests, instead of a duration
    ///
    /// Beside them only the probe sends some.
    #[arg(help_heading = "Common", short = 'n', long, value_name = "N")]
    pub(crate) requests: Option<Count>,
    /// Server to start and measure, such as 'nginx workers=2'
    ///
    /// It is stopped after the measurement. plimsoll serve --list has all servers and their settings.
    #[arg(help_heading = "Common", long, value_name = "SERVER", conflicts_with = "url", allow_hyphen_values = true)]
    pub(crate) serve: Option<String>,
    /// Load before it that does not count: a time, or auto [default: 2s]
    ///
    /// With auto it lasts until goodput is steady (by MSER-5). The default is 0s with -n.
    ///
    /// Its requests are sent as fast as those of the measurement. Unless a warm-up is given here, it sends at most 20
    /// requests where one of them may change something (POST, PUT, PATCH, DELETE).
    #[arg(long, value_name = "TIME|auto")]
    pub(crate) warmup: Option<WarmupArg>,
    /// Extra time to make up for disturbed measurement time [default: half of the planned time]
    ///
    /// Disturbed: the hypervisor, a CPU quota or other programs took CPU time from client or server.
    #[arg(hide_short_help = true, long, value_name = "TIME", conflicts_with_all = ["client", "requests"])]
    pub(crate) budget: Option<Duration>,
    /// CPU flame graph of the measurement: profile.svg
    ///
    /// Its overhead affects the results.
    /// Also off-cpu.svg (what workers waited for) and off-cpu-stacks.svg (where threads waited). Needs the permissions
    /// of plimsoll profile. Measure again without it for headline numbers.
    #[arg(long, conflicts_with_all = ["client", "server_host"])]
    pub(crate) profile: bool,
    /// End the load early once this has held over 5 s, such as 'errors>5%,send-rate<90%'
    ///
    /// Conditions as in --fail-if, of what is known while a load runs: errors, send-rate (the server no longer takes the
    /// rate of -R), goodput, throughput, slo, mean, and quantiles such as p99 and ttfb-p95. Each second they are put to
    /// the last 5 s of the measurement window. What was measured is kept, and the exit code is 1.
    #[arg(help_heading = "CI", hide_short_help = true, long, value_name = "CONDITIONS", allow_hyphen_values = true)]
    pub(crate) abort_if: Vec<String>,
    /// A/B-test the predicted bottleneck in 6 randomised blocks; with --serve or without a URL
    ///
    /// After the measurement the server is restarted with and without the limit raised, and the gain is compared with
    /// the prediction. Each block takes one warm-up and window per variant.
    #[arg(hide_short_help = true, long, conflicts_with_all = ["url", "server_host", "no_observe"])]
    pub(crate) confirm: bool,
    #[command(flatten)]
    pub(crate) measured: MeasuredArgs,
    #[command(flatten)]
    pub(crate) thresholds: ThresholdArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
