//! Flags that all verbs share that measure.

use super::clients::ClientArgs;
use super::observe::ObserverArgs;
use clap::Args;
use model::{Count, Duration, Quantile};
use std::path::PathBuf;

/// What all verbs share that measure: the request, the load generator, other machines, and what is observed.
#[derive(Debug, Args)]
pub(crate) struct MeasuredArgs {
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    #[command(flatten)]
    pub(crate) generator: GeneratorArgs,
    #[command(flatten)]
    pub(crate) clients: ClientArgs,
    #[command(flatten)]
    pub(crate) observe: ObserverArgs,
    /// Disable monitoring of machine, server and status pages
    ///
    /// Rules that need these data are not checked, server CPU time is not known, and disturbed time is not set aside.
    /// The flag serves to measure the overhead of monitoring.
    #[arg(hide_short_help = true, long, help_heading = "Observation", conflicts_with_all = ["observe", "status"])]
    pub(crate) no_observe: bool,
    /// Objective of the response time, such as 200ms: share and rate of the good responses within it
    ///
    /// The condition slo of --fail-if and of --goal is about that share of all requests, such as slo<99%.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "TIME",
        help_heading = "Output",
        value_parser = objective
    )]
    pub(crate) slo: Option<Duration>,
    /// Quantiles of the latencies to show beside p50, p90, p95, p99, p99.9 and max, such as p75,p97.5
    #[arg(hide_short_help = true, long, value_name = "QUANTILES", value_delimiter = ',', help_heading = "Output")]
    pub(crate) quantiles: Vec<Quantile>,
}

/// Request to send, and response to expect.
#[derive(Debug, Args)]
#[command(next_help_heading = "Request")]
pub(crate) struct RequestArgs {
    /// HTTP method [default: GET; with --body POST]
    #[arg(help_heading = "Common", short, long, value_name = "NAME")]
    pub(crate) method: Option<String>,
    /// Header to add, as 'Name: value'; repeatable
    #[arg(help_heading = "Common", short = 'H', long = "header", value_name = "HEADER")]
    pub(crate) headers: Vec<String>,
    /// Credentials from a variable or file, such as basic:file:PATH or bearer:env:VAR; never stored
    ///
    /// SCHEME:SOURCE:NAME, where SCHEME is basic (for user:password) or bearer (for a token) and SOURCE is env or file.
    #[arg(hide_short_help = true, long, value_name = "AUTH")]
    pub(crate) auth: Option<String>,
    /// What curl, wget and others call it
    #[arg(short, long, value_name = "USER:PASSWORD", hide = true)]
    pub(crate) user: Option<String>,
    /// Request body, or @FILE for the content of a file
    #[arg(help_heading = "Common", short, long, value_name = "TEXT|@FILE")]
    pub(crate) body: Option<String>,
    /// File with a weighted mix of requests, one per line
    ///
    /// A line is [WEIGHT] [METHOD] PATH|URL [BODY|@FILE].
    ///
    /// Such as /index.html or 3 POST /cart @cart.json; defaults are weight 1 and GET, with a body POST, # begins a
    /// comment. All requests go to one server. Lists of siege, targets of vegeta, and scripts of wrk that only set
    /// constant texts are read too.
    #[allow(rustdoc::broken_intra_doc_links, rustdoc::invalid_html_tags, reason = "help that is printed as it stands")]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["method", "body", "har"])]
    pub(crate) urls: Option<PathBuf>,
    /// HAR file (1.1 or 1.2) recorded by a browser, as a mix of requests
    ///
    /// Takes the requests to the server of the URL, or else to the server of the recorded page; each must be answered
    /// with its recorded status. Redirects, and requests whose body was not recorded, are left out (LD-09).
    #[arg(hide_short_help = true, long, value_name = "FILE", conflicts_with_all = ["method", "body"])]
    pub(crate) har: Option<PathBuf>,
    /// Template fields in path, headers and body, filled in for each request
    ///
    /// {{counter}}, {{counter:START}}, {{random:LENGTH}}, {{int:MIN..MAX}}, {{uuid}} and {{run}} (differs between
    /// invocations).
    #[arg(hide_short_help = true, long)]
    pub(crate) template: bool,
    /// New connection for each request
    #[arg(long, conflicts_with = "pipeline")]
    pub(crate) no_keepalive: bool,
    /// Requests in flight per connection, 1 to 64 (HTTP pipelining, FastCGI multiplexing); closed loop only
    #[arg(hide_short_help = true, long, value_name = "N", default_value = "1")]
    pub(crate) pipeline: Count,
    /// Time limit for a complete response, 1ms to 10m; a request beyond it has failed
    #[arg(hide_short_help = true, long, value_name = "TIME", default_value = "5s")]
    pub(crate) timeout: Duration,
    /// What a good response has, such as status=200,size=1024
    ///
    /// Assertions, comma-separated: status=CODE, size=BYTES or size=MIN..MAX, body~"TEXT", hash.
    ///
    /// body~ requires the literal text, hash the body that the probe got; both are checked in one response in 17, on
    /// the bytes as sent, compressed or not. [default: status and size that the probe gets, if that is a 2xx]
    #[arg(long, value_name = "ASSERTIONS")]
    pub(crate) expect: Option<String>,
    /// Unix socket to connect to, @NAME in the abstract namespace; host and path of the request stay those of the URL
    #[arg(hide_short_help = true, long, value_name = "PATH", conflicts_with = "connect_to")]
    pub(crate) unix_socket: Option<PathBuf>,
    /// HOST:PORT to connect to; Host header, SNI and certificate name stay those of the URL
    ///
    /// curl's HOST1:PORT1:HOST2:PORT2 works too.
    #[arg(hide_short_help = true, long, value_name = "HOST:PORT")]
    pub(crate) connect_to: Option<String>,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
}

