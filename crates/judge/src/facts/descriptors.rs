//! Open files of the server's processes, and whether it seems to lack some.

use super::closes::closes_are_ours;
use super::kernel::share;
use model::{Evidence, Observed};

/// A process that is nearer to its limit has hardly one to spare.
const NEAR: f64 = 0.9;
/// From this share on a server that closes connections may do so to keep a reserve.
const RESERVE: f64 = 0.8;
/// Connections that had to be opened again, as a share of the responses, at least so many (rule ER-09).
const CLOSES: f64 = 0.012;
const CLOSES_MIN: u64 = 10;

/// Descriptors of the process that is nearest to its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Descriptors<'a> {
    pub(crate) program: &'a str,
    pub(crate) open: u64,
    pub(crate) limit: u64,
    /// Of its limit, 0 to 1.
    pub(crate) share: f64,
    /// True if the server closes kept connections or fails requests: it has begun to do without.
    pub(crate) closes: bool,
}

impl Descriptors<'_> {
    /// True if more of them would be used.
    pub(crate) fn are_short(&self) -> bool {
        self.share > NEAR || self.share >= RESERVE && self.closes
    }
}

/// The process of the server or a companion that is nearest to its limit; none where that is not readable.
pub(crate) fn descriptors(evidence: &Evidence) -> Option<Descriptors<'_>> {
    let groups = evidence.observed.iter().flat_map(Observed::groups);
    let closes = closes(evidence);
    let known = groups.flat_map(|group| &group.processes).filter_map(|process| {
        let (open, limit) = process.fds_max.zip(process.fds_limit)?;
        Some(Descriptors { program: &process.name, open, limit, share: share(open, limit), closes })
    });
    known.max_by(|a, b| a.share.total_cmp(&b.share))
}

/// True if connections that should stay open had to be opened again, or requests failed.
fn closes(evidence: &Evidence) -> bool {
    let flow = &evidence.flow;
    let lost = flow.opened.saturating_sub(flow.grown).max(flow.failed);
    !closes_are_ours(evidence) && lost >= CLOSES_MIN && lost as f64 > CLOSES * flow.completed as f64
}
