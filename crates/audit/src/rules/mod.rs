//! Rules for outputs of other tools, with the ids of the catalogue.

mod answers;
mod client;
mod curve;
mod load;
mod physics;
mod provenance;

use super::Subject;
use judge::{Fires, Outcome, verdict};
use model::Verdict;

/// One rule for saved outputs.
#[derive(Clone, Copy, Debug)]
pub struct AuditRule {
    /// Id in the catalogue.
    pub id: &'static str,
    /// A few words; none where the rule for results of plimsoll has them.
    pub title: Option<&'static str>,
    /// The mistake it detects, in a sentence.
    pub detects: &'static str,
    /// Each state that it can reach, the worst first, with when it does.
    pub fires: &'static [Fires],
    /// What has to be known to understand these, in sentences; empty if there is nothing.
    pub remarks: &'static str,
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

static ALL: [AuditRule; 37] = [
    client::BUSY,
    client::OWN_WAIT,
    client::OFFERED,
    client::CONNECTIONS,
    client::PORTS,
    client::DROPPED,
    answers::ERRORS,
    answers::REDIRECTS,
    answers::BODY,
    answers::CENSORED,
    answers::BYTES,
    answers::IN_FLIGHT,
    answers::REFUSED,
    answers::REUSE,
    load::CLOSED,
    load::SHORT,
    load::BACKLOG,
    load::COARSE,
    curve::SINGLE,
    curve::NO_FAILING_LOAD,
    curve::EDGE,
    CEILING,
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
    title: None,
    detects: "More connections have less throughput than one, which shows different workloads.",
    fires: &[Fires::warning(
        "An output over several connections, or at a rate that was missed, has less throughput than one over one \
             connection.",
    )],
    remarks: "",
    data: "several outputs, one of them with one connection",
    check: Check::Several,
};
pub(crate) const LIKE_WITH_LIKE: AuditRule = AuditRule {
    id: "CP-01",
    title: Some("unlike results compared"),
    detects: "Results were compared that are not alike in tool, load, URL, connection reuse or responses.",
    fires: &[
        Fires::invalid(
            "Saved outputs differ in tool, load model, load, URL or connection reuse, or by more than 5 % in the \
             size of their bodies.",
        ),
        Fires::warning(
            "The variants of a comparison differ in status or by more than 5 % in the size of their bodies, or two \
             page renders in the version of the browser.",
        ),
        Fires::note("The outputs of one log differ in their number of connections alone: they are loads of one curve."),
    ],
    remarks: "",
    data: "several outputs",
    check: Check::Several,
};
pub(crate) const ONE_FACTOR: AuditRule = AuditRule {
    id: "CP-03",
    title: Some("single runs compared"),
    detects: "Single runs were taken for the effect of one factor.",
    fires: &[Fires::warning("Several results are compared that were each measured once, one after the other.")],
    remarks: "",
    data: "several outputs, which never show what else was changed",
    check: Check::Several,
};
pub(crate) const UNEQUAL_SUCCESS: AuditRule = AuditRule {
    id: "CP-10",
    title: Some("ratio with an invalid result"),
    detects: "A ratio was made with a result that is not valid by itself.",
    fires: &[Fires::invalid("At least one of the compared results is INVALID by itself.")],
    remarks: "",
    data: "several outputs",
    check: Check::Several,
};
pub(crate) const UNTIED: AuditRule = AuditRule {
    id: "RP-06",
    title: Some("rate without an output"),
    detects: "A text names a rate that no output contains or supports.",
    fires: &[Fires::invalid("A rate in the text is in none of the outputs, or only in outputs that are INVALID.")],
    remarks: "",
    data: "text (--text)",
    check: Check::Several,
};
pub(crate) const IDENTICAL: AuditRule = AuditRule {
    id: "RP-09",
    title: Some("identical figures"),
    detects: "Different results have identical figures, and were copied rather than measured.",
    fires: &[Fires::invalid(
        "Two results are equal to the last digit in at least 4 of throughput, count, duration, mean and maximum \
             latency.",
    )],
    remarks: "",
    data: "several outputs with throughput, count, duration and latencies",
    check: Check::Several,
};
pub(crate) const CEILING: AuditRule = AuditRule {
    id: "SA-07",
    title: Some("ceiling"),
    detects: "The rate was the same on more connections, which is a ceiling.",
    fires: &[Fires::note("Rates at 1.5 times as many connections or more differ by at most 5 %.")],
    remarks: "",
    data: "a log with several outputs, each on another number of connections",
    check: Check::Several,
};
pub(crate) const NO_RAW_DATA: AuditRule = AuditRule {
    id: "RP-11",
    title: Some("rates without raw data"),
    detects: "The rates of a text have no raw data.",
    fires: &[Fires::invalid("The text names rates, and none of them is in an output.")],
    remarks: "",
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
