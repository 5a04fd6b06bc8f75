//! Command line. Only `settings` and the verbs see these types.

pub(crate) mod audit;
pub(crate) mod capacity;
pub(crate) mod check;
pub(crate) mod clients;
pub(crate) mod compare;
pub(crate) mod experiment;
pub(crate) mod given;
pub(crate) mod history;
pub(crate) mod man;
pub(crate) mod observe;
pub(crate) mod profile;
pub(crate) mod render;
pub(crate) mod rules;
pub(crate) mod serve;
pub(crate) mod stack;
pub(crate) mod table;
pub(crate) mod threshold;
mod values;

use audit::AuditArgs;
use capacity::CapacityArgs;
use check::CheckArgs;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clients::{AgentArgs, ClientArgs};
use compare::CompareArgs;
use experiment::ExperimentArgs;
use history::HistoryArgs;
use man::ManArgs;
use model::{Address, ByteSize, Count, Duration, Quantile, Rate};
use observe::{ObserveArgs, ObserverArgs};
use profile::ProfileArgs;
use render::RenderArgs;
use rules::RulesArgs;
use serve::{KeepArgs, ServeArgs};
use stack::StackArgs;
use std::path::PathBuf;
use table::TableArgs;
use threshold::ThresholdArgs;
pub(crate) use values::{ArrivalsArg, OverArg, WarmupArg};

const EXIT_CODES: &str = "\
Exit codes:
  0    valid result, or a named bound
  1    a threshold failed (--fail-if), a goal is not met (capacity), a variant is worse (compare,
       render), a figure got worse (history)
  2    usage or configuration error: a wrong flag or file, a limit of this machine
  3    target unreachable or failing
  4    result not valid; the findings say why
  5    inconclusive: not known within the time, or a threshold inside an interval or bound
  130  interrupted; what was measured so far is kept (a second ^C ends at once: report --recover)";

/// Web-server benchmark: load, saturation and bottleneck, with a verdict on every number.
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
    Capacity(CapacityArgs),
    Compare(CompareArgs),
    Experiment(ExperimentArgs),
    Profile(ProfileArgs),
    Render(RenderArgs),
    Observe(ObserveArgs),
    Report(ReportArgs),
    History(HistoryArgs),
    Audit(AuditArgs),
    Check(CheckArgs),
    Rules(RulesArgs),
    Target(TargetArgs),
    Serve(ServeArgs),
    Stack(StackArgs),
    Agent(AgentArgs),
    /// Supervisor of the servers started by another plimsoll process; internal
    #[command(hide = true)]
    Keep(KeepArgs),
    Man(ManArgs),
    Completions(CompletionsArgs),
}

const RUN_EXAMPLES: &str = "\
Examples:
  plimsoll run http://127.0.0.1:8080/                 closed loop, 64 connections
  plimsoll run http://127.0.0.1:8080/ -R 1000 -d 1m   open loop, 1,000 requests/s, Poisson arrivals
  plimsoll run http://127.0.0.1:8080/x --expect status=404
  plimsoll run https://127.0.0.1:8443/ -k --no-keepalive   one TLS handshake per request
  plimsoll run http://127.0.0.1:8080 --urls mix.txt   weighted mix of requests
  plimsoll run http://127.0.0.1:8080/users -m POST --template -b 'name={{run}}-{{counter}}'
  plimsoll run http://shop.example/ --unix-socket /run/app.sock
  plimsoll run --serve 'nginx file-size=64KiB'        server started for the test
  plimsoll run http://127.0.0.1:8080/ --fail-if 'goodput<1000,p99>100ms'
  plimsoll run http://10.0.0.10/ --client ssh://load1,ssh://load2   load from two machines
  plimsoll run http://shop.example/ --server-host ssh://web1   server observed on its machine
  plimsoll run --serve nginx --server-host ssh://web1 --server-ip 10.0.0.10   server started there
  plimsoll run http://127.0.0.1:8080/ --json | jq .goodput_per_s.value";

