//! The flags of `plimsoll report --table`.

use clap::{Args, ValueEnum};

/// Kind of a table of measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableArg {
    /// One row per run, load level or trial, also of invalid ones
    Raw,
    /// One row per group, with aggregates of each field
    Aggregated,
    /// Aggregates of each group over those of a baseline
    Overhead,
}

/// Which table.
#[derive(Debug, Args)]
#[command(next_help_heading = "Table")]
pub(crate) struct TableArgs {
    /// Table of all measurements (runs, load levels, trials, steps); --format text, csv or tsv [default: text]
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) table: Option<TableArg>,
    /// Fields, comma-separated [default: goodput,p50,p99,cpu-proc,cpu-per-request,rss]
    ///
    /// result, instance (server or target), variant (of an experiment), target, verdict, started; connections, rate, threads, iterations, duration;
    /// goodput, throughput, transferrate, errors, slo; mean, p50, p90, p99, p99.9, max; cpu (machine), cpu-proc,
    /// cpu-per-request, rss, vms (server).
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "table")]
    pub(crate) field: Vec<String>,
    /// Aggregates, comma-separated, each in a column of its own [default: median]
    ///
    /// mean, median, geomean, min, max, sum; stdev, stdev-percent, variance (with n - 1), mad; count.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "table")]
    pub(crate) aggregate: Vec<String>,
    /// Fields whose values make a group, comma-separated [default: instance,connections,rate; of an experiment
    /// variant,connections,rate]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "table")]
    pub(crate) group_by: Vec<String>,
    /// Measurements in the table, such as connections=64, rate>=500 or verdict!=bound; repeatable
    #[arg(long, value_name = "CONDITION", requires = "table")]
    pub(crate) filter: Vec<String>,
    /// Baseline of an overhead: a value of the first field of --group-by, such as 'nginx workers=1', or of an experiment
    /// gzip=off [default: the first]
    #[arg(long, value_name = "VALUE", requires = "table")]
    pub(crate) baseline: Option<String>,
}
