//! `cargo xtask comparisons`: whether `plimsoll compare` finds 3 % more CPU time within three minutes, and finds nothing
//! where nothing has changed. Real servers, of which the truth is measured apart.

mod client;
mod comparison;
mod page;
mod results;
mod server;
mod sums;
mod truth;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use model::Estimate;
use procfs::{CpuInfo, Current};
use xtask::workspace;

use crate::machine;
use crate::progress::Progress;
use comparison::{Comparison, Kind, Outcome};
use page::Row;
use results::Results;
pub use server::Server;
use sums::Sums;
use truth::{START_S, Truth};

/// Time of a comparison beside its budget: the probe and the closed loops before the blocks; s.
const BESIDE_BUDGET_S: f64 = 15.0;

/// Servers of which the truth is known, compared by the real binary: a variant that takes 3 % more CPU time, and one that is
/// the same. Prints how often each was called what; fails when a goal is missed. The same command goes on where it was
/// interrupted. 20 comparisons of each kind of three servers take about 4 hours
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Servers; go needs Go, nginx and php install Debian packages
    #[arg(long, value_enum, value_name = "SERVER,...", value_delimiter = ',', default_values_t = Server::ALL)]
    servers: Vec<Server>,
    /// Comparisons of each kind of each server; 0 measures nothing but the truth
    #[arg(long, value_name = "N", default_value_t = 20)]
    tries: u32,
    /// Time of the blocks of a comparison, as plimsoll compare takes it
    #[arg(long, value_name = "TIME", default_value = "170s")]
    budget: String,
    /// Starts of both variants of a server by which the true change is measured, about 23 s each
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = clap::value_parser!(u32).range(6..))]
    starts: u32,
    /// Directory of the variants and of the results of plimsoll [default: target/comparisons]
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// File of what has been measured; what is in it already is not measured again [default: measured.json in --keep]
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// Another plimsoll than the one built here
    #[arg(long, value_name = "PATH")]
    plimsoll: Option<PathBuf>,
    /// Write docs/lab/comparisons.md as well
    #[arg(long)]
    write_docs: bool,
}

/// One kind of comparison of one server.
struct Case {
    server: Server,
    kind: Kind,
    /// What `--serve` takes for the baseline and for the variant.
    variants: [String; 2],
    /// The true CPU time of the variant divided by that of the baseline.
    truth: Estimate,
}

/// What all comparisons have in common.
struct Lab {
    plimsoll: PathBuf,
    /// Directory of the variants and of the results of plimsoll.
    keep: PathBuf,
    results: Results,
    budget: String,
    /// Forecast of the time of a comparison; s.
    comparison_s: f64,
    progress: Progress,
    /// Comparisons that failed, each with the reason. The others go on without them.
    failed: Vec<String>,
}

/// Measures what is not there yet, prints the tables, and fails when a goal is missed.
///
/// # Errors
/// If a server cannot be had, a comparison fails, or a goal is missed.
pub fn run(options: Options) -> Result<()> {
    let mut lab = Lab::new(&options)?;
    let truths = options.servers.iter().map(|server| lab.truth(*server, options.starts).context(server.name()));
    let truths: Vec<(Server, Truth)> = truths.collect::<Result<_>>()?;
    let cases = truths.iter().map(|(server, truth)| cases(&lab.keep, *server, truth));
    let cases: Vec<Case> = cases.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    let rows = lab.rows(&cases, options.tries);
    print!("{}", page::tables(&truths, &rows));
    if options.write_docs {
        page::render(&machine(), &options, &lab.results, &truths, &rows).write(page::PATH)?;
    }
    let missed = rows.iter().filter_map(Row::missed).map(|missed| format!("goal missed: {missed}"));
    let faults: Vec<String> = lab.failed.into_iter().chain(missed).collect();
    if faults.is_empty() { Ok(()) } else { bail!("\n  {}", faults.join("\n  ")) }
}

/// One comparison of either kind of a server, each of one block, which cannot tell: for a test that all of this works. Returns
/// the changes, as ratios.
///
/// # Errors
/// If a comparison does not end as it has to, or its record does not say how the CPU time has changed.
pub fn make_short_ones(plimsoll: &Path, server: Server, folder: &Path) -> Result<Vec<f64>> {
    let variants = server.variants(folder, server.rounds_of_truth() / 10)?;
    let short = |kind: Kind| {
        let mut comparison = Comparison::new(server, kind, 1, &kind.of(&variants), "60s");
        comparison.words.extend(["--blocks", "1", "--duration", "1s", "--warmup", "500ms"].map(str::to_owned));
        Ok(comparison.make(plimsoll, folder)?.ratio.value)
    };
    Kind::ALL.into_iter().map(short).collect()
}

