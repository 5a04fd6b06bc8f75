//! What can be typed. Nothing below [`crate::settings`] sees these types.

pub(crate) mod audit;
pub(crate) mod check;
pub(crate) mod observe;
pub(crate) mod profile;
pub(crate) mod rules;
pub(crate) mod serve;

use audit::AuditArgs;
use check::CheckArgs;
use clap::{Args, Parser, Subcommand, ValueEnum};
use model::{Address, ByteSize, Count, Duration, Rate};
use observe::{BesideArgs, ObserveArgs};
use profile::ProfileArgs;
use rules::RulesArgs;
use serve::{KeepArgs, ServeArgs};
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes:
  0    fine: the result is valid, or a bound that is named
  2    usage or configuration: a wrong flag, file or limit of this machine
  3    the target cannot be reached or fails
  4    the result is not valid; the findings say why
  130  interrupted; what was measured so far is kept";

/// How much load a web server holds, and whether the number may be believed.
#[derive(Debug, Parser)]
#[command(name = "plimsoll", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Run(RunArgs),
    Sweep(SweepArgs),
    Profile(ProfileArgs),
    Observe(ObserveArgs),
    Report(ReportArgs),
    Audit(AuditArgs),
    Check(CheckArgs),
    Rules(RulesArgs),
    Target(TargetArgs),
    Serve(ServeArgs),
    /// Keeps servers for another plimsoll, which starts it by itself
    #[command(hide = true)]
    Keep(KeepArgs),
    Man(ManArgs),
    Completions(CompletionsArgs),
}

const RUN_EXAMPLES: &str = "\
Examples:
  plimsoll run http://127.0.0.1:8080/                 64 connections, as fast as they go
  plimsoll run http://127.0.0.1:8080/ -R 1000 -d 1m   1,000 requests per second, Poisson arrivals
  plimsoll run http://127.0.0.1:8080/x --expect status=404
  plimsoll run https://127.0.0.1:8443/ -k --no-keepalive   a TLS handshake for each request
  plimsoll run http://127.0.0.1:8080 --urls mix.txt   several requests, each by its weight
  plimsoll run http://127.0.0.1:8080/users -m POST --template -b 'name={{run}}-{{counter}}'
  plimsoll run http://shop.example/ --unix-socket /run/app.sock
  plimsoll run --serve 'nginx file-size=64KiB'        starts it, measures it, ends it
  plimsoll run http://127.0.0.1:8080/ --json | jq .goodput_per_s.value";

