//! The flags of `plimsoll report`.

use super::examples::Examples;
use super::table::TableArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

const EXAMPLES: Examples = Examples(&[
    ("text of a result, and its page", "plimsoll report plimsoll-runs/2026-01-02T03-04-05-sweep"),
    ("side by side in one page", "plimsoll report before after -o both.html"),
    ("data of all results", "plimsoll report plimsoll-runs/* --format csv -o all.csv"),
    (
        "overhead over a baseline",
        "plimsoll report a b --table overhead --baseline 'nginx workers=1' \\\n--aggregate median,mad,count",
    ),
    (
        "overhead of the variants of an experiment over its first",
        "plimsoll report plimsoll-runs/EXPERIMENT --table overhead",
    ),
]);

/// Show stored results: text and page, table, CSV, figures
///
/// The text is that of the measurement, with all findings. The page is one file that needs no network; it goes into the
/// directory of a single result, or into the current directory for several, and its path is printed. Other formats go to
/// stdout. Sweeps of the same kind of load are overlaid; that is no paired comparison.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES.short("report"), after_long_help = EXAMPLES.full())]
pub(crate) struct ReportArgs {
    /// Result directories of run, sweep, capacity, compare, experiment or render
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath, required = true)]
    pub(crate) directories: Vec<PathBuf>,
    /// Recover results whose measurement did not end
    ///
    /// run.json is made from the events of each DIR.
    /// For a measurement whose program, machine or disk died. What was measured until then counts as interrupted.
    #[arg(long)]
    pub(crate) recover: bool,
    /// Output format [default: text, and html beside the result]
    ///
    /// With --output the default is html, with --table text.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<FormatArg>,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// Output file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// All findings of several results too
    ///
    /// Also notes and rules that were not checked. A single result has them in any case.
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
