//! Flags of `plimsoll check`.

use super::observe::ObserverArgs;
use super::{GeneratorArgs, RequestArgs};
use clap::Args;
use model::{Count, Rate};

const EXAMPLES: &str = "\
Examples:
  plimsoll check                                      this machine
  plimsoll check -c 20k                               this machine, for 20,000 connections
  plimsoll check https://shop.example/                this machine and the target
  plimsoll check http://127.0.0.1:8080/ -R 5000 --no-keepalive
  plimsoll check http://127.0.0.1:8080/api -H 'Accept: application/json' --json
  plimsoll check https://shop.example/ --no-burst      a site in production: single requests only
  plimsoll check --serve 'nginx workers=2'            server started for the check";

/// Preflight check of this machine and the target: what would make a measurement invalid.
///
/// Machine: limits, ports, queues, CPU frequency, quota, hypervisor, steal and other programs (for one second), network
/// cards. Target: redirects and the URL to measure, body, compression, caches, keep-alive, accept queue, and whether a
/// burst of at most 200 requests over 20 connections in 5 s is rate-limited or banned (safe methods only; --no-burst
/// leaves it out, and about 20 single requests are sent). The output says how many requests were sent. Each row
/// names the rule that a measurement would trip; exit code 4 means that it would not be valid. run, sweep, capacity and
/// compare make the checks that cost nothing by themselves.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CheckArgs {
    /// Target URL, such as http://127.0.0.1:8080/page; without it only this machine is checked
    pub(crate) url: Option<String>,
    /// Server to start, check and stop, such as 'nginx workers=2'; see plimsoll serve --list
    #[arg(long, value_name = "SERVER", conflicts_with = "url", allow_hyphen_values = true)]
    pub(crate) serve: Option<String>,
    /// Connections of the planned measurement [default: 64; with -R 256]
    #[arg(short, long, value_name = "N")]
    pub(crate) connections: Option<Count>,
    /// Requests per second of the planned measurement
    #[arg(short = 'R', long, value_name = "PER_SECOND")]
    pub(crate) rate: Option<Rate>,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    /// No burst of 200 requests: single requests only, so whether a rate limiter or ban refuses many stays unknown
    #[arg(long)]
    pub(crate) no_burst: bool,
    #[command(flatten)]
    pub(crate) generator: GeneratorArgs,
    #[command(flatten)]
    pub(crate) observe: ObserverArgs,
    /// One JSON object on stdout instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// No progress on stderr
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
}
