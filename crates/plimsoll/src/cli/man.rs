//! `plimsoll man`.

use clap::Args;
use std::path::PathBuf;

/// Print or write the manual pages
///
/// To read one: plimsoll man /tmp/man && man /tmp/man/plimsoll-run.1
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Directory for one file per page, created if missing; without it all pages go to stdout
    #[arg(value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
}
