//! Result of a search for a capacity: a bracket, or a bound with its reason.

use model::{CapacityReason, Estimate, MoreTime};

/// Capacity that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityResult {
    /// Highest load that held; none when none did. Always below `high_per_s`.
    pub low_per_s: Option<f64>,
    /// Lowest load above it that failed; none when none did.
    pub high_per_s: Option<f64>,
    /// Good responses per second at `low_per_s` (Conditional Throughput of RFC 9971); none without it.
    pub value_per_s: Option<f64>,
    /// Where all trials together put the capacity, with a 97 % interval and the number of trials behind it; none before a
    /// load has held and one has failed.
    pub estimate_per_s: Option<Estimate>,
    /// Standard deviation of the capacity from trial to trial, relative; none as above.
    pub noise: Option<f64>,
    /// Trials that counted.
    pub n: u64,
    /// Trials that were too disturbed to count.
    pub disturbed: u64,
    /// Why the search ended, and why an end is missing.
    pub reason: CapacityReason,
    /// True if fresh votes confirmed the lower end, and the upper end.
    pub is_confirmed: (bool, bool),
    /// Conditions of the goal that failed at `high_per_s`, by their places in it; rising.
    pub failed: Vec<usize>,
    /// True if the backlog grew there.
    pub backlog_grew: bool,
    /// Time that all trials took; ns.
    pub spent_ns: u64,
    /// What more time would buy; none when the bracket is as narrow as was asked for, or time is not what is missing.
    pub more: Option<MoreTime>,
}
