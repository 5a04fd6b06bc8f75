//! The flags of `plimsoll observe`, and of what `run` and `sweep` look at beside the load.

use clap::Args;
use model::Duration;
use std::net::SocketAddr;

const OBSERVE_EXAMPLES: &str = "\
Examples:
  plimsoll observe                                    this machine, until ^C
  plimsoll observe :8080                              who listens on this port, on whatever address
  plimsoll observe nginx 'php-fpm under supervisord' mariadbd
  plimsoll observe http://127.0.0.1:8080/ unix:/run/php/php-fpm.sock
  plimsoll observe cgroup:/system.slice/app.service 4711
  plimsoll observe :8080 --json -d 10s | jq .groups[0].cpu_cores
  plimsoll observe :8080 -q --prometheus 127.0.0.1:9101";

const TARGETS: &str = "\
What a TARGET may be, always with its descendants:
  4711, pid:4711         the process of this number
  nginx, name:nginx      the process of this name, with or without a version behind it (php-fpm: php-fpm8.2 too)
  'NAME under PARENT'    all of this name below a process, itself a name or a number
  :8080                  who listens on this TCP port
  127.0.0.1:8080, URL    who gets the connections to this address of this machine
  unix:/run/app.sock     who listens on this Unix socket
  cgroup:/a/b            all in this control group and below, as /proc/PID/cgroup names it";

/// Watches processes and the machine, once a second, without putting a load on anything.
///
/// A table on a terminal, otherwise a line for each look and target. ^C ends it with a summary and exit code 0; so does
/// the end of all processes that were asked for by number.
#[derive(Debug, Args)]
#[command(after_help = format!("{TARGETS}\n\n{OBSERVE_EXAMPLES}"))]
pub(crate) struct ObserveArgs {
    /// What to watch, see below; without any only the machine
    #[arg(value_name = "TARGET", allow_negative_numbers = true)]
    pub(crate) targets: Vec<String>,
    /// Time from look to look
    #[arg(short, long, value_name = "TIME", default_value = "1s")]
    pub(crate) interval: Duration,
    /// End after this time [default: with ^C]
    #[arg(short, long, value_name = "TIME")]
    pub(crate) duration: Option<Duration>,
    /// Print one JSON object a look, in one line, and the summary on stderr
    #[arg(long)]
    pub(crate) json: bool,
    /// Answer /metrics at this address of loopback, such as 127.0.0.1:9101, with the figures of now for Prometheus
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) prometheus: Option<SocketAddr>,
    /// Nothing but the summary
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// What is looked at beside the load.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Observation")]
pub(crate) struct BesideArgs {
    /// The processes that are the server, where the target's port does not tell (a container, a port forwarder, a proxy
    /// before it): pid:4711, name:gunicorn, 'php under 4711', :8080, unix:PATH or cgroup:PATH, as of plimsoll observe,
    /// always with their descendants [default: who listens where the target is]
    #[arg(long, value_name = "TARGET", conflicts_with = "serve", allow_negative_numbers = true)]
    pub(crate) server: Option<String>,
    /// Watch these processes and their descendants too: a name such as php-fpm or mariadbd (a version may follow it in
    /// the process list), a process number, or any TARGET of plimsoll observe; may be repeated. Those of a server started
    /// with --serve are watched anyway
    #[arg(long, value_name = "TARGET", allow_negative_numbers = true)]
    pub(crate) observe: Vec<String>,
    /// Read this status page once a second: http://HOST/PATH of nginx (stub_status), Apache (?auto), php-fpm or lighttpd,
    /// mysql://USER@HOST:PORT, mysql+unix://USER@/PATH.sock, redis://HOST:PORT or redis+unix:///PATH.sock; may be repeated.
    /// Passwords come from PLIMSOLL_MYSQL_PASSWORD, PLIMSOLL_REDIS_PASSWORD, or a file: ?password-file=PATH behind it.
    /// Those of a server started with --serve are read anyway
    #[arg(long, value_name = "URL")]
    pub(crate) status: Vec<String>,
}