/// Puts one load on a server and judges the result.
///
/// Closed loop with -c: each connection sends its next request when it has the response to its last.
/// Open loop with -R: requests are sent at instants that do not wait for the server.
/// Without a URL the built-in target is started on cores of its own and measured.
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    /// What to measure, such as http://127.0.0.1:8080/page; without it the built-in target
    pub(crate) url: Option<String>,
    /// Start this server, measure it and end it, such as 'nginx workers=2'; see plimsoll serve --list
    #[arg(long, value_name = "SERVER", conflicts_with = "url", allow_hyphen_values = true)]
    pub(crate) serve: Option<String>,
    /// Connections, all opened before the clock starts; with -R also the most requests in flight
    /// [default: 64; with -R 256]
    #[arg(short, long, value_name = "N")]
    pub(crate) connections: Option<Count>,
    /// Requests per second over all connections: open loop
    #[arg(short = 'R', long, value_name = "PER_SECOND")]
    pub(crate) rate: Option<Rate>,
    /// How open-loop instants are spread
    #[arg(long, value_enum, default_value_t = ArrivalsArg::Poisson, requires = "rate")]
    pub(crate) arrivals: ArrivalsArg,
    /// Length of the measured window [default: 30s]
    #[arg(short, long, value_name = "TIME", conflicts_with = "requests")]
    pub(crate) duration: Option<Duration>,
    /// Measure this many requests instead of a time
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) requests: Option<Count>,
    /// Load before the window, not measured: a time, 0s, or auto (until MSER-5 finds goodput settled)
    #[arg(long, value_name = "TIME|auto", default_value = "2s")]
    pub(crate) warmup: WarmupArg,
    /// Time that may be spent on measuring again what was disturbed: CPU time taken by the hypervisor, a quota or other
    /// programs [default: half of the planned time]
    #[arg(long, value_name = "TIME")]
    pub(crate) budget: Option<Duration>,
    /// Sample where the CPU time goes during the window, for a flame graph: profile.svg, and in the page; what workers
    /// waited for is off-cpu.svg. What it costs is in the numbers of this run, so measure once more without for the
    /// headline
    #[arg(long)]
    pub(crate) profile: bool,
    /// Then raise what limits the server, start it anew with and without that in 6 shuffled blocks of this window, and
    /// say whether it does what was predicted; with --serve or without a URL
    #[arg(long)]
    pub(crate) confirm: bool,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    #[command(flatten)]
    pub(crate) generator: GeneratorArgs,
    #[command(flatten)]
    pub(crate) observe: BesideArgs,
    /// Look at nothing beside the load: neither machine and server nor status pages. What was not seen is told as not
    /// available, and rules that need it as not checked. To find out what looking costs
    #[arg(long, help_heading = "Observation", conflicts_with_all = ["observe", "status", "confirm"])]
    pub(crate) no_observe: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const SWEEP_EXAMPLES: &str = "\
Examples:
  plimsoll sweep                                      the built-in target, whose answer is known
  plimsoll sweep http://127.0.0.1:8080/               connections 1, 2, 4, ... until saturated
  plimsoll sweep http://127.0.0.1:8080/ --over rate --from 500 --to 50k
  plimsoll sweep http://127.0.0.1:8080/ -d 15s --iterations 3
  plimsoll sweep --serve 'nginx workers=1' --serve 'nginx workers=2'";

