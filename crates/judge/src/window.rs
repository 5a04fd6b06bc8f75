//! How long a load must have been measured before a rule, or the limiter, says anything of it: in one place for all rules.
//!
//! The kernel counts CPU time in steps of 10 ms, samples of machine and processes are a second apart, and what others do on
//! the machine comes and goes within a second. In a window of milliseconds such figures are those of a neighbour or of one
//! step of a counter, and the same command has other findings each time.

use crate::{Outcome, Rule};
use model::{Evidence, NS_PER_S, SweepEvidence};

/// Window below which counters of machine, kernel and processes, busy shares and rates say nothing; ns.
pub(crate) const LEAST_NS: u64 = NS_PER_S;
/// Why a rule is not checked that needs a longer one.
pub(crate) const TOO_SHORT: &str = "the window is shorter than 1 s";

/// Families that go by what was counted or sampled over time: of network, server and machine, as far as no rule of them is in
/// [`OF_FACTS`].
const OVER_TIME: [&str; 3] = ["NE-", "SV-", "EN-"];
/// Rules of other families that do: shares of the time that load threads were busy, stopped or without a CPU, rates, and the
/// limiter.
const ALSO_OVER_TIME: [&str; 15] = [
    "CL-01", "CL-05", "CL-08", "CL-09", "CL-10", "CL-11", "CL-16", "LD-01", "LD-08", "PH-02", "PH-03", "PH-06",
    "SA-05", "ST-02", "ST-03",
];
/// Rules of these families that tell of what has happened or was set, however short the window.
const OF_FACTS: [&str; 3] = ["SV-03", "EN-05", "EN-06"];

impl Rule {
    /// The window that it needs; ns. 0 if any will do.
    #[must_use]
    pub fn least_window_ns(&self) -> u64 {
        let is_of_family = OVER_TIME.iter().any(|family| self.id.starts_with(family)) && !OF_FACTS.contains(&self.id);
        if is_of_family || ALSO_OVER_TIME.contains(&self.id) { LEAST_NS } else { 0 }
    }

    /// The data that it needs, with the window.
    #[must_use]
    pub fn needs(&self) -> String {
        match self.least_window_ns() {
            0 => self.data.to_owned(),
            _ => format!("{}; a window of 1 s or more", self.data),
        }
    }

    /// What `check` of it says of a load, if that was measured for long enough.
    pub(crate) fn look(&self, evidence: &Evidence, check: fn(&Evidence) -> Outcome) -> Outcome {
        if evidence.measured_ns < self.least_window_ns() { Outcome::Unchecked(TOO_SHORT) } else { check(evidence) }
    }

    /// What `check` of it says of a whole sweep, if any of its loads was.
    pub(crate) fn look_at_sweep(&self, sweep: &SweepEvidence, check: fn(&SweepEvidence) -> Outcome) -> Outcome {
        let is_short = |ns: u64| ns < self.least_window_ns();
        if !sweep.points.is_empty() && sweep.points.iter().all(|point| is_short(point.evidence.measured_ns)) {
            return Outcome::Unchecked(TOO_SHORT);
        }
        check(sweep)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::{self, Fault};
    use crate::testing::{clean_open_run, clean_run};
    use crate::{judge_run, rules};

    #[test]
    fn every_rule_that_is_named_here_is_one() {
        for id in ALSO_OVER_TIME.iter().chain(&OF_FACTS) {
            assert!(rules().iter().any(|rule| rule.id == *id), "{id}");
        }
    }

    /// "Disk vda is 100 % busy", "a load thread was 211 % busy", "receive buffers were full, 100 % of the responses": of 12 ms.
    #[test]
    fn in_milliseconds_no_rule_of_counters_or_shares_fires_and_each_says_why() {
        for rule in rules().iter().filter(|rule| rule.least_window_ns() > 0) {
            let faulty = |ns: u64| {
                let mut evidence = match examples::fault(rule.id).expect("each rule has an example") {
                    Fault::Closed(mutate) => (clean_run(), mutate),
                    Fault::Open(mutate) => (clean_open_run(), mutate),
                    Fault::Sweep(_) => return None,
                };
                evidence.1(&mut evidence.0);
                evidence.0.measured_ns = ns;
                Some(judge_run(&evidence.0))
            };
            let Some(verdict) = faulty(12_500_000) else { continue };
            assert!(verdict.findings.iter().all(|finding| finding.rule != rule.id), "{}", rule.id);
            assert_eq!(verdict.unchecked_why[rule.id], TOO_SHORT, "{}", rule.id);
            let of_a_second = faulty(LEAST_NS).expect("a run");
            assert_ne!(of_a_second.unchecked_why.get(rule.id).map(String::as_str), Some(TOO_SHORT), "{}", rule.id);
        }
    }
}
