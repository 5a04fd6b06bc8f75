//! From the events of a measurement to its record: the same for one that has just ended and for one that is read back.

mod capacity;
mod compare;
mod measurement;
pub(crate) mod render;
mod sweep;
mod thresholds;

pub(crate) use capacity::JudgedTrial;
use capacity::{Trial, capacity_record};
use compare::{ComparedTrial, Measured, SearchedCapacity, compare_record, outcome as compare_outcome};
pub(crate) use compare::{stored_comparison, uneven_words};
pub(crate) use measurement::{LoadState, Measurement, NoRecord};
pub(crate) use sweep::sweeps_record;
use sweep::{Point, keep as keep_point, sweep_record};
pub(crate) use thresholds::{Asked, other_objective};

use evidence::EvidenceBuilder;
use judge::goal::Goal;
use judge::limiter::{confirm, limiter_of_run, names_a_limit};
use model::{
    Aborted, ArmProfile, ArmRecord, Begun, CapacitySettings, Change, CompareSettings, Confirmation, Environment,
    Evidence, Limiter, LimiterContext, LostAgent, MeasurementKind, Profiled, RiseEnd, RunRecord, SentInAll,
    SessionEvent,
};
use report::record::AnyRecord;

/// What a result is made of beside its loads.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    begun: Begun,
    changes: Option<Vec<Change>>,
    profiled: Option<Profiled>,
    profile_unavailable: Option<String>,
    confirmation: Option<Confirmation>,
    confirmation_unavailable: Option<String>,
    /// What is searched for, and good responses per second of the closed loop before.
    search: Option<(CapacitySettings, f64)>,
    /// Why a sweep tried no larger loads.
    rise_end: Option<RiseEnd>,
    /// What is compared, and which variants.
    comparison: Option<(CompareSettings, Vec<ArmRecord>)>,
    /// Of its variants.
    arm_profiles: Vec<ArmProfile>,
    /// Requests of loads that are no part of the result.
    also_sent: SentInAll,
    /// Why the target went away; none while it is there.
    gone: Option<String>,
    /// The agent whose loss has ended it.
    agent_lost: Option<LostAgent>,
    /// The condition that has ended its load.
    aborted: Option<Aborted>,
    asked: Asked,
    /// Also while its end has not been told.
    interrupted: bool,
}

impl Facts {
    const fn new(begun: Begun) -> Self {
        Self {
            begun,
            changes: None,
            profiled: None,
            profile_unavailable: None,
            confirmation: None,
            confirmation_unavailable: None,
            search: None,
            rise_end: None,
            comparison: None,
            arm_profiles: Vec::new(),
            also_sent: SentInAll { probe: 0, warmup: 0, window: 0, after: 0 },
            gone: None,
            agent_lost: None,
            aborted: None,
            asked: Asked { conditions: Vec::new(), baseline: None },
            interrupted: true,
        }
    }

    fn apply(&mut self, event: &SessionEvent) {
        match event {
            // Facts begin with the first; the others are of loads, or of a result that is made of several.
            SessionEvent::Begun(_)
            | SessionEvent::Point { .. }
            | SessionEvent::Trial { .. }
            | SessionEvent::Compared { .. }
            | SessionEvent::Arms { .. } => {}
            SessionEvent::Search { settings, pilot_per_s } => self.search = Some((*settings, *pilot_per_s)),
            SessionEvent::Blocks { settings, arms, check } => {
                self.comparison = Some(((**settings).clone(), arms.clone()));
                self.begun.environment.check.extend_from_slice(check);
            }
            SessionEvent::AlsoSent { sent } => self.also_sent.add(sent),
            SessionEvent::TargetGone { why } => self.gone = Some(why.clone()),
            SessionEvent::Aborted(aborted) => self.aborted = Some((**aborted).clone()),
            SessionEvent::AgentLost(lost) => self.agent_lost = Some(lost.clone()),
            SessionEvent::Thresholds { conditions, baseline } => {
                self.asked = Asked { conditions: conditions.clone(), baseline: baseline.as_deref().cloned() };
            }
            SessionEvent::Risen { end } => self.rise_end = Some(*end),
            SessionEvent::Changed { changes } => self.changes = Some(changes.clone()),
            SessionEvent::Profiled { profiled, unavailable } => {
                self.profiled = profiled.as_deref().cloned();
                self.profile_unavailable.clone_from(unavailable);
            }
            SessionEvent::ArmProfiled { profile } => self.arm_profiles.push((**profile).clone()),
            SessionEvent::Confirmed { confirmation, unavailable } => {
                self.confirmation = confirmation.as_deref().cloned();
                self.confirmation_unavailable.clone_from(unavailable);
            }
            SessionEvent::Finished { interrupted } => self.interrupted = *interrupted,
        }
    }

    /// What bounds the server.
    pub(crate) const fn limits(&self) -> &LimiterContext {
        &self.begun.limits
    }

    /// What the capacities of a comparison are searched with; none without a search.
    pub(crate) fn compared_goal(&self) -> Option<Goal> {
        let capacity = self.comparison.as_ref()?.0.capacity.as_ref()?;
        Goal::parse(Some(&capacity.goal)).ok()
    }

