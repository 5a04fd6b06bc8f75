//! The flags of `plimsoll observe`, and of what `run` and `sweep` look at beside the load.

use super::examples::Examples;
use clap::Args;
use model::Duration;
use std::net::SocketAddr;

const OBSERVE_EXAMPLES: Examples = Examples(&[
    ("this machine, until ^C", "plimsoll observe"),
    ("whoever listens on this port, on any address", "plimsoll observe :8080"),
    ("several by name", "plimsoll observe nginx 'php-fpm under supervisord' mariadbd"),
    ("by URL and by Unix socket", "plimsoll observe http://127.0.0.1:8080/ unix:/run/php/php-fpm.sock"),
    ("by control group and by process ID", "plimsoll observe cgroup:/system.slice/app.service 4711"),
    ("CPUs in use, as JSON", "plimsoll observe :8080 --json -d 10s | jq .groups[0].cpu_cores"),
    ("for Prometheus", "plimsoll observe :8080 -q --prometheus 127.0.0.1:9101"),
]);

const SELECTORS: &str = "
Process selectors (PROCESSES), always with descendants:
  4711, pid:4711       process ID
  nginx, name:nginx    process name, with or without a version suffix
                       (php-fpm: also php-fpm8.2)
  'NAME under PARENT'  all processes of this name below a process, given
                       by name or ID
  :8080                listener on this TCP port
  127.0.0.1:8080, URL  listener that gets connections to this address of
                       this machine
  unix:/run/app.sock   listener on this Unix socket
  cgroup:/a/b          control group and those below it, as in
                       /proc/PID/cgroup";

/// Monitor processes and the machine, without load
///
/// Prints a table on a terminal, otherwise one line per sample and target. It stops on ^C, or
/// when all processes that were given by ID have ended; then it prints a summary, and the exit code is 0.
#[derive(Debug, Args)]
#[command(
    after_help = format!("{}\n{SELECTORS}", OBSERVE_EXAMPLES.first()),
    after_long_help = OBSERVE_EXAMPLES.with(&[SELECTORS])
)]
pub(crate) struct ObserveArgs {
    /// Processes to monitor, see below; without any only the machine
    #[arg(value_name = "PROCESSES", allow_negative_numbers = true)]
    pub(crate) targets: Vec<String>,
    /// Sampling interval, 100ms to 1h
    #[arg(short, long, value_name = "TIME", default_value = "1s")]
    pub(crate) interval: Duration,
    /// Total time [default: until ^C]
    #[arg(short, long, value_name = "TIME")]
    pub(crate) duration: Option<Duration>,
    /// One JSON object per sample and line; the summary goes to stderr
    #[arg(long)]
    pub(crate) json: bool,
    /// Loopback address for current metrics in Prometheus format at /metrics, such as 127.0.0.1:9101
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) prometheus: Option<SocketAddr>,
    /// Summary only
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Monitoring beside the load.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Observation")]
pub(crate) struct ObserverArgs {
    /// Processes of the server, if its port does not identify them [default: listener on the target's port]
    ///
    /// For containers, port forwarders and proxies: pid:4711, name:gunicorn, 'php under 4711', :8080, unix:PATH or
    /// cgroup:PATH, as in plimsoll observe --help; always with descendants.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "PROCESSES",
        conflicts_with = "serve",
        allow_negative_numbers = true
    )]
    pub(crate) server: Option<String>,
    /// Companion processes to monitor, such as php-fpm or mariadbd; repeatable
    ///
    /// A process name (with or without its version suffix), a process ID, or any selector of plimsoll observe, with
    /// descendants. Processes of a server started with --serve are monitored anyway.
    #[arg(hide_short_help = true, long, value_name = "PROCESSES", allow_negative_numbers = true)]
    pub(crate) observe: Vec<String>,
    /// Status page of a server to sample once a second; repeatable
    ///
    /// http://HOST/PATH of nginx (stub_status), Apache (?auto), php-fpm or lighttpd, mysql://USER@HOST:PORT,
    /// mysql+unix://USER@/PATH.sock, redis://HOST:PORT or redis+unix:///PATH.sock. Passwords come from
    /// PLIMSOLL_MYSQL_PASSWORD, PLIMSOLL_REDIS_PASSWORD, or a file (append ?password-file=PATH). The certificate of an
    /// https:// page is checked as the target's is: see --ca-cert and --insecure. Those of a server started with
    /// --serve are sampled anyway. plimsoll check asks those named here, once.
    #[arg(hide_short_help = true, long, value_name = "URL")]
    pub(crate) status: Vec<String>,
}

impl ObserverArgs {
    /// True if a status page is asked over TLS.
    pub(crate) fn has_https_pages(&self) -> bool {
        self.status.iter().any(|url| url.get(..8).is_some_and(|begin| begin.eq_ignore_ascii_case("https://")))
    }
}
