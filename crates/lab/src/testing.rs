//! Options as they are typed.

use clap::{Args, Command, Error};

/// Reads a command line without the name of the program.
pub(crate) fn parsed<A: Args>(line: &str) -> Result<A, Error> {
    let command = A::augment_args(Command::new("lab").no_binary_name(true));
    A::from_arg_matches(&command.try_get_matches_from(line.split_whitespace())?)
}
