//! Which arguments were typed, whatever their values are.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Id};

/// The arguments of a verb that were typed, and not those that have their default. It has to be the first field of the
/// verb's: each field takes its own arguments away.
#[derive(Debug)]
pub(crate) struct Given(Vec<Id>);

impl Given {
    /// The first flag of `verb` that was typed and is none of `others`, as it is written.
    pub(crate) fn flag_besides(&self, verb: &Command, others: &[&str]) -> Option<String> {
        let typed = verb.get_arguments().filter(|argument| self.0.contains(argument.get_id()));
        let flag = typed.filter_map(|argument| argument.get_long()).find(|name| !others.contains(name))?;
        Some(format!("--{flag}"))
    }
}

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let is_typed = |id: &&Id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        Ok(Self(matches.ids().filter(is_typed).cloned().collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Given {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}
