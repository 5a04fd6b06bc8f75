//! Reason why an input is refused.

use thiserror::Error;

/// Reason in one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct InputError {
    /// The line: what was refused, why, and what to do.
    pub message: String,
}

impl InputError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}
