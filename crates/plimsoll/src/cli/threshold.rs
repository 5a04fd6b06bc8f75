//! Flags by which a result passes or fails, for scripts and CI.

use clap::Args;
use std::path::PathBuf;

/// Thresholds and the files that CI reads.
#[derive(Debug, Args)]
#[command(next_help_heading = "CI")]
pub(crate) struct ThresholdArgs {
    /// Exit code 1 if this holds, such as 'goodput<1000' or 'p99>100ms'; comma-separated, repeatable
    ///
    /// goodput, throughput and capacity per second, any quantile of the response time such as p95 or p99.9, mean and max
    /// (time), errors and send-rate (percent), cpu (percent or CPUs), cpu-per-request (time), rss (size). With --baseline a change with its sign:
    /// 'goodput<-3%', 'p99>+10%'. Exit code 5 if an interval or a bound leaves it open. Of a sweep the peak counts; a
    /// capacity has the figure capacity only.
    #[arg(long, value_name = "CONDITION", allow_hyphen_values = true)]
    pub(crate) fail_if: Vec<String>,
    /// Stored result that changes in --fail-if are relative to; it must have been measured alike
    #[arg(long, value_name = "DIR", requires = "fail_if")]
    pub(crate) baseline: Option<PathBuf>,
    /// JUnit XML: a file to write, with a test case for the verdict and each condition
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Short Markdown: a file to append to, such as "$GITHUB_STEP_SUMMARY"
    #[arg(long, value_name = "FILE")]
    pub(crate) summary: Option<PathBuf>,
}