/// Measures a server at rising load: finds peak and knee, and says whether saturation was reached.
///
/// Loads rise geometrically until more load buys nothing, then points are added round the knee, then all are
/// repeated in shuffled order. Between points it waits until nothing is outstanding.
#[derive(Debug, Args)]
#[command(after_help = SWEEP_EXAMPLES)]
pub(crate) struct SweepArgs {
    /// What to measure, such as http://127.0.0.1:8080/page; without it the built-in target
    pub(crate) url: Option<String>,
    /// Start this server, measure it and end it, such as 'nginx workers=2'; repeated, each gets its curve in one report
    #[arg(long, value_name = "SERVER", conflicts_with = "url", allow_hyphen_values = true)]
    pub(crate) serve: Vec<String>,
    /// With --serve: start the server anew before each point, with its data as they were at first
    #[arg(long, requires = "serve")]
    pub(crate) restart: bool,
    /// Measure the peak's load once more at the end, and sample where the CPU time goes, for a flame graph: profile.svg,
    /// and in the page; what workers waited for at the peak is off-cpu.svg. The points stay clean of what it costs
    #[arg(long)]
    pub(crate) profile: bool,
    /// Then raise what limits the server, start it anew with and without that in 6 shuffled blocks, and say whether it
    /// does what was predicted; with --serve or without a URL
    #[arg(long)]
    pub(crate) confirm: bool,
    /// What rises from point to point
    #[arg(long, value_enum, default_value_t = OverArg::Connections)]
    pub(crate) over: OverArg,
    /// First load: connections, or requests per second [default: 1; over rate 100]
    #[arg(long, value_name = "LOAD")]
    pub(crate) from: Option<Count>,
    /// Highest load that may be tried [default: 1024; over rate 1M]
    #[arg(long, value_name = "LOAD")]
    pub(crate) to: Option<Count>,
    /// Points to aim for
    #[arg(long, value_name = "N", default_value = "8")]
    pub(crate) points: Count,
    /// Measurements of each point
    #[arg(long, value_name = "N", default_value = "2")]
    pub(crate) iterations: Count,
    /// Length of each measured window
    #[arg(short, long, value_name = "TIME", default_value = "3s")]
    pub(crate) duration: Duration,
    /// Load before each window, not measured: a time, 0s, or auto
    #[arg(long, value_name = "TIME|auto", default_value = "500ms")]
    pub(crate) warmup: WarmupArg,
    /// Time that may be spent on measuring again what was disturbed: CPU time taken by the hypervisor, a quota or other
    /// programs [default: half of the planned time]
    #[arg(long, value_name = "TIME")]
    pub(crate) budget: Option<Duration>,
    /// With --over rate: connections opened beforehand, and so the most requests in flight
    #[arg(short, long, value_name = "N", default_value = "256")]
    pub(crate) connections: Count,
    /// With --over rate: how instants are spread
    #[arg(long, value_enum, default_value_t = ArrivalsArg::Poisson)]
    pub(crate) arrivals: ArrivalsArg,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    #[command(flatten)]
    pub(crate) generator: GeneratorArgs,
    #[command(flatten)]
    pub(crate) observe: BesideArgs,
    /// Look at nothing beside the load: neither machine and server nor status pages. What was not seen is told as not
    /// available, and rules that need it as not checked. To find out what looking costs
    #[arg(long, help_heading = "Observation", conflicts_with_all = ["observe", "status", "confirm"])]
    pub(crate) no_observe: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What is asked for, and what a good answer is.
#[derive(Debug, Args)]
#[command(next_help_heading = "Request")]
pub(crate) struct RequestArgs {
    /// Method
    #[arg(short, long, default_value = "GET")]
    pub(crate) method: String,
    /// Header to add, as 'Name: value'; may be repeated
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub(crate) headers: Vec<String>,
    /// Credentials from a variable or file: SCHEME:SOURCE:NAME with basic (user:password) or bearer (token)
    /// and env or file, such as basic:file:PATH or bearer:env:VAR; never stored
    #[arg(long, value_name = "AUTH")]
    pub(crate) auth: Option<String>,
    /// Body, or @FILE for the content of a file
    #[arg(short, long, value_name = "TEXT|@FILE")]
    pub(crate) body: Option<String>,
    /// Mix the requests in this file, one a line: [WEIGHT] [METHOD] PATH|URL [BODY|@FILE], such as /index.html or
    /// 3 POST /cart @cart.json; # begins a comment. All to one server, each as often as its weight (1) says
    #[allow(rustdoc::broken_intra_doc_links, rustdoc::invalid_html_tags, reason = "help that is printed as it stands")]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["method", "body", "har"])]
    pub(crate) urls: Option<PathBuf>,
    /// Mix the requests that a browser has recorded (HAR 1.1 or 1.2): those to the URL, or else to the server that
    /// was recorded first; each must be answered with the status it had
    #[arg(long, value_name = "FILE", conflicts_with_all = ["method", "body"])]
    pub(crate) har: Option<PathBuf>,
    /// Fill in fields of path, headers and body anew for each request: {{counter}}, {{counter:START}},
    /// {{random:LENGTH}}, {{int:MIN..MAX}}, {{uuid}} and {{run}} (differs from call to call)
    #[arg(long)]
    pub(crate) template: bool,
    /// Open a new connection for each request
    #[arg(long, conflicts_with = "pipeline")]
    pub(crate) no_keepalive: bool,
    /// Requests that each connection has out at the same time, up to 64; in closed loops only
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) pipeline: Count,
    /// A request without a complete response after this time has failed
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub(crate) timeout: Duration,
    /// What a good response is, comma-separated: status=CODE, size=BYTES or size=MIN..MAX, body~"TEXT" (the body
    /// holds the text; no pattern), hash (the body is the one the probe got). Text and hash are looked at in one
    /// response in 17 and compared with the bytes as sent, compressed or not
    /// [default: status and size that the probe gets, if that is a 2xx]
    #[arg(long, value_name = "CONTRACT")]
    pub(crate) expect: Option<String>,
    /// Connect to the Unix socket at this path; host and path of the request stay those of the URL
    #[arg(long, value_name = "PATH", conflicts_with = "connect_to")]
    pub(crate) unix_socket: Option<PathBuf>,
    /// Connect to this HOST:PORT; Host header, SNI and the name in the certificate stay those of the URL. curl's
    /// HOST1:PORT1:HOST2:PORT2 works too
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) connect_to: Option<String>,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
}

