//! Why a load or an observation ends, or does not begin.

use thiserror::Error;

/// Reason why there is no load, or no more of it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FleetError {
    /// One agent does not do what it should.
    #[error("agent {name}: {why}")]
    Agent {
        /// Which.
        name: String,
        /// Why; a line.
        why: String,
        /// True if that is because of the target.
        is_target: bool,
    },
    /// One agent that was there is there no more.
    #[error("agent {name} was lost: {why}")]
    Lost {
        /// Which.
        name: String,
        /// Why; a line.
        why: String,
    },
    /// It was stopped before it began.
    #[error("stopped before the agents had started")]
    Stopped,
}
