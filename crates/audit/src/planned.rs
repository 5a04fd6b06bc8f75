//! Planned rules: rules of the catalogue that cannot be checked yet, each with the reason.

/// Planned rule, which no run, sweep or audit can check yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedRule {
    /// Id in the catalogue, such as `CP-02`.
    pub id: &'static str,
    /// The mistake it would detect, in a few words.
    pub title: &'static str,
    /// Missing data or reason.
    pub reason: &'static str,
}

/// Every such rule, family by family; none of them is among [`crate::rules()`].
#[must_use]
pub fn planned_rules() -> &'static [PlannedRule] {
    ALL
}

const fn row(id: &'static str, title: &'static str, reason: &'static str) -> PlannedRule {
    PlannedRule { id, title, reason }
}

static ALL: &[PlannedRule] = &[
    // Load generator, answers, statistics.
    row("CL-02", "event-loop lag", "covered by CL-03 (send delay) and CL-09 (CPU wait)"),
    row("CL-04", "delay in the client's kernel", "needs times at which packets leave (SO_TIMESTAMPING)"),
    row("CL-12", "client scaling", "needs the peak again with half the load threads"),
    row("CL-13", "client ceiling", "needs a null server on the same path"),
    row("ST-08", "A/A difference too large", "compare --aa measures it"),
    row("ST-09", "early stopping", "the intervals of compare allow for its looks"),
    // Server and environment.
    row("SV-07", "debugging or profiling left on", "log levels and modules are not checked"),
    // Comparison.
    row("CP-02", "no baseline", "each result of compare has one"),
    row("CP-04", "order of the variants", "compare and experiment shuffle it in each block"),
    row("CP-05", "only some workloads reported", "experiment keeps the plan, and tells steps that are missing"),
    row("CP-06", "throughput loss taken for overhead", "compare tells goodput and CPU per request apart"),
    row("CP-07", "only the target monitored", "known as far as --observe names companions"),
    row("CP-08", "tuned and tested on the same data", "needs to know which data were used for tuning"),
    row("CP-09", "variants with unequal numbers of blocks", "only whole blocks of compare count"),
    // Reports.
    row("RP-01", "no significance", "calls of compare rest on intervals"),
    row("RP-02", "relative figures only", "every record has absolute figures"),
    row("RP-03", "platform not stated", "every record has a fingerprint"),
    row("RP-04", "claim without a metric", "texts are not interpreted; their rates are RP-06"),
    row("RP-05", "Gregg's seven questions", "covered by SA-01, EN-05, PH-01, ER-01, ST-03 and others"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_comes_later_is_told_once_with_its_reason_and_not_checked_already() {
        let ids: BTreeSet<_> = ALL.iter().map(|later| later.id).collect();
        assert_eq!(ids.len(), ALL.len());
        for PlannedRule { id, title, reason } in ALL {
            assert!(!title.is_empty() && !reason.is_empty(), "{id}");
            assert!(crate::rules().iter().all(|rule| rule.id != *id), "{id} is checked already");
            assert!(crate::rules().iter().all(|rule| rule.id != *id), "{id} is checked already");
        }
    }
}