/// Load test at one operating point, with a verdict on the result.
///
/// Closed loop with -c: each connection sends its next request when the response to the last is complete. Open loop
/// with -R: requests follow a schedule, whether or not the server keeps up, and latency counts from the scheduled send
/// time. Without a URL the built-in server is started on CPUs of its own and measured.
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    /// Target URL, such as http://127.0.0.1:8080/page; without it the built-in server
    ///
    /// http://, https://, or FastCGI to an application without its web server: fastcgi://HOST:PORT/FILE or
    /// fastcgi+unix:SOCKET:/FILE, where FILE is the script on the machine of the application.
    pub(crate) url: Option<String>,
    /// Server to start, measure and stop, such as 'nginx workers=2'; see plimsoll serve --list
    #[arg(long, value_name = "SERVER", conflicts_with = "url", allow_hyphen_values = true)]
    pub(crate) serve: Option<String>,
    /// Connections, all opened in advance; with -R opened as needed, at most so many [default: 64, with -n no more than
    /// requests; with -R 256]
    #[arg(short, long, value_name = "N")]
    pub(crate) connections: Option<Count>,
    /// Requests per second over all connections (open loop)
    #[arg(short = 'R', long, value_name = "PER_SECOND")]
    pub(crate) rate: Option<Rate>,
    /// Inter-arrival distribution
    #[arg(long, value_enum, default_value_t = ArrivalsArg::Poisson, requires = "rate")]
    pub(crate) arrivals: ArrivalsArg,
    /// Length of the measurement window [default: 30s]
    #[arg(short, long, value_name = "TIME", conflicts_with = "requests")]
    pub(crate) duration: Option<Duration>,
    /// Number of requests to send and measure, instead of a duration; beside them only the probe sends some
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) requests: Option<Count>,
    /// Warm-up load, not measured: a time, 0s, or auto (until goodput is steady by MSER-5) [default: 2s; with -n 0s]
    ///
    /// Its requests are sent as fast as those of the measurement. Unless a warm-up is given here, it sends at most 20
    /// requests where one of them may change something (POST, PUT, PATCH, DELETE).
    #[arg(long, value_name = "TIME|auto")]
    pub(crate) warmup: Option<WarmupArg>,
    /// Extra time to make up for disturbed measurement time [default: half of the planned time]
    ///
    /// Disturbed: the hypervisor, a CPU quota or other programs took CPU time from client or server.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["client", "requests"])]
    pub(crate) budget: Option<Duration>,
    /// CPU flame graph of the measurement window: profile.svg; its overhead affects the results
    ///
    /// Also off-cpu.svg (what workers waited for) and off-cpu-stacks.svg (where threads waited). Needs the permissions
    /// of plimsoll profile. Measure again without it for headline numbers.
    #[arg(long, conflicts_with_all = ["client", "server_host"])]
    pub(crate) profile: bool,
    /// A/B-test the predicted bottleneck in 6 randomised blocks; with --serve or without a URL
    ///
    /// After the measurement the server is restarted with and without the limit raised, and the gain is compared with
    /// the prediction. Each block takes one warm-up and window per variant.
    #[arg(long, conflicts_with_all = ["url", "server_host", "no_observe"])]
    pub(crate) confirm: bool,
    #[command(flatten)]
    pub(crate) measured: MeasuredArgs,
    #[command(flatten)]
    pub(crate) thresholds: ThresholdArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

const SWEEP_EXAMPLES: &str = "\
Examples:
  plimsoll sweep                                      built-in server, whose peak is known
  plimsoll sweep http://127.0.0.1:8080/               connections 1, 2, 4, ... until saturated
  plimsoll sweep http://127.0.0.1:8080/ --over rate --from 500 --to 50k
  plimsoll sweep http://127.0.0.1:8080/ -d 15s --iterations 3
  plimsoll sweep --serve 'nginx workers=1' --serve 'nginx workers=2'
  plimsoll sweep http://10.0.0.10/ --client ssh://load1,ssh://load2   load from two machines";

