//! The flags of `plimsoll target`.

use super::examples::Examples;
use clap::Args;
use model::{Address, ByteSize, Count, Duration};
use std::path::PathBuf;

const EXAMPLES: Examples = Examples(&[
    ("on this port", "plimsoll target --listen 127.0.0.1:8080"),
    ("/pool serves at most 1,600 requests/s", "plimsoll target --pool 8 --pool-time 5ms"),
    ("TLS with a generated certificate", "plimsoll target --tls --listen 127.0.0.1:8443"),
    ("the whole server stops for 200 ms every second", "plimsoll target --stall 200ms/1s --log stalls.jsonl"),
    ("1 % of resets; 429 above 500 requests/s, burst 50", "plimsoll target --fault reset=0.01 --limit 500/50"),
    ("reachable from other machines", "plimsoll target --listen 0.0.0.0:80 --token env:TOKEN"),
]);

/// Run the built-in test server, with delays and faults on demand
///
/// It also has exact sizes, CPU burn and checked uploads.
/// The first line on stdout is JSON with address, URL and, with --tls, the certificate. The URL opens a page with all
/// endpoints and the faults that a single request can ask for. Of the faults below --stall stops everything and
/// --redirect affects / alone; the others spare /stats and error responses. It runs until ^C.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES.short("target"), after_long_help = EXAMPLES.full())]
pub(crate) struct TargetArgs {
    /// Listening address, such as 127.0.0.1:8080 or unix:/run/target.sock; port 0: any free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: Address,
    /// TLS 1.2 and 1.3 with a self-signed certificate generated at the start
    #[arg(long)]
    pub(crate) tls: bool,
    /// Certificate chain (PEM); with --tls
    #[arg(hide_short_help = true, long, value_name = "FILE", requires = "tls", requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// Private key of --cert (PEM, not encrypted)
    #[arg(hide_short_help = true, long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Worker threads
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) workers: Count,
    /// CPUs for the workers, such as 0 or 0,1 [default: not pinned]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) cpus: Vec<u32>,
    /// Accept queue length
    #[arg(hide_short_help = true, long, value_name = "N", default_value = "4096")]
    pub(crate) backlog: Count,
    /// Maximum number of open connections; further ones are closed at once [default: 20k]
    ///
    /// The limit of open files is raised accordingly, as far as possible.
    #[arg(hide_short_help = true, long, value_name = "N")]
    pub(crate) max_connections: Option<Count>,
    /// Maximum number of open connections of one client address
    ///
    /// By default as many as there may be in all, half of them if --listen is reachable from other machines. The
    /// addresses of an IPv6 /64 count as one.
    #[arg(hide_short_help = true, long, value_name = "N")]
    pub(crate) max_per_client: Option<Count>,
    /// Token for /cpu, /sleep, /pool and faults, from env:VAR or file:PATH; never shown or stored
    ///
    /// At least 16 characters. Clients send it as 'Authorization: Bearer TOKEN' (run and sweep: --auth bearer:env:VAR).
    /// Without it these are open to everybody, or refused with 403 if --listen is reachable from other machines.
    #[arg(long, value_name = "SOURCE")]
    pub(crate) token: Option<String>,
    /// Fault: stall of the whole server for LENGTH every PERIOD, such as 200ms/1s
    #[arg(long, value_name = "LENGTH/PERIOD")]
    pub(crate) stall: Option<String>,
    /// Fault: share of the requests answered with 500, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) error_share: f64,
    /// Fault: share of broken responses, 0 to 1; KIND is reset, half, drop or wrong-size
    ///
    /// reset and half cut the response off half-way, by a TCP reset or a close; drop never answers; wrong-size sends
    /// half of the body.
    #[arg(long, value_name = "KIND=SHARE")]
    pub(crate) fault: Option<String>,
    /// Fault: delay of every response, up to 60s
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) first_byte: Duration,
    /// Fault: bytes per second of response bodies [default: unlimited]
    ///
    /// Of /bytes, /zero, /urandom and /download; no body takes longer than ten minutes.
    #[arg(hide_short_help = true, long, value_name = "SIZE")]
    pub(crate) body_rate: Option<ByteSize>,
    /// Fault: delay that grows by this much with each response, up to 60s in total
    #[arg(hide_short_help = true, long, value_name = "TIME", default_value = "0s")]
    pub(crate) growth: Duration,
    /// Fault: slow start: EXTRA delay of the first response, falling linearly to 0 over LENGTH
    #[arg(hide_short_help = true, long, value_name = "EXTRA/LENGTH")]
    pub(crate) ramp: Option<String>,
    /// Fault: rate limit in requests per second, with a burst; 429 with Retry-After beyond it
    #[arg(long, value_name = "RATE/BURST")]
    pub(crate) limit: Option<String>,
    /// Fault: redirect of / to this location
    #[arg(hide_short_help = true, long, value_name = "LOCATION")]
    pub(crate) redirect: Option<String>,
    /// Workers of the pool behind /pool
    #[arg(long, value_name = "N")]
    pub(crate) pool: Option<Count>,
    /// Service time of a pool worker
    #[arg(long, value_name = "TIME", default_value = "5ms", requires = "pool")]
    pub(crate) pool_time: Duration,
    /// Requests that may queue for the pool; further ones get 503
    #[arg(hide_short_help = true, long, value_name = "N", default_value = "10k", requires = "pool")]
    pub(crate) pool_queue: Count,
    /// File to append stall times and arrivals per millisecond to, as JSON lines
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Exit when the parent process ends
    #[arg(long, hide = true)]
    pub(crate) die_with_parent: bool,
}
