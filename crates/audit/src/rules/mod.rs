//! Rules for outputs of other tools, with the ids of the catalogue.

mod answers;
mod client;
mod curve;
mod load;
mod physics;
mod provenance;

use super::Subject;
use judge::{Outcome, verdict};
use model::Verdict;

/// One rule for saved outputs.
#[derive(Clone, Copy, Debug)]
pub struct AuditRule {
    /// Id in the catalogue.
    pub id: &'static str,
    /// The mistake it detects, in a sentence.
    pub detects: &'static str,
    /// The data it needs; without them it is not checked.
    pub data: &'static str,
    /// The check, by its input.
    check: Check,
}

#[derive(Clone, Copy, Debug)]
enum Check {
    /// One output, or a table as far as it has the data.
    Any(fn(Subject<'_>) -> Outcome),
    /// The output of a tool.
    Output(fn(Subject<'_>) -> Outcome),
    /// A table of loads.
    Table(fn(Subject<'_>) -> Outcome),
    /// Several outputs, or what a text says of them: see [`super::compare()`].
    Several,
}

/// Every rule, in the order of the catalogue; ids are unique.
#[must_use]
pub fn rules() -> &'static [AuditRule] {
    &ALL
}

static ALL: [AuditRule; 33] = [
    client::BUSY,
    client::OFFERED,
    client::CONNECTIONS,
    client::PORTS,
    client::DROPPED,
    answers::ERRORS,
    answers::REDIRECTS,
    answers::BODY,
    answers::CENSORED,
    answers::BYTES,
    answers::REFUSED,
    answers::REUSE,
    load::CLOSED,
    load::SHORT,
    load::COARSE,
    curve::SINGLE,
    curve::NO_FAILING_LOAD,
    curve::EDGE,
    physics::LITTLE,
    physics::UTILISATION,
    curve::SEQUENTIAL,
    SAME_WORK,
    physics::CLOCK,
    client::TIME_WAIT,
    LIKE_WITH_LIKE,
    ONE_FACTOR,
    UNEQUAL_SUCCESS,
    UNTIED,
    provenance::COMMAND,
    provenance::INTERVAL,
    IDENTICAL,
    provenance::SECRET,
    NO_RAW_DATA,
];

pub(crate) const SAME_WORK: AuditRule = AuditRule {
    id: "PH-07",
    detects: "more connections with less throughput than one: different workloads",
    data: "several outputs, one of them with one connection",
    check: Check::Several,
};
pub(crate) const LIKE_WITH_LIKE: AuditRule = AuditRule {
    id: "CP-01",
    detects: "comparison of different tools, load models, loads, URLs, connection reuse or responses",
    data: "several outputs",
    check: Check::Several,
};
pub(crate) const ONE_FACTOR: AuditRule = AuditRule {
    id: "CP-03",
    detects: "single runs taken as the effect of one factor",
    data: "several outputs, which never show what else was changed",
    check: Check::Several,
};
pub(crate) const UNEQUAL_SUCCESS: AuditRule = AuditRule {
    id: "CP-10",
    detects: "ratio with a result that is not valid by itself",
    data: "several outputs",
    check: Check::Several,
};
pub(crate) const UNTIED: AuditRule = AuditRule {
    id: "RP-06",
    detects: "rate in a text that no output contains or supports",
    data: "text (--text)",
    check: Check::Several,
};
pub(crate) const IDENTICAL: AuditRule = AuditRule {
    id: "RP-09",
    detects: "identical figures in different results: copied, not measured",
    data: "several outputs with throughput, count, duration and latencies",
    check: Check::Several,
};
pub(crate) const NO_RAW_DATA: AuditRule = AuditRule {
    id: "RP-11",
    detects: "text whose rates have no raw data",
    data: "text (--text)",
    check: Check::Several,
};

/// Judges one output, or one table.
pub(super) fn judge(subject: Subject<'_>) -> Verdict {
    let is_table = !subject.claims.table.is_empty();
    verdict(ALL.iter().filter_map(|rule| match rule.check {
        Check::Any(check) => Some((rule.id, check(subject))),
        Check::Output(check) if !is_table => Some((rule.id, check(subject))),
        Check::Table(check) if is_table => Some((rule.id, check(subject))),
        Check::Output(_) | Check::Table(_) | Check::Several => None,
    }))
}