    /// A variant of a comparison, as it was looked at before the blocks.
    pub(crate) fn arm(&self, index: usize) -> Option<&ArmRecord> {
        self.comparison.as_ref()?.1.get(index)
    }

    /// What is measured.
    pub(crate) const fn kind(&self) -> &MeasurementKind {
        &self.begun.measurement
    }

    const fn is_comparison(&self) -> bool {
        matches!(self.begun.measurement, MeasurementKind::Compare { .. })
    }

    /// True if it is known what came of the samples.
    pub(crate) const fn is_profiled(&self) -> bool {
        self.profiled.is_some() || self.profile_unavailable.is_some()
    }

    /// True if a profile was asked for.
    pub(crate) const fn wants_profile(&self) -> bool {
        use MeasurementKind::{Run, Sweep};
        matches!(self.begun.measurement, Run { wants_profile: true, .. } | Sweep { wants_profile: true, .. })
    }

    fn environment(&self) -> Environment {
        Environment { changes: self.changes.clone(), ..self.begun.environment.clone() }
    }

    /// The evidence of a load with what is known of its machine.
    fn evidence(&self, builder: &EvidenceBuilder) -> Evidence {
        let Environment { fingerprint, bandwidth, .. } = self.begun.environment.clone();
        Evidence { fingerprint, bandwidth, changes: self.changes.clone(), ..builder.evidence() }
    }

    /// All requests that were sent by the loads of a result, and by others of the same measurement; none where that is not known.
    fn sent_in_all<'a>(&self, loads: impl Iterator<Item = &'a EvidenceBuilder>) -> Option<SentInAll> {
        SentInAll::sum(loads.map(EvidenceBuilder::sent_in_all).chain([Some(self.also_sent)]))
    }

    /// One of several loads as a run by itself.
    fn load_record(&self, evidence: &Evidence, builder: &EvidenceBuilder) -> RunRecord {
        let (verdict, started) = (judge::judge_run(evidence), self.begun.started.clone());
        report::record::run_record(evidence, verdict, builder.goodput(), self.environment(), started)
    }

    /// With what came of its prediction.
    fn confirmed(&self, mut limiter: Limiter) -> Limiter {
        if let Some(confirmation) = &self.confirmation {
            confirm::conclude(&mut limiter, confirmation.clone());
        }
        limiter.confirmation_unavailable.clone_from(&self.confirmation_unavailable);
        limiter
    }
}

/// The record of a measurement of one load.
fn run_record(facts: &Facts, builder: &EvidenceBuilder) -> RunRecord {
    let evidence = Evidence { profile: facts.profiled.clone(), ..facts.evidence(builder) };
    let verdict = judge::judge_run(&evidence);
    let limiter = facts.confirmed(limiter_of_run(&evidence, &verdict, &facts.begun.limits));
    let verdict = judge::beside_limiter(verdict, Some(&limiter));
    let is_wanted = matches!(facts.begun.measurement, MeasurementKind::Run { wants_limiter: true, .. });
    let (environment, started) = (facts.environment(), facts.begun.started.clone());
    let run = report::record::run_record(&evidence, verdict, builder.goodput(), environment, started);
    let record = RunRecord {
        profile_unavailable: facts.profile_unavailable.clone(),
        // That of the server's machine carries no load.
        agent_lost: run.agent_lost.clone().or_else(|| facts.agent_lost.clone()),
        limiter: (is_wanted || names_a_limit(&limiter)).then_some(limiter),
        aborted: facts.aborted.clone(),
        ..run
    };
    let thresholds = facts.asked.judge(AnyRecord::Run(&record));
    RunRecord { thresholds, ..record }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Redacted;
    use serde_json::json;

    /// The blocks of a comparison begin, with and without something that is in the way.
    fn blocks(check: &serde_json::Value) -> SessionEvent {
        let settings = json!({
            "arms": 2, "loads": ["fixed"], "rate_per_s": 1.0, "connections": 1, "seed": 1, "blocks_max": 6,
            "precision": null, "margin": 0.02, "fail_if": [], "is_aa": false,
            "times": { "window_ns": 1, "block_ns": 1, "budget_ns": 1 },
        });
        let mut event = json!({ "session": "blocks", "settings": settings, "arms": [] });
        if !check.is_null() {
            event["check"] = check.clone();
        }
        serde_json::from_value(event).unwrap()
    }

    #[test]
    fn what_makes_variants_unlike_is_in_the_record_without_secrets() {
        let mut facts = Facts::new(Begun {
            started: String::new(),
            measurement: MeasurementKind::Compare { arms: 2 },
            environment: Environment::default(),
            limits: LimiterContext::default(),
        });
        facts.apply(&blocks(&serde_json::Value::Null));
        assert!(facts.comparison.is_some() && facts.environment().check.is_empty(), "as it was recorded before");
        let row =
            json!({ "rule": "PR-01", "what": "PHP functions", "state": "warning", "found": "'token=s3cret' samples" });
        facts.apply(&Redacted::new(blocks(&json!([row]))));
        let check = facts.environment().check;
        assert!(check.len() == 1 && check[0].rule == "PR-01" && !check[0].found.contains("s3cret"), "{check:?}");
    }
}
