//! `cargo xtask attacks`: clients that mean the built-in server ill, and what all others get meanwhile.

mod attack;
mod bystander;
mod flood;
mod page;
mod server;
mod smuggled;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::builder::PossibleValuesParser;

use crate::progress::Progress;
use crate::{is_wanted, machine, raise_file_limit};
use attack::{ATTACKS, Attack};
use bystander::Answered;
use flood::Flood;
use server::Server;
use xtask::workspace;

/// When others ask: at once, and when every deadline that an attack of this size meets has passed.
const AT_ONCE: [Duration; 2] = [Duration::ZERO, Duration::from_secs(10)];
const LATER: [Duration; 2] = [Duration::from_secs(50), Duration::from_secs(60)];
/// Share of others that a server under attack still has to answer later.
const SHARE_MIN: f64 = 0.95;
/// What the built-in server allows one client: half of the files that it may have open.
const PER_CLIENT: &str = "--max-per-client=5000";

/// Floods of slow, silent or deaf clients of the built-in server, and requests that two servers read differently. Prints what
/// other clients get meanwhile; fails when the server does not keep answering them
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// An older plimsoll, measured first for the column 'before'
    #[arg(long, value_name = "FILE")]
    before: Option<PathBuf>,
    /// Write docs/lab/attacks.md as well
    #[arg(long, requires = "before")]
    write_docs: bool,
    /// This attack alone, and requests that two servers read differently; can be repeated
    #[arg(long, value_name = "ATTACK", conflicts_with = "write_docs", value_parser = names())]
    only: Vec<String>,
    /// Hold connections of an attack, from a number to before another, until stdin ends
    #[arg(long, hide = true, num_args = 4, value_names = ["ATTACK", "FROM", "TO", "SERVER"])]
    hold: Option<Vec<String>>,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(ATTACKS.iter().map(|attack| attack.name))
}

/// What became of an attack on one server.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    attack: &'static Attack,
    at_once: Answered,
    later: Answered,
    /// Most memory that the server had.
    memory_bytes: u64,
}

/// Outcomes of one program.
struct Column {
    /// In the order of [`ATTACKS`].
    outcomes: Vec<Outcome>,
    /// Requests that were refused, of all of [`smuggled::REQUESTS`].
    refused: usize,
}

/// Makes all attacks.
///
/// # Errors
/// If a server does not start, or this version does not hold.
pub fn run(options: Options) -> Result<()> {
    let files_max = raise_file_limit()?;
    if let Some([attack, from, to, server]) = options.hold.as_deref() {
        return flood::hold(attack, from.parse()?..to.parse()?, server.parse()?);
    }
    ensure!(
        files_max.is_none_or(|files| files >= server::FILES_MAX),
        "a server under attack opens {} files, and the hard limit is lower (ulimit -Hn)",
        server::FILES_MAX
    );
    let plimsoll = workspace::build_plimsoll()?;
    let attacks: Vec<&Attack> = ATTACKS.iter().filter(|attack| is_wanted(&options.only, attack.name)).collect();
    let programs = 1 + usize::from(options.before.is_some());
    let mut progress = Progress::new(LATER[1].as_secs_f64() * (programs * attacks.len()) as f64);
    let mut column = |version, program: &Path, options: &[&str]| {
        let start = || Server::start(program, options);
        Column::measure(version, &attacks, files_max, start, &mut progress)
    };
    let before = options.before.as_deref().map(|program| column("before", program, &[])).transpose()?;
    let now = column("now", &plimsoll, &[PER_CLIENT])?;
    print!("{}", page::table(before.as_ref(), &now));
    if options.write_docs {
        page::render(&machine(), before.as_ref(), &now).write(page::PATH)?;
    }
    let fallen = fallen(&now);
    ensure!(fallen.is_empty(), "the server does not hold: {}", fallen.join(", "));
    Ok(())
}

/// Attacks that keep others from being answered.
fn fallen(column: &Column) -> Vec<&'static str> {
    let fallen = column.outcomes.iter().filter(|outcome| outcome.later.share() < SHARE_MIN);
    let mut fallen: Vec<_> = fallen.map(|outcome| outcome.attack.name).collect();
    if column.refused < smuggled::REQUESTS.len() {
        fallen.push(smuggled::NAME);
    }
    fallen
}

impl Column {
    /// Makes attacks from processes that may have `files_max` files open, each on a server of its own.
    fn measure(
        version: &str,
        attacks: &[&'static Attack],
        files_max: Option<u64>,
        start: impl Fn() -> Result<Server>,
        progress: &mut Progress,
    ) -> Result<Self> {
        let mut outcomes = Vec::new();
        for attack in attacks {
            progress.say(&format!("{version}: {}", attack.name));
            outcomes.push(endure(attack, &start()?, files_max)?);
            progress.did(LATER[1].as_secs_f64());
        }
        let server = start()?;
        let refused = smuggled::REQUESTS.iter().filter(|request| smuggled::is_refused(server.address, request)).count();
        Ok(Self { outcomes, refused })
    }
}

/// Attacks a server, and asks it as others do.
fn endure(attack: &'static Attack, server: &Server, files_max: Option<u64>) -> Result<Outcome> {
    let flood = Flood::start(attack, server.address, files_max)?;
    let at_once = bystander::ask(server.address, flood.begun, AT_ONCE);
    let later = bystander::ask(server.address, flood.begun, LATER);
    Ok(Outcome { attack, at_once, later, memory_bytes: server.memory_bytes() })
}
