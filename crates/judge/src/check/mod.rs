//! Preflight: findings that a measurement would have, told before it.
//!
//! What is found beforehand is put into the evidence of the load that is planned, and the rule that judges such loads is
//! asked: ids, thresholds and remedies are the rules' own. Where a setting can do no more than make a rule likely to
//! fire, the state is chosen here and is a note or a warning.

mod cpus;
mod limits;
mod network;
mod pages;
mod target;
#[cfg(test)]
mod tests;

pub use pages::page;
pub use target::target;

use crate::{Outcome, Rule, rules};
use evidence::EvidenceBuilder;
use model::{Address, CheckRow, CheckState, Event, Evidence, Fingerprint, Phase, Plan, Sample};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// This machine while no load runs.
#[derive(Clone, Copy, Debug)]
pub struct Machine<'a> {
    /// The load that is planned.
    pub plan: &'a Plan,
    /// True if its target is on this machine.
    pub is_target_here: bool,
    /// What the machine is.
    pub fingerprint: &'a Fingerprint,
    /// What happened on it, look by look, at least one; a sample of no length tells only of the moment.
    pub samples: &'a [Sample],
}

/// Everything that is looked at on this machine.
#[must_use]
pub fn machine(machine: &Machine<'_>) -> Vec<CheckRow> {
    let mut rows = limits::rows(machine);
    rows.extend(cpus::rows(machine));
    rows.extend(network::rows(machine));
    rows
}

/// The same order for everybody: worst first, and otherwise as they were looked at.
pub fn sort(rows: &mut [CheckRow]) {
    rows.sort_by_key(|row| Reverse(row.state));
}

/// The worst of `rows`.
#[must_use]
pub fn worst(rows: &[CheckRow]) -> CheckState {
    rows.iter().map(|row| row.state).max().unwrap_or(CheckState::Fine)
}

impl Machine<'_> {
    /// A word of the fingerprint.
    fn fact(&self, section: &str, name: &str) -> Option<&str> {
        self.fingerprint.facts.get(section)?.get(name).map(String::as_str)
    }

    /// The number that a word of the fingerprint is.
    fn number(&self, section: &str, name: &str) -> Option<u64> {
        self.fact(section, name)?.parse().ok()
    }

    /// Why something in a section is not known.
    fn why(&self, section: &str) -> String {
        let why = self.fingerprint.unavailable.get(section);
        why.cloned().unwrap_or_else(|| "the kernel of this machine does not report it".to_owned())
    }

    /// What the kernel has told last.
    fn gauge(&self, part: &str, name: &str) -> Option<u64> {
        self.samples.last()?.kernel.gauges.get(part)?.get(name).copied()
    }

    /// Why a look did not see a part.
    fn unseen(&self, part: &str) -> Option<String> {
        self.samples.iter().find_map(|sample| sample.unavailable.get(part)).cloned()
    }

    /// How long was looked.
    fn length_ns(&self) -> u64 {
        self.samples.iter().map(|sample| sample.to_ns - sample.from_ns).sum()
    }

    /// Evidence of the planned load in which only the machine has been seen.
    fn evidence(&self) -> Evidence {
        let mut gather = EvidenceBuilder::new(self.plan.clone());
        for sample in self.samples {
            let sample = Sample { phase: Phase::Measure, ..sample.clone() };
            gather.apply(&Event::Observed(Box::new(sample)));
        }
        let mut evidence = Evidence { measured_ns: self.length_ns(), ..gather.evidence() };
        if self.is_target_here && self.plan.target.address.tcp().is_some() {
            // By whatever name this machine is reached.
            evidence.plan.target.address = here();
        }
        evidence
    }
}

/// An address of this machine: rules about the server's machine then look at this one.
fn here() -> Address {
    Address::Tcp(([127, 0, 0, 1], 0).into())
}

/// What rule `id` says of `evidence`.
fn ask(id: &str, evidence: &Evidence) -> Outcome {
    rule(id).judge_planned_load(evidence).unwrap_or_else(|| panic!("{id} is no rule of a load"))
}

fn rule(id: &str) -> &'static Rule {
    rules().iter().find(|rule| rule.id == id).unwrap_or_else(|| panic!("{id} is no rule"))
}

/// What rule `id` advises when it fires on `evidence`, which is made so that it does.
fn remedy(id: &str, evidence: &Evidence) -> Option<String> {
    match ask(id, evidence) {
        Outcome::Fired(finding) => Some(finding.remedy),
        Outcome::Pass | Outcome::Unchecked(_) => None,
    }
}

/// Lets a counter of the kernel grow in `evidence`.
fn count_on(evidence: &mut Evidence, part: &str, name: &str, value: u64) {
    let observed = evidence.observed.get_or_insert_default();
    observed.counters.entry(part.to_owned()).or_default().insert(name.to_owned(), value);
}

fn fine(rule: &str, what: &str, found: impl Into<String>) -> CheckRow {
    row(rule, what, CheckState::Fine, found, None)
}

fn unavailable(rule: &str, what: &str, why: impl Into<String>) -> CheckRow {
    row(rule, what, CheckState::Unavailable, why, None)
}

fn row(rule: &str, what: &str, state: CheckState, found: impl Into<String>, remedy: Option<String>) -> CheckRow {
    CheckRow {
        rule: rule.to_owned(),
        what: what.to_owned(),
        state,
        found: found.into(),
        remedy,
        figures: BTreeMap::new(),
    }
}

/// The row of what a rule has looked at: `found` stands in it whatever the rule says.
fn judged(rule: &str, what: &str, found: impl Into<String>, outcome: Outcome) -> CheckRow {
    match outcome {
        Outcome::Pass => fine(rule, what, found),
        Outcome::Unchecked(why) => unavailable(rule, what, why),
        Outcome::Fired(finding) => {
            let figures = finding.evidence;
            CheckRow { figures, ..row(rule, what, finding.state.into(), found, Some(finding.remedy)) }
        }
    }
}
