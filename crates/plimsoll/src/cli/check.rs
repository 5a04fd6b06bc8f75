//! Flags of `plimsoll check`.

use super::observe::BesideArgs;
use super::{GeneratorArgs, RequestArgs};
use clap::Args;
use model::{Count, Rate};

const EXAMPLES: &str = "\
Examples:
  plimsoll check                                      this machine
  plimsoll check -c 20k                               this machine, for 20,000 connections
  plimsoll check https://shop.example/                the target as well
  plimsoll check http://127.0.0.1:8080/ -R 5000 --no-keepalive
  plimsoll check http://127.0.0.1:8080/api -H 'Accept: application/json' --json
  plimsoll check --serve 'nginx workers=2'            starts it, looks at it, ends it";

/// Looks at this machine and the target before a measurement, and says what would spoil it.
///
/// Of this machine: limits, ports, queues, clock of the CPUs, quota, hypervisor, steal and other programs (for a second),
/// network cards. Of a target: redirects and the URL to measure, body, compression, caches, keep-alive, accept queue, and
/// whether a rate limiter or a ban answers a burst of at most 200 requests over 20 connections in 5 s, which is only
/// sent with methods that change nothing. Each row names the rule that a measurement would trip; exit code 4 says
/// that it would not be valid. run and sweep look at what is free by themselves, before the first load.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CheckArgs {
    /// What is to be measured, such as http://127.0.0.1:8080/page; without it only this machine is looked at
    pub(crate) url: Option<String>,
    /// Start this server, look at it and end it, such as 'nginx workers=2'; see plimsoll serve --list
    #[arg(long, value_name = "SERVER", conflicts_with = "url", allow_hyphen_values = true)]
    pub(crate) serve: Option<String>,
    /// Connections that the measurement is to have [default: 64; with -R 256]
    #[arg(short, long, value_name = "N")]
    pub(crate) connections: Option<Count>,
    /// Requests per second that it is to have
    #[arg(short = 'R', long, value_name = "PER_SECOND")]
    pub(crate) rate: Option<Rate>,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    #[command(flatten)]
    pub(crate) generator: GeneratorArgs,
    #[command(flatten)]
    pub(crate) observe: BesideArgs,
    /// Print one JSON object instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// No progress on stderr
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
}
