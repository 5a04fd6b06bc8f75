//! `cargo xtask manners`: what servers do on a raw socket, and what plimsoll, wrk and curl make of it.

mod clients;
mod page;
mod server;
mod table;

use anyhow::{Result, ensure};
use clap::builder::PossibleValuesParser;

use crate::progress::each;
use crate::{build_debug_plimsoll, is_wanted};
pub use clients::{Clients, Made, UPLOAD_BYTES};
pub use server::Server;
pub use table::{MANNERS, Manner, Outcome, Request, Step};

/// Time for one row: the three clients and their timeouts.
const ROW_S: f64 = 3.0;

/// What servers do that HTTP/1 lets them do and what they do otherwise, on a raw socket, one row at a time; fails when
/// plimsoll does not make of it what the table says
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// This row alone; can be repeated
    #[arg(long, value_name = "ROW", conflicts_with = "write_docs", value_parser = names())]
    only: Vec<String>,
    /// Write docs/lab/http-conformance.md as well; needs curl and wrk
    #[arg(long)]
    write_docs: bool,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(MANNERS.iter().map(|manner| manner.name))
}

/// A row of the page.
struct Row {
    manner: &'static Manner,
    plimsoll: Made,
    wrk: String,
    curl: String,
}

/// Runs all clients against all rows.
///
/// # Errors
/// If a client cannot be started, or plimsoll makes something else of a row.
pub fn run(options: Options) -> Result<()> {
    // Nothing here is about speed.
    let clients = Clients::new(&build_debug_plimsoll()?)?;
    let manners: Vec<&'static Manner> = MANNERS.iter().filter(|manner| is_wanted(&options.only, manner.name)).collect();
    let mut rows = Vec::new();
    for manner in each(manners, |manner| (manner.name, ROW_S)) {
        // Each client has a server of its own: none has to live with what another left behind.
        rows.push(Row {
            manner,
            plimsoll: clients.plimsoll(manner, &Server::start(manner)?)?,
            wrk: clients.wrk(manner, &Server::start(manner)?)?,
            curl: clients.curl(manner, &Server::start(manner)?)?,
        });
    }
    print!("{}", page::table(&rows));
    if options.write_docs {
        page::render(&page::versions(), &rows).write(page::PATH)?;
    }
    let wrong: Vec<&str> = rows.iter().filter(|row| !row.plimsoll.is_expected).map(|row| row.manner.name).collect();
    ensure!(wrong.is_empty(), "plimsoll makes something else of {}", wrong.join(", "));
    Ok(())
}
