//! Rules of the catalogue that cannot be checked yet, each with the reason: listed, and never passed.

/// A rule that no run, sweep or audit can check yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Later {
    /// Id in the catalogue, such as `CP-02`.
    pub id: &'static str,
    /// What it would detect, in a few words.
    pub title: &'static str,
    /// What is missing to check it.
    pub reason: &'static str,
}

/// Every such rule, family by family; none of them is among [`crate::rules()`].
#[must_use]
pub fn later() -> &'static [Later] {
    ALL
}

const ARMS: &str = "needs a baseline and variants measured as one comparison";

const fn row(id: &'static str, title: &'static str, reason: &'static str) -> Later {
    Later { id, title, reason }
}

static ALL: &[Later] = &[
    // Load generator, answers, statistics.
    row(
        "CL-02",
        "event-loop lag",
        "a closed loop has no timer to be late for; of an open one CL-03 tells how late it sent, and CL-09 who kept it",
    ),
    row(
        "CL-04",
        "delay in the client's kernel",
        "needs the instants at which packets leave the machine (SO_TIMESTAMPING)",
    ),
    row("CL-12", "client scaling", "needs the peak measured again with half the load threads, or with another machine"),
    row("CL-13", "client ceiling", "needs a measurement of a server that does nothing, over the same way"),
    row("ER-10", "protocol or encoding differs", ARMS),
    row("ST-08", "A/A too loose", ARMS),
    row("ST-09", "looked at too soon", "needs a comparison that was to be looked at a fixed number of times"),
    // Server and environment.
    row(
        "SV-07",
        "debugging or profiling left on",
        "what a server logs, and which modules it has loaded, is not looked at",
    ),
    // Comparison.
    row("CP-02", "no baseline", ARMS),
    row("CP-04", "order of the arms", ARMS),
    row("CP-05", "only some of the workloads told", "needs a plan of all the measurements that were to be made"),
    row("CP-06", "less throughput taken for overhead", ARMS),
    row("CP-07", "nothing outside the target looked at", ARMS),
    row("CP-08", "tuned and tested on the same data", "needs to know which measurements served for tuning"),
    row("CP-09", "arms of unequal numbers of blocks", ARMS),
    // Reports.
    row("RP-01", "no significance", "a goodput has its interval where one is honest; a difference of two needs arms"),
    row("RP-02", "relative figures only", "nothing to check yet: every record has the absolute ones"),
    row("RP-03", "platform not told", "nothing to check yet: every record has its fingerprint"),
    row("RP-04", "a claim without its metric", "what a text claims is not understood; its rates are RP-06"),
    row("RP-05", "Gregg's seven questions", "asked one by one: SA-01, EN-05, PH-01, ER-01, ST-03 and others"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_comes_later_is_told_once_with_its_reason_and_not_checked_already() {
        let ids: BTreeSet<_> = ALL.iter().map(|later| later.id).collect();
        assert_eq!(ids.len(), ALL.len());
        for Later { id, title, reason } in ALL {
            assert!(!title.is_empty() && !reason.is_empty(), "{id}");
            assert!(crate::rules().iter().all(|rule| rule.id != *id), "{id} is checked already");
            assert!(crate::audit::rules().iter().all(|rule| rule.id != *id), "{id} is checked already");
        }
    }
}
