//! Flags of `plimsoll check`.

use super::examples::Examples;
use super::observe::ObserverArgs;
use super::{GeneratorArgs, RequestArgs};
use clap::Args;
use model::{Count, Rate};

const EXAMPLES: Examples = Examples(&[
    ("this machine and the target", "plimsoll check https://shop.example/"),
    ("this machine alone, for 20,000 connections", "plimsoll check -c 20k"),
    ("for an open loop with new connections", "plimsoll check http://127.0.0.1:8080/ -R 5000 --no-keepalive"),
    ("with a header, as JSON", "plimsoll check http://127.0.0.1:8080/api -H 'Accept: application/json' \\\n--json"),
    ("a site in production: single requests only", "plimsoll check https://shop.example/ --no-burst"),
    ("server that is started for the check", "plimsoll check --serve 'nginx workers=2'"),
]);

/// Check machine and target before a measurement
///
/// Machine: limits, ports, queues, CPU frequency, quota, hypervisor, steal and other programs (for one second), network
/// cards. Target: redirects and the URL to measure, body, compression, caches, keep-alive, accept queue, and whether a
/// burst of at most 200 requests over 20 connections in 5 s is rate-limited or banned (safe methods only; --no-burst
/// leaves it out, and about 20 single requests are sent). The output says how many requests were sent. Each row
/// names the rule that a measurement would trip; exit code 4 means that it would not be valid. run, sweep, capacity and
/// compare make the checks that cost nothing by themselves.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES.short("check"),
    after_long_help = EXAMPLES.full(),
    next_help_heading = "Planned measurement"
)]
pub(crate) struct CheckArgs {
    /// Target URL; without it only this machine is checked
    #[arg(help_heading = clap::builder::Resettable::Reset)]
    pub(crate) url: Option<String>,
    /// Server to start and check, such as 'nginx workers=2'
    ///
    /// plimsoll serve --list has all servers and their settings.
    #[arg(help_heading = "Common", long, value_name = "SERVER", conflicts_with = "url", allow_hyphen_values = true)]
    pub(crate) serve: Option<String>,
    /// Connections of the planned measurement [default: 64; with -R 256]
    #[arg(help_heading = "Common", short, long, value_name = "N")]
    pub(crate) connections: Option<Count>,
    /// Requests per second of the planned measurement
    #[arg(help_heading = "Common", short = 'R', long, value_name = "PER_SECOND")]
    pub(crate) rate: Option<Rate>,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    /// Single requests only, no burst of 200 requests
    ///
    /// Whether a rate limiter or ban refuses many requests then stays unknown.
    #[arg(long)]
    pub(crate) no_burst: bool,
    #[command(flatten)]
    pub(crate) generator: GeneratorArgs,
    #[command(flatten)]
    pub(crate) observe: ObserverArgs,
    /// One JSON object on stdout instead of text
    #[arg(long, help_heading = "Common")]
    pub(crate) json: bool,
    /// No progress on stderr
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
}