impl RequestArgs {
    /// One GET, as if nothing had been typed.
    pub(crate) fn plain() -> Self {
        Self {
            method: None,
            headers: Vec::new(),
            auth: None,
            user: None,
            body: None,
            urls: None,
            har: None,
            template: false,
            no_keepalive: false,
            pipeline: Count(1),
            timeout: Duration { ns: 5 * model::NS_PER_S },
            expect: None,
            unix_socket: None,
            connect_to: None,
            tls: TlsArgs { tls: false, insecure: false, ca_cert: None, no_resumption: false },
        }
    }
}

/// TLS options of https:// URLs; those about certificates are for status pages too.
#[derive(Debug, Args)]
#[command(next_help_heading = "TLS")]
pub(crate) struct TlsArgs {
    /// TLS for the built-in server (without a URL); its certificate is trusted
    #[arg(hide_short_help = true, long)]
    pub(crate) tls: bool,
    /// Accept expired, self-signed and mismatching certificates
    #[arg(help_heading = "Common", short = 'k', long)]
    pub(crate) insecure: bool,
    /// Trusted certificates (PEM) in addition to those of the system
    #[arg(hide_short_help = true, long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) ca_cert: Option<PathBuf>,
    /// No TLS session resumption: a full handshake for each connection
    #[arg(hide_short_help = true, long)]
    pub(crate) no_resumption: bool,
}

/// The load generator itself.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load generator")]
pub(crate) struct GeneratorArgs {
    /// Load threads [default: one per CPU, half of that for a local target; with --cpus one per listed CPU]
    #[arg(hide_short_help = true, short, long, value_name = "N")]
    pub(crate) threads: Option<Count>,
    /// CPUs for the load threads, such as 1 or 2,3 [default: not pinned; with --serve those left by the server]
    #[arg(hide_short_help = true, long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) cpus: Vec<u32>,
    /// Busy-wait this long before each scheduled send and for its response; open loop only
    ///
    /// Reduces send delay, but takes CPU time from whatever shares the CPU; at most 1s. [default: 500us, at most
    /// the time between two requests (from 2,000/s on a CPU it uses all of it) or, where load threads share a CPU, a
    /// quarter of that; 0s for a server on this machine that may share the CPUs or whose CPUs are unknown]
    #[arg(hide_short_help = true, long, value_name = "TIME")]
    pub(crate) spin: Option<Duration>,
    /// Seed of all random numbers
    #[arg(hide_short_help = true, long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

/// Output of the result.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// One JSON object on stdout instead of text
    #[arg(help_heading = "Common", long)]
    pub(crate) json: bool,
    /// Directory for the result [default: a new one in plimsoll-runs]
    #[arg(help_heading = "Common", short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// No progress on stderr
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// All findings, with notes and rules that were not checked
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// True for a step of an experiment, whose result is stored and not printed.
    #[arg(skip)]
    pub(crate) is_step: bool,
}

/// The time of `--slo`: no response takes no time.
fn objective(text: &str) -> Result<Duration, String> {
    match Duration::with_unit(text)? {
        Duration { ns: 0 } => Err("no response takes 0; write for example 200ms".to_owned()),
        objective => Ok(objective),
    }
}
