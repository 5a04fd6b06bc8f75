//! `plimsoll completions`: what a shell needs to complete the command line.

use crate::cli::{Cli, CompletionsArgs};
use crate::exit::{CommandError, Exit};
use crate::output::printer;
use clap::CommandFactory;

/// Prints the completion script of one shell.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<Exit, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "plimsoll", &mut script);
    printer::result(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Fine)
}
