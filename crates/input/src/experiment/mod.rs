//! Experiments: files in TOML that declare servers, variants, loads and repetitions.
//!
//! What came of one is read back from its directory ([`Progress`]).
//!
//! Pure: a text becomes combinations of variant and load with the arguments of the verb that measures them, or one line
//! with file, line, column, reason and remedy. Which flags a verb has is told by the caller.

mod fill;
mod flag_file;
mod flags;
mod place;
mod read;
mod stored;
mod tree;
mod variants;

use crate::InputError;
pub use flag_file::FlagFile;
use model::Duration;
use place::Places;
use std::collections::BTreeMap;
pub use stored::Progress;

/// Most measurements of an experiment: combinations times repetitions.
pub const STEPS_MAX: u64 = 1_000;

/// What the program that measures knows.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// Verbs that measure; the first is the default.
    pub verbs: Vec<VerbFlags>,
    /// Placeholders of servers, which are left as they are.
    pub of_servers: &'static [&'static str],
}

/// A verb and its flags.
#[derive(Clone, Debug)]
pub struct VerbFlags {
    /// Its name.
    pub name: String,
    /// The flags that may stand in the file.
    pub flags: Vec<FlagShape>,
    /// True if it measures all variants in one step, and so with the same flags.
    pub takes_all: bool,
}

/// A flag.
#[derive(Clone, Debug)]
pub struct FlagShape {
    /// Its long name, without dashes.
    pub name: String,
    /// Its short name.
    pub short: Option<char>,
    /// What stands after it.
    pub takes: Takes,
}

/// Values of a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// None: it is there or not.
    Nothing,
    /// One.
    One,
    /// One, but it may be there several times.
    Many,
}

/// An experiment that was read.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// What it is about, in the words of its author; else the name of its file.
    pub name: String,
    /// Seed of the order of the steps.
    pub seed: u64,
    /// Blocks, at least 1.
    pub repetitions: u64,
    /// Time that all steps may take.
    pub budget: Option<Duration>,
    /// Each variant with each load, in the order of the file, then all variants with each load that is of all; never empty.
    /// With the repetitions at most [`STEPS_MAX`].
    pub combinations: Vec<Combination>,
    file: String,
    text: String,
    budget_at: usize,
}

/// A variant under a load, or all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combination {
    /// Label of the variant.
    pub variant: String,
    /// Its values by name; empty where the file declares no variants, and of all of them.
    pub values: BTreeMap<String, String>,
    /// Label of the load.
    pub load: String,
    /// Verb that measures it.
    pub verb: String,
    /// Arguments of the verb.
    pub arguments: Vec<Argument>,
    /// Label of the variant whose limiter predicts this one.
    pub after: Option<String>,
    /// The first blocks, which measure it; at most all of them.
    pub repetitions: u64,
    /// True if it is left out where this machine cannot measure it.
    pub is_optional: bool,
    at: usize,
}

/// A flag with its value, or a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Long name of the flag without dashes; `url` for the target.
    pub name: String,
    /// Words on a command line.
    pub words: Vec<String>,
    at: usize,
}

impl Experiment {
    /// Reads the `text` of `file`, which is only named.
    ///
    /// # Errors
    /// One line: place in the file, reason, and what was meant.
    pub fn parse(file: &str, text: &str, vocabulary: &Vocabulary) -> Result<Self, InputError> {
        read::experiment(Places { file, text }, vocabulary)
    }

    /// Reason why a combination cannot be measured, at the first of its flags that the message names; else at its server,
    /// and without one at its load.
    #[must_use]
    pub fn refusal(&self, combination: &Combination, message: &str) -> InputError {
        let names = message.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        let mut flags = names.filter_map(|word| word.strip_prefix("--"));
        let named = flags.find_map(|flag| combination.argument(flag));
        let server = || combination.argument("serve").or_else(|| combination.argument("url"));
        let at = named.or_else(server).map_or(combination.at, |argument| argument.at);
        self.places().error(at, message.lines().next().unwrap_or_default())
    }

    /// Reason why the plan does not fit into the budget.
    #[must_use]
    pub fn over_budget(&self, message: &str) -> InputError {
        self.places().error(self.budget_at, message)
    }

    fn places(&self) -> Places<'_> {
        Places { file: &self.file, text: &self.text }
    }
}

impl Combination {
    /// The argument of a name.
    #[must_use]
    pub fn argument(&self, name: &str) -> Option<&Argument> {
        self.arguments.iter().find(|argument| argument.name == name)
    }
}

#[cfg(test)]
mod tests;