/// Load sweep that finds peak and knee, and says whether saturation was reached.
///
/// Loads rise geometrically until throughput stops growing, levels are added around the knee, then all are repeated in
/// shuffled order. Between levels it waits until no request is outstanding.
#[derive(Debug, Args)]
#[command(after_help = SWEEP_EXAMPLES)]
pub(crate) struct SweepArgs {
    /// Target URL, such as http://127.0.0.1:8080/page; without it the built-in server
    ///
    /// http://, https://, or FastCGI to an application without its web server: fastcgi://HOST:PORT/FILE or
    /// fastcgi+unix:SOCKET:/FILE, where FILE is the script on the machine of the application.
    pub(crate) url: Option<String>,
    /// Server to start, measure and stop, such as 'nginx workers=2'; repeatable, with all curves in one report
    #[arg(long, value_name = "SERVER", conflicts_with = "url", allow_hyphen_values = true)]
    pub(crate) serve: Vec<String>,
    /// Restart the server before each load level, with its initial data; with --serve
    #[arg(long, requires = "serve", conflicts_with = "url")]
    pub(crate) restart: bool,
    /// CPU flame graph of one more measurement at the peak: profile.svg; the levels stay unprofiled
    ///
    /// Also off-cpu.svg (what workers waited for at the peak) and off-cpu-stacks.svg (where threads waited). Needs the
    /// permissions of plimsoll profile.
    #[arg(long, conflicts_with_all = ["client", "server_host"])]
    pub(crate) profile: bool,
    /// A/B-test the predicted bottleneck in 6 randomised blocks; with --serve or without a URL
    ///
    /// After the measurement the server is restarted with and without the limit raised, and the gain is compared with
    /// the prediction. Each block takes one warm-up and window per variant.
    #[arg(long, conflicts_with_all = ["url", "server_host", "no_observe"])]
    pub(crate) confirm: bool,
    /// Load that rises from level to level
    #[arg(long, value_enum, default_value_t = OverArg::Connections)]
    pub(crate) over: OverArg,
    /// First load: connections, or requests per second [default: 1, with --client one per machine; over rate 100]
    #[arg(long, value_name = "LOAD")]
    pub(crate) from: Option<Count>,
    /// Highest load to try [default: 1024; over rate 1M]
    #[arg(long, value_name = "LOAD")]
    pub(crate) to: Option<Count>,
    /// Target number of load levels
    #[arg(long, value_name = "N", default_value = "8")]
    pub(crate) points: Count,
    /// Repetitions per load level
    #[arg(long, value_name = "N", default_value = "2")]
    pub(crate) iterations: Count,
    /// Length of each measurement window
    #[arg(short, long, value_name = "TIME", default_value = "3s")]
    pub(crate) duration: Duration,
    /// Warm-up load before each window, not measured: a time, 0s, or auto (until goodput is steady) [default: 500ms]
    ///
    /// Unless a warm-up is given here, each sends at most 20 requests where one of them may change something (POST, PUT,
    /// PATCH, DELETE).
    #[arg(long, value_name = "TIME|auto")]
    pub(crate) warmup: Option<WarmupArg>,
    /// Extra time to make up for disturbed measurement time [default: half of the planned time]
    ///
    /// Disturbed: the hypervisor, a CPU quota or other programs took CPU time from client or server.
    #[arg(long, value_name = "TIME", conflicts_with = "client")]
    pub(crate) budget: Option<Duration>,
    /// Connections, opened as needed: the limit of requests in flight; with --over rate [default: 256]
    #[arg(short, long, value_name = "N")]
    pub(crate) connections: Option<Count>,
    /// Inter-arrival distribution; with --over rate [default: poisson]
    #[arg(long, value_enum)]
    pub(crate) arrivals: Option<ArrivalsArg>,
    #[command(flatten)]
    pub(crate) measured: MeasuredArgs,
    #[command(flatten)]
    pub(crate) thresholds: ThresholdArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

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
    /// Rules that need these data are not checked, server CPU time is not known, and disturbed time is not set aside. Serves
    /// to measure the monitoring overhead.
    #[arg(long, help_heading = "Observation", conflicts_with_all = ["observe", "status"])]
    pub(crate) no_observe: bool,
    /// Quantiles of the latencies to show beside p50, p90, p95, p99, p99.9 and max, such as p75,p97.5
    #[arg(long, value_name = "QUANTILES", value_delimiter = ',', help_heading = "Output")]
    pub(crate) quantiles: Vec<Quantile>,
}

