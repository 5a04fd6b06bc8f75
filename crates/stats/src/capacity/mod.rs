//! Highest load that meets a goal: repeated trials, classified by votes, and a two-sided bracket.
//!
//! A pure machine in three steps:
//!
//! 1. *Bracket*: the load is doubled while it holds and halved while it fails, one short trial each.
//! 2. *Narrow*: bisection on the log of the load. What is halved is what all trials so far leave of the capacity
//!    (`belief`), so that a trial led astray by noise costs one trial more and not the result. The noisier the server, the
//!    more trials.
//! 3. *Confirm*: fresh trials at both ends, in shuffled order, classified by votes as RFC 9971 (MLRsearch), section 6.1,
//!    says. An end whose votes go the wrong way moves outwards.
//!
//! Each trial is a vote: the goal held, or not. RFC 9971 has single full-length trials in the steps before the last as
//! intermediate targets (section 1.1), and rests its result on the loads that were voted on (sections 4.8.1 and 4.8.2).

mod backlog;
mod belief;
mod bracket;
mod ends;
mod result;
mod search;
mod tested;
mod vote;

pub use backlog::{backlog_grew, runs_away};
pub use model::{CapacityReason, CapacitySettings, CapacityTimes, MoreTime, TrialPurpose};
pub use result::CapacityResult;
pub use search::CapacitySearch;
pub use vote::{LoadClass, Vote, VoteGoal, classify, conditional_throughput};

/// One trial that is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CapacityTrial {
    /// Requests per second to offer.
    pub load_per_s: f64,
    /// Measured window; ns.
    pub duration_ns: u64,
    /// Step of the search that it is for.
    pub purpose: TrialPurpose,
    /// Number of the trial, from 1.
    pub number: u64,
    /// True if the one before it did not count, as it was too disturbed or the client was late once, and this one replaces it.
    pub is_again: bool,
}

/// Outcome of a trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CapacityOutcome {
    /// True for each condition of the goal that held, in the order of the goal. The backlog is none of them: it is judged
    /// here.
    pub conditions: Vec<bool>,
    /// Good responses per second.
    pub achieved_per_s: f64,
    /// Requests in flight, and due and not sent, at the end of each tick of the window; empty where it is not known.
    pub backlog: Vec<f64>,
    /// Length of a tick; ns.
    pub tick_ns: u64,
    /// True if it was stopped early because its backlog ran away ([`runs_away`]).
    pub ran_away: bool,
    /// Why it says nothing of the server.
    pub obstacle: Option<Obstacle>,
    /// Share of the window that was undisturbed, 0 to 1; none where nobody kept an account.
    pub clean_share: Option<f64>,
    /// Window as it was; ns.
    pub measured_ns: u64,
    /// Time that the trial took in all; ns.
    pub took_ns: u64,
}

/// Why a trial says nothing of the server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Obstacle {
    /// The client could not offer the load.
    ClientCeiling {
        /// What it offered; per second.
        offered_per_s: f64,
    },
    /// The target has gone away.
    TargetGone,
}