/// How https:// URLs are spoken to.
#[derive(Debug, Args)]
#[command(next_help_heading = "TLS")]
pub(crate) struct TlsArgs {
    /// Without a URL: the built-in target speaks TLS, and its certificate is trusted
    #[arg(long)]
    pub(crate) tls: bool,
    /// Take any certificate: expired, self-signed, for another name
    #[arg(short = 'k', long)]
    pub(crate) insecure: bool,
    /// Trust the certificates in this file too (PEM), besides those of the system
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) ca_cert: Option<PathBuf>,
    /// A full handshake for each connection: never resume an earlier session
    #[arg(long)]
    pub(crate) no_resumption: bool,
}

/// The load generator itself.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load generator")]
pub(crate) struct GeneratorArgs {
    /// Load threads [default: all cores; half of them when the target is on this machine]
    #[arg(short, long, value_name = "N")]
    pub(crate) threads: Option<Count>,
    /// CPUs to pin the load threads to, such as 1 or 2,3 [default: not pinned; with the built-in target its own half]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) cpus: Vec<u32>,
    /// With a rate: a load thread stays awake when its next request is due within this time, and for this time after one has
    /// gone out, so that it goes out, and its response is noticed, on time. It takes CPU time from whatever runs on the same CPU
    /// [default: 500us, at most a quarter of the time between two requests; 0s when the target is on this machine and may
    /// run on the same CPUs, or does not show on which it may]
    #[arg(long, value_name = "TIME")]
    pub(crate) spin: Option<Duration>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

/// Where the result goes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Directory for the record [default: a new one in plimsoll-runs]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// No progress on stderr
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Show every finding: notes, and the rules that were not checked
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

const REPORT_EXAMPLES: &str = "\
Examples:
  plimsoll report plimsoll-runs/2026-01-02T03-04-05-sweep
  plimsoll report before after -o both.html           side by side in one page
  plimsoll report plimsoll-runs/* --format csv -o all.csv";

/// Shows stored results once more: as a page, a table or data.
///
/// The page is one file that needs no network. Of one result it is written into its directory, of several into the
/// current one, and its path is printed. Everything else goes to stdout. Several sweeps are laid over each other where
/// they were loaded alike; that is no paired comparison.
#[derive(Debug, Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct ReportArgs {
    /// Directories that run or sweep have written
    #[arg(value_name = "DIR", required = true)]
    pub(crate) directories: Vec<PathBuf>,
    /// What to write
    #[arg(long, value_enum, default_value_t = FormatArg::Html)]
    pub(crate) format: FormatArg,
    /// File to write to
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// How a stored result is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// One page with charts that opens offline
    Html,
    /// Tables of results and points
    Markdown,
    /// One line a run or point, unrounded
    Csv,
    /// What run and sweep print
    Text,
    /// The record; several as a list
    Json,
}

const TARGET_EXAMPLES: &str = "\
Examples:
  plimsoll target --listen 127.0.0.1:8080
  plimsoll target --tls --listen 127.0.0.1:8443       https with a certificate made for the occasion
  plimsoll target --pool 8 --pool-time 5ms            /pool answers at most 1,600 per second
  plimsoll target --stall 200ms/1s --log stalls.jsonl the whole server stops 200 ms every second
  plimsoll target --fault reset=0.01 --limit 500/50   1 % reset half-way; above 500/s, 50 at once, 429";

/// Runs the built-in test server: exact sizes, exact delays, CPU burn, checked uploads, and faults on demand.
///
/// Its first line on stdout is JSON with the address it listens on, its URL, and with --tls the certificate it
/// shows. Open that URL for a page that lists the endpoints, each with a form and a curl command, and the faults a
/// single request can ask for. Of the faults below --stall stops everything and --redirect is for / alone; the
/// others spare /stats and refusals. It runs until ^C.
#[derive(Debug, Args)]
#[command(after_help = TARGET_EXAMPLES)]
pub(crate) struct TargetArgs {
    /// Address to listen on, such as 127.0.0.1:8080 or unix:/run/target.sock; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: Address,
    /// Speak TLS (1.2 and 1.3) with a self-signed certificate made at the start
    #[arg(long)]
    pub(crate) tls: bool,
    /// With --tls: the certificate to show, and those that lead to its issuer (PEM)
    #[arg(long, value_name = "FILE", requires = "tls", requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// Its private key (PEM, not encrypted)
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Worker threads
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) workers: Count,
    /// CPUs to pin the workers to, such as 0 or 0,1
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) cpus: Vec<u32>,
    /// Length of the accept queue
    #[arg(long, value_name = "N", default_value = "4096")]
    pub(crate) backlog: Count,
    /// Most connections open at the same time; more are closed at once. The limit of open files is raised for them as
    /// far as it can be [default: 20k]
    #[arg(long, value_name = "N")]
    pub(crate) max_connections: Option<Count>,
    /// Fault: stop the whole server for LENGTH every PERIOD
    #[arg(long, value_name = "LENGTH/PERIOD")]
    pub(crate) stall: Option<String>,
    /// Fault: answer this share of the requests with 500, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) error_share: f64,
    /// Fault: break this share of the answers: reset or half (cut off by a reset or a close), drop (never
    /// answered) or wrong-size
    #[arg(long, value_name = "KIND=SHARE")]
    pub(crate) fault: Option<String>,
    /// Fault: answer everything this much later, up to 60s
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) first_byte: Duration,
    /// Fault: send the bodies of /bytes, /zero, /urandom and /download at this many bytes a second, but none for
    /// longer than ten minutes [default: as fast as they go]
    #[arg(long, value_name = "SIZE")]
    pub(crate) body_rate: Option<ByteSize>,
    /// Fault: answer each request this much later than the one before, up to 60s in all
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) growth: Duration,
    /// Fault: be cold at first: the first answer comes EXTRA later, falling to nothing after LENGTH
    #[arg(long, value_name = "EXTRA/LENGTH")]
    pub(crate) ramp: Option<String>,
    /// Fault: answer 429 with Retry-After beyond this many requests a second, BURST of them at once
    #[arg(long, value_name = "RATE/BURST")]
    pub(crate) limit: Option<String>,
    /// Fault: answer / with a redirect to this location
    #[arg(long, value_name = "LOCATION")]
    pub(crate) redirect: Option<String>,
    /// Workers of the pool behind /pool
    #[arg(long, value_name = "N")]
    pub(crate) pool: Option<Count>,
    /// Service time of each of them
    #[arg(long, value_name = "TIME", default_value = "5ms", requires = "pool")]
    pub(crate) pool_time: Duration,
    /// Requests that may wait for them; more are answered 503
    #[arg(long, value_name = "N", default_value = "10k", requires = "pool")]
    pub(crate) pool_queue: Count,
    /// File to append stall instants and arrivals per millisecond to, as JSON lines
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// End when the process that started this one ends
    #[arg(long, hide = true)]
    pub(crate) die_with_parent: bool,
}

/// Prints the manual pages in roff, or writes them into a directory.
///
/// To read one: plimsoll man /tmp/man && man /tmp/man/plimsoll-run.1
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Directory for one file a page, created if need be; without it all pages go to stdout
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
}

/// Prints the completion script of a shell.
///
/// For bash: plimsoll completions bash > ~/.local/share/bash-completion/completions/plimsoll
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// See [`model::Arrivals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalsArg {
    /// Independent exponential gaps, as from many independent users
    Poisson,
    /// Equal gaps
    Constant,
}

/// What a sweep varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OverArg {
    /// Closed loop with rising connections
    Connections,
    /// Open loop with rising rate
    Rate,
}

/// See [`model::Warmup`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WarmupArg {
    Auto,
    Fixed(Duration),
}

impl std::str::FromStr for WarmupArg {
    type Err = model::ParseUnitError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "auto" { Ok(Self::Auto) } else { text.parse().map(Self::Fixed) }
    }
}