/// Request to send, and response to expect.
#[derive(Debug, Args)]
#[command(next_help_heading = "Request")]
pub(crate) struct RequestArgs {
    /// HTTP method [default: GET; with --body POST]
    #[arg(short, long)]
    pub(crate) method: Option<String>,
    /// Header to add, as 'Name: value'; repeatable
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub(crate) headers: Vec<String>,
    /// Credentials from a variable or file, such as basic:file:PATH or bearer:env:VAR; never stored
    ///
    /// SCHEME:SOURCE:NAME, where SCHEME is basic (for user:password) or bearer (for a token) and SOURCE is env or file.
    #[arg(long, value_name = "AUTH")]
    pub(crate) auth: Option<String>,
    /// What curl, wget and others call it
    #[arg(short, long, value_name = "USER:PASSWORD", hide = true)]
    pub(crate) user: Option<String>,
    /// Request body, or @FILE for the content of a file
    #[arg(short, long, value_name = "TEXT|@FILE")]
    pub(crate) body: Option<String>,
    /// File with a weighted mix of requests, one per line: [WEIGHT] [METHOD] PATH|URL [BODY|@FILE]
    ///
    /// Such as /index.html or 3 POST /cart @cart.json; defaults are weight 1 and GET, with a body POST, # begins a
    /// comment. All requests go to one server.
    #[allow(rustdoc::broken_intra_doc_links, rustdoc::invalid_html_tags, reason = "help that is printed as it stands")]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["method", "body", "har"])]
    pub(crate) urls: Option<PathBuf>,
    /// HAR file (1.1 or 1.2) recorded by a browser, as a mix of requests
    ///
    /// Takes the requests to the server of the URL, or else to the server recorded first; each must be answered with
    /// its recorded status.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["method", "body"])]
    pub(crate) har: Option<PathBuf>,
    /// Template fields in path, headers and body, filled in for each request
    ///
    /// {{counter}}, {{counter:START}}, {{random:LENGTH}}, {{int:MIN..MAX}}, {{uuid}} and {{run}} (differs between
    /// invocations).
    #[arg(long)]
    pub(crate) template: bool,
    /// New connection for each request
    #[arg(long, conflicts_with = "pipeline")]
    pub(crate) no_keepalive: bool,
    /// Requests in flight per connection, 1 to 64 (HTTP pipelining, FastCGI multiplexing); closed loop only
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) pipeline: Count,
    /// Time limit for a complete response, 1ms to 10m; a request beyond it has failed
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub(crate) timeout: Duration,
    /// Response assertions, comma-separated: status=CODE, size=BYTES or size=MIN..MAX, body~"TEXT", hash
    ///
    /// body~ requires the literal text, hash the body that the probe got; both are checked in one response in 17, on
    /// the bytes as sent, compressed or not. [default: status and size that the probe gets, if that is a 2xx]
    #[arg(long, value_name = "CONTRACT")]
    pub(crate) expect: Option<String>,
    /// Unix socket to connect to, @NAME in the abstract namespace; host and path of the request stay those of the URL
    #[arg(long, value_name = "PATH", conflicts_with = "connect_to")]
    pub(crate) unix_socket: Option<PathBuf>,
    /// HOST:PORT to connect to; Host header, SNI and certificate name stay those of the URL
    ///
    /// curl's HOST1:PORT1:HOST2:PORT2 works too.
    #[arg(long, value_name = "HOST:PORT")]
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

