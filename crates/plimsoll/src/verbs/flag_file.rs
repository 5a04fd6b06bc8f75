//! Flags of a verb from a file: `plimsoll run @load.toml`.

use super::experiment::step::{one_line, vocabulary};
use crate::cli::Cli;
use crate::exit::{CommandError, Exit};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use input::experiment::FlagFile;
use input::text_at_most;
use model::Redacted;
use std::ffi::OsString;
use std::path::Path;

/// Longest file of flags.
const FILE_MAX_BYTES: u64 = 1 << 20;

/// The command line with the flags of a file in the place of `@FILE` behind the verb, and the file. Flags that are typed come
/// before those of the file, and before those of the file that conflict with them.
pub(crate) fn expand(words: Vec<OsString>) -> Result<(Vec<OsString>, Option<FlagFile>), CommandError> {
    let at = |index: usize| words.get(index).and_then(|word| word.to_str());
    let verb = at(1).and_then(|name| vocabulary().verbs.into_iter().find(|verb| verb.name == name));
    let (Some(verb), Some(path)) = (verb, at(2).and_then(|word| word.strip_prefix('@'))) else {
        return Ok((words, None));
    };
    let text = text_at_most(Path::new(path), FILE_MAX_BYTES)
        .map_err(|error| CommandError::usage(format!("{path}: {error}")))?;
    let file = FlagFile::parse(path, &text, &verb)?;
    let typed: Vec<OsString> = words[..2].iter().chain(&words[3..]).cloned().collect();
    let mut cli = Cli::definition();
    cli.build();
    let matches = cli.clone().ignore_errors(true).try_get_matches_from(&typed).ok();
    let own = matches.as_ref().and_then(ArgMatches::subcommand).map(|(_, own)| own);
    let command = cli.find_subcommand(&verb.name);
    let is_typed = |name: &str| own.zip(command).is_some_and(|(own, command)| excludes(own, command, name));
    let of_file = file.arguments.iter().filter(|argument| !is_typed(&argument.name));
    let (urls, flags): (Vec<_>, Vec<_>) = of_file.partition(|argument| argument.name == "url");
    let added = |arguments: Vec<&input::experiment::Argument>| -> Vec<OsString> {
        arguments.iter().flat_map(|argument| &argument.words).map(OsString::from).collect()
    };
    let all = [words[..2].to_vec(), added(flags), words[3..].to_vec(), added(urls)].concat();
    Ok((all, Some(file)))
}

/// True if the flag `name` of a file is typed, or one that conflicts with it.
fn excludes(typed: &ArgMatches, command: &Command, name: &str) -> bool {
    let is_it = |argument: &&clap::Arg| argument.get_long() == Some(name) || argument.get_id() == name;
    let Some(argument) = command.get_arguments().find(is_it) else { return false };
    let is_typed = |id: &clap::Id| typed.value_source(id.as_str()) == Some(ValueSource::CommandLine);
    let given = command.get_arguments().filter(|other| typed.ids().any(|id| id == other.get_id() && is_typed(id)));
    given.into_iter().any(|other| {
        other.get_id() == argument.get_id()
            || command.get_arg_conflicts_with(other).iter().any(|one| one.get_id() == argument.get_id())
            || command.get_arg_conflicts_with(argument).iter().any(|one| one.get_id() == other.get_id())
    })
}

/// What the argument parser refuses of a file, at its place; none if it is no flag of the file.
pub(crate) fn refusal(error: &clap::Error, file: &FlagFile) -> Option<CommandError> {
    error
        .use_stderr()
        .then(|| file.refusal(Redacted::text(&one_line(error)).as_str()))
        .flatten()
        .map(CommandError::from)
}

/// An error with its place in the file, where it names a flag of the file.
pub(crate) fn placed(error: CommandError, file: Option<&FlagFile>) -> CommandError {
    let refusal = file.filter(|_| error.exit == Exit::Usage).and_then(|file| file.refusal(&error.message));
    refusal.map_or(error, CommandError::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command line behind the verb.
    fn expanded(text: &str, typed: &str) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("load.toml");
        std::fs::write(&path, text).expect("a file");
        let words = format!("plimsoll run @{} {typed}", path.display());
        let words = words.split_whitespace().map(OsString::from).collect();
        let (words, _) = expand(words).map_err(|error| error.message)?;
        Ok(words.into_iter().skip(2).map(|word| word.into_string().expect("text")).collect())
    }

    #[test]
    fn what_is_typed_comes_before_the_file() {
        let file = "url = \"http://h/\"\nduration = \"5s\"\nconnections = 3\n";
        assert_eq!(expanded(file, "").unwrap(), ["--duration", "5s", "--connections", "3", "http://h/"]);
        assert_eq!(expanded(file, "-c 4").unwrap(), ["--duration", "5s", "-c", "4", "http://h/"]);
        assert_eq!(expanded(file, "-n 10 http://i/").unwrap(), ["--connections", "3", "-n", "10", "http://i/"]);
        assert!(expanded("durations = 5\n", "").unwrap_err().contains("load.toml:1:1: \"durations\" is no flag"));
    }

    #[test]
    fn a_file_is_read_behind_a_verb_that_measures_alone() {
        for line in ["plimsoll run http://h/ -b @body", "plimsoll serve @server.toml", "plimsoll @load.toml"] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let (same, file) = expand(words.clone()).unwrap_or_else(|error| panic!("{}", error.message));
            assert!(same == words && file.is_none(), "{line}");
        }
    }
}
