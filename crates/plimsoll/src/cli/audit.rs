//! Flags of `plimsoll audit`.

use clap::Args;
use model::{ByteSize, Count, Rate};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  wrk -c 100 -d 30s http://127.0.0.1:8080/ 2>&1 | plimsoll audit -
  plimsoll audit ab.txt --expect-size 2048            a right body has 2048 bytes
  plimsoll audit before.txt after.txt                 may these two be compared?
  plimsoll audit wrk.txt --pidstat pidstat.txt --pidstat-rate 210 --cores 128
  plimsoll audit runs/*.txt --text report.md          is every rate of the report in a result?
  plimsoll audit table.md                             a table of loads: knee and plateau";

/// Judges what other load generators have printed: says what was really measured and what may be believed of it.
///
/// Reads saved output (stdout and stderr) of wrk, wrk2, ab, httperf, h2load, hey, oha, vegeta, k6, bombardier,
/// autocannon and siege, JSON of oha, vegeta, k6, bombardier, autocannon, siege and fortio, Locust's CSV, and tables of
/// loads (Markdown, CSV); one output in each file. What cannot be read whole is told with exit code 2 and never guessed.
/// Secrets in it are not printed again.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AuditArgs {
    /// Saved outputs, or - for stdin; several are also held against each other
    #[arg(value_name = "FILE", required_unless_present = "text")]
    pub(crate) files: Vec<PathBuf>,
    /// Size of a right body
    #[arg(long, value_name = "SIZE")]
    pub(crate) expect_size: Option<ByteSize>,
    /// The client's limit of open files (ulimit -n)
    #[arg(long, value_name = "N")]
    pub(crate) nofile: Option<Count>,
    /// CPUs of the server
    #[arg(long, value_name = "N")]
    pub(crate) cores: Option<Count>,
    /// What `pidstat -u` printed on the server under a load
    #[arg(long, value_name = "FILE", requires = "pidstat_rate", requires = "cores")]
    pub(crate) pidstat: Option<PathBuf>,
    /// Responses per second during that
    #[arg(long, value_name = "PER_SECOND", requires = "pidstat")]
    pub(crate) pidstat_rate: Option<Rate>,
    /// Workers that the server's pool is to have: what would that buy? [default: twice as many]
    #[arg(long, value_name = "N", requires = "pidstat")]
    pub(crate) workers: Option<Count>,
    /// What `ss -s` printed on the client
    #[arg(long, value_name = "FILE")]
    pub(crate) ss: Option<PathBuf>,
    /// A text that names rates (requests per second): each must be in one of the outputs
    #[arg(long, value_name = "FILE")]
    pub(crate) text: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}