/// TLS options of https:// URLs.
#[derive(Debug, Args)]
#[command(next_help_heading = "TLS")]
pub(crate) struct TlsArgs {
    /// TLS for the built-in server (without a URL); its certificate is trusted
    #[arg(long)]
    pub(crate) tls: bool,
    /// No certificate verification: accept expired, self-signed and mismatching certificates
    #[arg(short = 'k', long)]
    pub(crate) insecure: bool,
    /// Trusted certificates (PEM) in addition to those of the system
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) ca_cert: Option<PathBuf>,
    /// No TLS session resumption: a full handshake for each connection
    #[arg(long)]
    pub(crate) no_resumption: bool,
}

/// The load generator itself.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load generator")]
pub(crate) struct GeneratorArgs {
    /// Load threads [default: one per CPU, half of that for a local target; with --cpus one per listed CPU]
    #[arg(short, long, value_name = "N")]
    pub(crate) threads: Option<Count>,
    /// CPUs for the load threads, such as 1 or 2,3 [default: not pinned; with --serve those left by the server]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) cpus: Vec<u32>,
    /// Busy-wait this long before each scheduled send and for its response; open loop only
    ///
    /// Reduces send delay, but takes CPU time from whatever shares the CPU; at most 1s. [default: 500us, at most
    /// the time between two requests (from 2,000/s on a CPU it uses all of it) or, where load threads share a CPU, a
    /// quarter of that; 0s for a server on this machine that may share the CPUs or whose CPUs are unknown]
    #[arg(long, value_name = "TIME")]
    pub(crate) spin: Option<Duration>,
    /// Seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
}

/// Output of the result.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// One JSON object on stdout instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Directory for the result [default: a new one in plimsoll-runs]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// No progress on stderr
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// All findings, including notes and rules that were not checked
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// True for a step of an experiment, whose result is stored and not printed.
    #[arg(skip)]
    pub(crate) is_step: bool,
}

