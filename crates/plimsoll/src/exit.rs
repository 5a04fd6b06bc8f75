//! How the program ends: a documented table of exit codes.

use input::InputError;
use std::process::ExitCode;
use thiserror::Error;

/// The table. `--help` and the README print the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The result is valid or a bound.
    Fine,
    /// A goal is not met.
    Failed,
    /// A wrong flag, file or limit of this machine.
    Usage,
    /// The target cannot be reached or fails.
    Target,
    /// The result is not valid.
    Invalid,
    /// What was asked for is not known within the time that there was.
    Inconclusive,
    /// Stopped from outside; what was measured is kept.
    Interrupted,
}

impl Exit {
    /// The number the shell sees.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Target => 3,
            Self::Invalid => 4,
            Self::Inconclusive => 5,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why the program ends early: one clear line and the code that goes with it.
#[derive(Debug, Error)]
#[error("{message}")]
pub(crate) struct CommandError {
    pub(crate) exit: Exit,
    pub(crate) message: String,
}

impl From<InputError> for CommandError {
    fn from(error: InputError) -> Self {
        Self::usage(error.message)
    }
}

impl CommandError {
    pub(crate) fn usage(message: impl ToString) -> Self {
        Self { exit: Exit::Usage, message: message.to_string() }
    }

    pub(crate) fn interrupted() -> Self {
        Self { exit: Exit::Interrupted, message: "interrupted before anything was measured".into() }
    }

    pub(crate) fn target(message: impl ToString) -> Self {
        Self { exit: Exit::Target, message: message.to_string() }
    }
}
