//! `cargo xtask noise`: noise of known size beside server and load generator, and how often the answer is right all the same.

mod answer;
mod bursts;
mod case;
pub mod hog;
mod page;
mod pause;
mod quota;
mod sweep;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};

use crate::machine;
use crate::progress::Progress;
use answer::{Answer, Quiet, Try, faults};
use bursts::{Bursts, LengthOptions, Lengths};
use case::{Case, CaseOptions, Kind, Place};
use hog::Hog;
use sweep::{Made, Sweep};
use xtask::workspace;

/// Forecast of the time of a sweep until one is known; s.
const SWEEP_S: f64 = 60.0;
/// A sweep may take so many times the planned time, and this time at least, before it is ended: a limit that no product meets is a
/// limit of the lab.
const LIMIT: f64 = 6.0;
const LIMIT_MIN_S: f64 = 120.0;
/// By then the server runs.
const SETTLED: Duration = Duration::from_secs(2);

/// What came of a case.
#[derive(Debug)]
struct Row {
    case: Case,
    tries: Vec<Try>,
    /// Why there was no answer, a line for each of these tries.
    errors: Vec<String>,
    /// Why this noise cannot be made here.
    impossible: Option<String>,
}

impl Row {
    const fn new(case: Case) -> Self {
        Self { case, tries: Vec::new(), errors: Vec::new(), impossible: None }
    }

    fn times(&self) -> usize {
        self.tries.len() + self.errors.len()
    }

    fn right(&self, quiet: &Quiet) -> usize {
        self.tries.iter().filter(|seen| faults(self.case, quiet, seen).is_empty()).count()
    }

    fn has_invalid(&self) -> bool {
        self.tries.iter().any(|seen| seen.answer.state == answer::State::Invalid)
    }
}

/// Everything that was asked for, and the quiet machine so far.
struct Lab {
    sweep: Sweep,
    lengths: Lengths,
    seed: u64,
    quiet: Quiet,
}

/// Noise of known size beside sweeps, a minute each: a program that takes a CPU, a load generator that is paused, a quota
/// that changes half-way. Prints how often the sweep is right; fails when a goal is missed
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Tries of each case
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    tries: u32,
    /// Seed of lengths and places of bursts
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Another plimsoll than the one built here
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Directory for the JSON of every sweep. One that is there, and younger than the program, is not measured again, so that a
    /// long call can be ended and made again
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Sweeps of 8 seconds: does everything still run?
    #[arg(long, conflicts_with = "write_docs")]
    quick: bool,
    /// Write docs/lab/noise.md as well, after each try of all cases
    #[arg(long)]
    write_docs: bool,
    #[command(flatten)]
    lengths: LengthOptions,
    #[command(flatten)]
    cases: CaseOptions,
}

/// Measures, prints the table, and fails when a goal is missed.
pub fn run(options: Options) -> Result<()> {
    let Options { tries, seed, binary, keep, quick: is_quick, write_docs: write, .. } = options;
    let lengths = options.lengths.lengths()?;
    let mut rows: Vec<Row> = options.cases.cases()?.into_iter().map(Row::new).collect();
    let program = workspace::plimsoll(binary)?;
    let mut lab = Lab { sweep: Sweep { program, is_quick, keep }, lengths, seed, quiet: Quiet::default() };
    let quiet_sweeps = tries as usize * of_a_kind(&mut rows).count() + 1;
    let mut progress = Progress::new((quiet_sweeps + tries as usize * rows.len()) as f64 * SWEEP_S);
    for number in 1..=tries {
        for kind in of_a_kind(&mut rows) {
            lab.add_quiet(&mut progress)?;
            for row in kind {
                progress.say(&format!("{number} of {tries}: {}", row.case));
                lab.add(row, number);
                progress.did(SWEEP_S);
            }
        }
        if number == tries {
            lab.add_quiet(&mut progress)?;
        }
        if write {
            page::render(&command(), &machine(), &rows, &lab.quiet).write(page::PATH)?;
        }
    }
    print!("quiet machine, {}\n\n{}", page::said_of(&lab.quiet), page::table(&rows, &lab.quiet));
    match page::missed(&rows, &lab.quiet) {
        missed if missed.is_empty() => Ok(()),
        missed => bail!("goals missed:\n  {}", missed.join("\n  ")),
    }
}

/// Cases of one kind and place, whose tries follow each other.
fn of_a_kind(rows: &mut [Row]) -> impl Iterator<Item = &mut [Row]> {
    rows.chunk_by_mut(|a, b| (a.case.kind, a.case.place) == (b.case.kind, b.case.place))
}

/// The command line that makes the same table, without the paths of this machine.
fn command() -> String {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut told = vec!["cargo xtask".to_owned()];
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--binary" | "--keep" => drop(words.next()),
            _ if word.starts_with("--binary=") || word.starts_with("--keep=") => {}
            _ => told.push(word),
        }
    }
    told.join(" ")
}

impl Lab {
    /// Adds a sweep of the quiet machine.
    fn add_quiet(&mut self, progress: &mut Progress) -> Result<()> {
        let number = self.quiet.sweeps().len() + 1;
        progress.say(&format!("quiet machine, {number}"));
        let name = format!("quiet-{number}");
        let limit = Duration::from_secs_f64(LIMIT * SWEEP_S);
        let made = self.sweep.made(&name, || {
            let (answer, wall_s) = self.sweep.finish(self.sweep.start()?, limit, &name)?;
            Ok(Made { answer, wall_s, noise_share: 0.0 })
        });
        let made = made.context("on the quiet machine")?;
        eprintln!("    {}", said_of(&made));
        self.quiet.add(made.answer, made.wall_s)?;
        progress.did(SWEEP_S);
        Ok(())
    }