/// Both kinds of a server.
fn cases(keep: &Path, server: Server, truth: &Truth) -> Result<[Case; 2]> {
    let measured = server.rounds_of_truth();
    let variants = server.variants(keep, truth.rounds_of_change(measured))?;
    Ok(Kind::ALL.map(|kind| {
        let same = Estimate { value: 1.0, ..Estimate::default() };
        let ratio = if kind == Kind::Worse { truth.ratio(measured) } else { same };
        Case { server, kind, variants: kind.of(&variants), truth: ratio }
    }))
}

impl Lab {
    fn new(options: &Options) -> Result<Self> {
        let budget: model::Duration = options.budget.parse().context("--budget")?;
        let comparison_s = budget.ns as f64 / 1e9 + BESIDE_BUDGET_S;
        let of_a_server = f64::from(options.starts) * START_S + f64::from(2 * options.tries) * comparison_s;
        let progress = Progress::new(options.servers.len() as f64 * of_a_server);
        let keep = options.keep.clone().unwrap_or_else(|| workspace::target().join("comparisons"));
        std::fs::create_dir_all(&keep).with_context(|| format!("creating {}", keep.display()))?;
        // Servers are started in other directories.
        let keep = keep.canonicalize().with_context(|| keep.display().to_string())?;
        let results = options.results.clone().unwrap_or_else(|| keep.join("measured.json"));
        let results = Results::open(results, cpu()?)?;
        let plimsoll = workspace::plimsoll(options.plimsoll.clone())?;
        Ok(Self { plimsoll, keep, results, budget: options.budget.clone(), comparison_s, progress, failed: Vec::new() })
    }

    /// The true change of a server, measured unless it is there.
    fn truth(&mut self, server: Server, starts: u32) -> Result<(Server, Truth)> {
        let variants = server.variants(&self.keep, server.rounds_of_truth())?;
        if let Some(truth) = self.results.truth(server, &variants, starts) {
            self.progress.did(f64::from(starts) * START_S);
            return Ok((server, truth));
        }
        self.results.check_cpu(server)?;
        let progress = &mut self.progress;
        let truth = Truth::measure(&self.plimsoll, server, &variants, starts, |start| {
            progress.say(&format!("{}: true change, start {} of {starts}", server.name(), start + 1));
            progress.did(START_S);
        })?;
        self.results.keep_truth(server, &truth)?;
        Ok((server, truth))
    }

    /// All comparisons, one of each case after the other, so that a program that is interrupted has made as many of each.
    fn rows(&mut self, cases: &[Case], tries: u32) -> Vec<Row> {
        let mut outcomes = vec![Vec::new(); cases.len()];
        for number in 1..=tries {
            for (Case { server, kind, variants, .. }, outcomes) in cases.iter().zip(&mut outcomes) {
                let comparison = Comparison::new(*server, *kind, number, variants, &self.budget);
                outcomes.extend(self.outcome(&comparison));
            }
        }
        let row = |(case, outcomes): (&Case, &Vec<Outcome>)| Row {
            server: case.server,
            kind: case.kind,
            sums: Sums::new(outcomes, &case.truth),
        };
        cases.iter().zip(&outcomes).map(row).collect()
    }

    /// What came of a comparison, which is made unless it is there; none of one that fails.
    fn outcome(&mut self, comparison: &Comparison) -> Option<Outcome> {
        let made = self.made(comparison);
        self.progress.did(self.comparison_s);
        made.inspect_err(|error| self.failed.push(format!("{}: {error:#}", comparison.name()))).ok()
    }

    fn made(&mut self, comparison: &Comparison) -> Result<Outcome> {
        if let Some(outcome) = self.results.outcome(comparison)? {
            return Ok(outcome);
        }
        self.results.check_cpu(comparison.server)?;
        self.progress.say(&comparison.name());
        let outcome = comparison.make(&self.plimsoll, &self.keep)?;
        self.results.keep(comparison, &outcome)?;
        Ok(outcome)
    }
}

/// What is known of the CPU of this machine.
fn cpu() -> Result<String> {
    let info = CpuInfo::current().context("/proc/cpuinfo")?;
    let name = info.model_name(0).unwrap_or("a CPU without a name");
    let of = |key: &str| info.get_field(0, key).unwrap_or("unknown");
    Ok(format!("{name}, family {}, model {}, stepping {}", of("cpu family"), of("model"), of("stepping")))
}
