//! Flags of `plimsoll audit`.

use super::examples::Examples;
use clap::Args;
use model::{ByteSize, Count, Rate};
use std::path::PathBuf;

const EXAMPLES: Examples = Examples(&[
    ("output of a tool as it ends", "wrk -c 100 -d 30s http://127.0.0.1:8080/ 2>&1 | plimsoll audit -"),
    ("expected body size: 2048 bytes", "plimsoll audit ab.txt --expect-size 2048"),
    ("comparison of two results", "plimsoll audit before.txt after.txt"),
    (
        "CPU use of the server's workers",
        "plimsoll audit wrk.txt --pidstat pidstat.txt --pidstat-rate 210 \\\n--cores 128",
    ),
    ("rates in a text against the results", "plimsoll audit runs/*.txt --text report.md"),
    ("a table of loads: knee and plateau", "plimsoll audit table.md"),
]);

/// Judge the saved output of wrk, ab, k6 and other tools
#[derive(Debug, Args)]
#[command(long_about = long_about(), after_help = EXAMPLES.short("audit"), after_long_help = EXAMPLES.full())]
pub(crate) struct AuditArgs {
    /// Saved outputs, or - for stdin; several are also compared
    #[arg(value_name = "FILE", required_unless_present = "text")]
    pub(crate) files: Vec<PathBuf>,
    /// Expected body size
    #[arg(long, value_name = "SIZE")]
    pub(crate) expect_size: Option<ByteSize>,
    /// Open-file limit of the client (ulimit -n)
    #[arg(long, value_name = "N")]
    pub(crate) nofile: Option<Count>,
    /// CPUs of the server
    #[arg(long, value_name = "N")]
    pub(crate) cores: Option<Count>,
    /// Output of `pidstat -u` on the server under load
    #[arg(long, value_name = "FILE", requires = "pidstat_rate", requires = "cores")]
    pub(crate) pidstat: Option<PathBuf>,
    /// Responses per second during --pidstat
    #[arg(long, value_name = "PER_SECOND", requires = "pidstat")]
    pub(crate) pidstat_rate: Option<Rate>,
    /// Size of the server's worker pool to predict the gain for [default: twice as many workers]
    #[arg(long, value_name = "N", requires = "pidstat")]
    pub(crate) workers: Option<Count>,
    /// Output of `ss -s` on the client
    #[arg(long, value_name = "FILE")]
    pub(crate) ss: Option<PathBuf>,
    /// Text with request rates, each of which must be in one of the outputs
    #[arg(long, value_name = "FILE")]
    pub(crate) text: Option<PathBuf>,
    /// One JSON object on stdout instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Also the names of all rules that were not checked
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

fn long_about() -> String {
    format!(
        "Judge the saved output of wrk, ab, k6 and other tools\n\nIt says what was measured, and whether it is valid. \
         Reads saved output (stdout \
         and stderr) of {}; a file may be a log with several outputs. Output that cannot be read completely is an error (exit code 2). Secrets \
         are redacted.",
        audit::tools_in_words()
    )
}
