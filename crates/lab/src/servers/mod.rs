//! `cargo xtask servers`: plimsoll on many servers, each at its defaults, beside wrk and ab, and held against curl.

mod loads;
mod page;
mod server;
mod setup;
mod setups;
mod truth;

use anyhow::{Result, ensure};
use clap::builder::PossibleValuesParser;
use xtask::packages::{self, Tool};
use xtask::workspace;

use crate::progress::each;
use crate::{is_wanted, machine};
use loads::Outcome;
use server::Server;
use setup::Setup;

/// Clients of all set-ups.
const CLIENTS: &[Tool] =
    &[Tool::new("wrk", &["wrk"]), Tool::new("ab", &["apache2-utils"]), Tool::new("curl", &["curl"])];
/// Time of a set-up beside its windows: starting it, counted loads, `check`.
const OTHER_S: f64 = 12.0;
/// Loads with a window in a round: plimsoll, wrk and ab.
const IN_TURN: f64 = 3.0;

/// plimsoll on many servers at their defaults, beside wrk and ab in interleaved rounds; fails when it contradicts what curl
/// gets of one of them. Installs into target/servers, and Debian packages
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// This server alone; can be repeated
    #[arg(long, value_name = "NAME", value_parser = names())]
    only: Vec<String>,
    /// Rounds of plimsoll, wrk and ab
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Length of each window in seconds; below 5 plimsoll calls it too short
    #[arg(long, value_name = "S", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Write docs/lab/servers.md as well; with --only the rows of these servers
    #[arg(long)]
    write_docs: bool,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(setups::all().map(|setup| setup.name))
}

/// How everything is measured.
struct Settings {
    rounds: u32,
    seconds: u32,
}

/// A set-up, and what came of it, or why nothing did.
struct Row {
    setup: &'static Setup,
    outcome: Result<Outcome, String>,
}

/// Measures all set-ups, one at a time.
///
/// # Errors
/// If plimsoll is wrong about one of them.
pub fn run(options: Options) -> Result<()> {
    packages::ensure(CLIENTS)?;
    workspace::build_plimsoll()?;
    let settings = Settings { rounds: options.rounds, seconds: options.seconds };
    let wanted: Vec<&'static Setup> = setups::all().filter(|setup| is_wanted(&options.only, setup.name)).collect();
    let each_s = f64::from(settings.seconds) * (IN_TURN * f64::from(settings.rounds) + 1.0) + OTHER_S;
    let before =
        if options.write_docs && !options.only.is_empty() { workspace::read(page::PATH)? } else { String::new() };
    let page = |rows: &[Row]| match options.only.is_empty() {
        true => Ok(page::render(&machine(), rows, &settings)),
        false => page::again(&before, &machine(), rows, &settings),
    };
    let mut rows = Vec::new();
    for setup in each(wanted, |setup| (setup.name, each_s)) {
        let outcome = Server::start(setup).and_then(|server| Outcome::measure(setup, &server, &settings));
        rows.push(Row { setup, outcome: outcome.map_err(|error| format!("{error:#}")) });
        // Kept at once, as the whole takes most of an hour.
        if options.write_docs {
            page(&rows)?.write(page::PATH)?;
        }
    }
    print!("{}", page::table(&rows));
    let is_wrong = |row: &&Row| row.outcome.as_ref().is_ok_and(|outcome| !outcome.wrong().is_empty());
    let wrong: Vec<&str> = rows.iter().filter(is_wrong).map(|row| row.setup.name).collect();
    ensure!(wrong.is_empty(), "plimsoll is wrong about {}", wrong.join(", "));
    Ok(())
}
