//! Flags by which a result passes or fails, for scripts and CI.

use clap::Args;
use std::path::PathBuf;

/// Conditions of a run, a sweep and a capacity.
pub(crate) const CONDITIONS: &str = "\
Conditions of --fail-if:
  goodput<1000, throughput<1000  responses per second (of a sweep the peak)
  capacity<1000                  of a capacity, which has no other figure
  p95>50ms, p99.9>1s             any quantile of the response time, mean or max
  ttfb-p95>200ms                 any quantile of the time to the first byte
  errors>1%, send-rate<99%       failed share; sent share of what was due
  slo<99%                        share answered well within --slo
  cpu>80%, cpu>1.5               CPU use of the server: share, or CPUs
  cpu-per-request>50us           CPU time of the server per request
  rss>512MiB                     resident memory of the server
  goodput<-3%, p99>+10%          change against --baseline, with its sign

The exit code is 5 if an interval or a bound leaves it open whether a condition holds.";

/// Conditions of a comparison.
pub(crate) const CONDITIONS_OF_COMPARISON: &str = "\
Conditions of --fail-if:
  cpu>2%                    server CPU per request
  p50>5%, p95>5%, p99>10%   response time (p50, p90, p95, p99)
  goodput<-3%, rss>10%      at saturation
  capacity<-5%              with --capacity

Each is a change of the variant against the baseline. CPU time and response times are those at the fixed load, unless \
--only saturated is given. The exit code is 5 if an interval leaves it open whether a condition holds.";

/// Thresholds and the files that CI reads.
#[derive(Debug, Args)]
#[command(next_help_heading = "CI")]
pub(crate) struct ThresholdArgs {
    /// Exit code 1 if this holds, such as 'goodput<1000,p99>100ms'
    ///
    /// Comma-separated and repeatable; the conditions are listed below the examples.
    #[arg(long, help_heading = "Common", value_name = "CONDITIONS", allow_hyphen_values = true)]
    pub(crate) fail_if: Vec<String>,
    /// Stored result that changes in --fail-if are relative to; it must have been measured alike
    #[arg(hide_short_help = true, long, value_name = "DIR", requires = "fail_if")]
    pub(crate) baseline: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) files: CiFiles,
}

/// The files that CI reads.
#[derive(Debug, Args)]
#[command(next_help_heading = "CI")]
pub(crate) struct CiFiles {
    /// JUnit XML: a file to write, with a test case for the verdict and each condition
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Short Markdown: a file to append to, such as "$GITHUB_STEP_SUMMARY"
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    pub(crate) summary: Option<PathBuf>,
}