    /// A sweep beside the noise of a case, unless it was found to be impossible.
    fn add(&self, row: &mut Row, number: u32) {
        if row.impossible.is_some() {
            return;
        }
        let group = match (row.case.kind == Kind::Quota).then(quota::Group::new).transpose() {
            Ok(group) => group,
            Err(error) => {
                row.impossible = Some(format!("not possible here: {error:#}"));
                return;
            }
        };
        let made = self.sweep.made(&name(row.case, number), || match &group {
            Some(group) => self.with_quota(row.case, number, group),
            None if row.case.kind == Kind::Hog => self.with_hogs(row.case, number),
            None => self.with_pauses(row.case, number),
        });
        match made {
            Ok(made) => {
                eprintln!("    {}", said_of(&made));
                let Made { answer, wall_s, noise_share } = made;
                row.tries.push(Try { answer, wall_s, noise_share, quiet_before: self.quiet.sweeps().len() });
            }
            Err(error) => {
                eprintln!("    no answer: {error:#}");
                row.errors.push(format!("{error:#}"));
            }
        }
    }

    fn server_cpu(&self) -> Result<u32> {
        self.first_cpu(|answer| &answer.server_cpus, "server")
    }

    fn client_cpu(&self) -> Result<u32> {
        self.first_cpu(|answer| &answer.client_cpus, "load generator")
    }

    /// The quiet machine tells where server and load generator run.
    fn first_cpu(&self, of: fn(&Answer) -> &Vec<u32>, whose: &str) -> Result<u32> {
        let told = self.quiet.sweeps().first().and_then(|(answer, _)| of(answer).first().copied());
        told.with_context(|| format!("the record does not say which CPUs the {whose} had: are there two?"))
    }

    fn limit(&self) -> Duration {
        Duration::from_secs_f64((LIMIT * self.quiet.planned_s()).max(LIMIT_MIN_S))
    }

    /// Differs from case to case and from try to try.
    fn seed_of(&self, case: Case, number: u32) -> u64 {
        self.seed
            + 1_000_000 * u64::from(number)
            + 100_000 * case.kind as u64
            + 10_000 * case.place as u64
            + (1000.0 * case.share) as u64
    }

    fn with_hogs(&self, case: Case, number: u32) -> Result<Made> {
        let cpus = match case.place {
            Place::Server => vec![self.server_cpu()?],
            Place::Client => vec![self.client_cpu()?],
            Place::Both => vec![self.server_cpu()?, self.client_cpu()?],
        };
        let seconds = self.limit().as_secs_f64();
        let start = |(i, cpu): (usize, &u32)| {
            Hog::start(*cpu, case.share, self.lengths, self.seed_of(case, number) + i as u64, seconds)
        };
        let hogs: Vec<Hog> = cpus.iter().enumerate().map(start).collect::<Result<_>>()?;
        let finished = self.sweep.finish(self.sweep.start()?, self.limit(), &name(case, number));
        let accounts: Vec<_> = hogs.into_iter().map(Hog::finish).collect::<Result<_>>()?;
        if accounts.iter().any(|account| !account.is_ahead) {
            eprintln!("    at plain priority: real-time priority is not permitted here");
        }
        let noise_share = accounts.iter().map(|account| account.busy_share).sum::<f64>() / accounts.len() as f64;
        let (answer, wall_s) = finished?;
        Ok(Made { answer, wall_s, noise_share })
    }

    fn with_pauses(&self, case: Case, number: u32) -> Result<Made> {
        let bursts = Bursts::new(case.share, self.lengths, self.seed_of(case, number))?;
        self.beside(case, number, |client, ended| pause::pause(client, bursts, ended))
    }

    fn with_quota(&self, case: Case, number: u32, group: &quota::Group) -> Result<Made> {
        let half = Duration::from_secs_f64(self.quiet.planned_s() / 2.0).saturating_sub(SETTLED);
        self.beside(case, number, |client, ended| {
            pause::sleep(SETTLED, ended);
            let pids = if case.place == Place::Client { vec![client] } else { sweep::server(client)? };
            quota::change(group, &pids, case.share, half, ended)
        })
    }

    /// A sweep and, on a thread beside it, `noise`, which gets the number of the load generator and returns the size that it
    /// came out with.
    fn beside(
        &self,
        case: Case,
        number: u32,
        noise: impl FnOnce(i32, &AtomicBool) -> Result<f64> + Send,
    ) -> Result<Made> {
        let running = self.sweep.start()?;
        let client = running.client();
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let noise = scope.spawn(|| noise(client, &ended));
            let finished = self.sweep.finish(running, self.limit(), &name(case, number));
            ended.store(true, Ordering::Relaxed);
            let noise_share = noise.join().map_err(|_| anyhow!("the thread that makes the noise has panicked"))?;
            let (answer, wall_s) = finished?;
            Ok(Made { answer, wall_s, noise_share: noise_share? })
        })
    }
}

/// A line of a sweep, which is judged when the quiet ones on both sides of it are known.
fn said_of(made: &Made) -> String {
    let Made { answer, wall_s, noise_share } = made;
    let (state, knee) = (answer.state, answer.knee.unwrap_or(f64::NAN));
    format!("{state:?}, {wall_s:.0} s, noise {:.1} %, knee at {knee:.2}", 100.0 * noise_share)
}

fn name(case: Case, number: u32) -> String {
    let words = case.to_string().replace(", ", "-").replace(' ', "-").replace('%', "percent");
    format!("{words}-{number}")
}