const REPORT_EXAMPLES: &str = "\
Examples:
  plimsoll report plimsoll-runs/2026-01-02T03-04-05-sweep
  plimsoll report before after -o both.html           side by side in one page
  plimsoll report plimsoll-runs/* --format csv -o all.csv
  plimsoll report a b --table overhead --baseline 'nginx workers=1' --aggregate median,mad,count";

/// Report of stored results: text and a page, a table or data.
///
/// The text is that of the measurement, with all findings. The page is one file that needs no network; it goes into the
/// directory of a single result, or into the current directory for several, and its path is printed. Other formats go to
/// stdout. Sweeps of the same kind of load are overlaid; that is no paired comparison.
#[derive(Debug, Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct ReportArgs {
    /// Result directories of run, sweep, capacity, compare, experiment or render
    #[arg(value_name = "DIR", required = true)]
    pub(crate) directories: Vec<PathBuf>,
    /// Recovery of results whose measurement did not end: run.json is made from the events of each DIR
    ///
    /// For a measurement whose program, machine or disk died. What was measured until then counts as interrupted.
    #[arg(long)]
    pub(crate) recover: bool,
    /// Output format [default: text, and html beside the result; with --output html; with --table text]
    #[arg(long, value_enum)]
    pub(crate) format: Option<FormatArg>,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// Output file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// All findings of several results too, including notes and rules that were not checked; one has them in any case
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// Output format of stored results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// Page with charts; works offline
    Html,
    /// Tables of results and load levels
    Markdown,
    /// One line per run, load level, trial or step, unrounded
    Csv,
    /// The same with tabs; with --table
    Tsv,
    /// Terminal output of run, sweep, capacity, compare, experiment and render
    Text,
    /// Stored record; several as a list
    Json,
    /// Overhead of compared variants: one line per quantity, unrounded, as CSV
    Overhead,
    /// The same as a table for LaTeX (booktabs)
    Latex,
    /// Figures of a comparison (forest.svg, blocks.svg) and of sweeps (curves.svg) beside the result, or in --output
    Svg,
}

const TARGET_EXAMPLES: &str = "\
Examples:
  plimsoll target --listen 127.0.0.1:8080
  plimsoll target --tls --listen 127.0.0.1:8443       TLS with a generated certificate
  plimsoll target --pool 8 --pool-time 5ms            /pool serves at most 1,600 requests/s
  plimsoll target --stall 200ms/1s --log stalls.jsonl the whole server stops 200 ms every second
  plimsoll target --fault reset=0.01 --limit 500/50   1 % resets; 429 above 500 requests/s, burst 50
  plimsoll target --listen 0.0.0.0:80 --token env:TOKEN   reachable from other machines";

/// Built-in test server: exact sizes and delays, CPU burn, checked uploads, faults on demand.
///
/// The first line on stdout is JSON with address, URL and, with --tls, the certificate. The URL opens a page with all
/// endpoints and the faults that a single request can ask for. Of the faults below --stall stops everything and
/// --redirect affects / alone; the others spare /stats and error responses. It runs until ^C.
#[derive(Debug, Args)]
#[command(after_help = TARGET_EXAMPLES)]
pub(crate) struct TargetArgs {
    /// Listening address, such as 127.0.0.1:8080 or unix:/run/target.sock; port 0: any free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) listen: Address,
    /// TLS 1.2 and 1.3 with a self-signed certificate generated at the start
    #[arg(long)]
    pub(crate) tls: bool,
    /// Certificate chain (PEM); with --tls
    #[arg(long, value_name = "FILE", requires = "tls", requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// Private key of --cert (PEM, not encrypted)
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Worker threads
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) workers: Count,
    /// CPUs for the workers, such as 0 or 0,1 [default: not pinned]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) cpus: Vec<u32>,
    /// Accept queue length
    #[arg(long, value_name = "N", default_value = "4096")]
    pub(crate) backlog: Count,
    /// Maximum number of open connections; further ones are closed at once [default: 20k]
    ///
    /// The limit of open files is raised accordingly, as far as possible.
    #[arg(long, value_name = "N")]
    pub(crate) max_connections: Option<Count>,
    /// Maximum number of open connections of one client address
    ///
    /// By default as many as there may be in all, half of them if --listen is reachable from other machines. The
    /// addresses of an IPv6 /64 count as one.
    #[arg(long, value_name = "N")]
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
    #[arg(long, value_name = "SIZE")]
    pub(crate) body_rate: Option<ByteSize>,
    /// Fault: delay that grows by this much with each response, up to 60s in total
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) growth: Duration,
    /// Fault: slow start: EXTRA delay of the first response, falling linearly to 0 over LENGTH
    #[arg(long, value_name = "EXTRA/LENGTH")]
    pub(crate) ramp: Option<String>,
    /// Fault: rate limit in requests per second, with a burst; 429 with Retry-After beyond it
    #[arg(long, value_name = "RATE/BURST")]
    pub(crate) limit: Option<String>,
    /// Fault: redirect of / to this location
    #[arg(long, value_name = "LOCATION")]
    pub(crate) redirect: Option<String>,
    /// Workers of the pool behind /pool
    #[arg(long, value_name = "N")]
    pub(crate) pool: Option<Count>,
    /// Service time of a pool worker
    #[arg(long, value_name = "TIME", default_value = "5ms", requires = "pool")]
    pub(crate) pool_time: Duration,
    /// Requests that may queue for the pool; further ones get 503
    #[arg(long, value_name = "N", default_value = "10k", requires = "pool")]
    pub(crate) pool_queue: Count,
    /// File to append stall times and arrivals per millisecond to, as JSON lines
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Exit when the parent process ends
    #[arg(long, hide = true)]
    pub(crate) die_with_parent: bool,
}

/// Completion script of a shell, on stdout.
///
/// For bash: plimsoll completions bash > ~/.local/share/bash-completion/completions/plimsoll
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}
