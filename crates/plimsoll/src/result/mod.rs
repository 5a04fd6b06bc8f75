//! From the events of a measurement to its record: the same for one that has just ended and for one that is read back.

pub(crate) mod replay;
mod sweep;

pub(crate) use sweep::{Point, keep, sweep_record};

use evidence::EvidenceBuilder;
use judge::limiter::{confirm, limiter_of_run, names_a_limit};
use model::{
    Begun, Change, Confirmation, Environment, Evidence, Limiter, Measurement, Profiled, RunRecord, SessionEvent,
};

/// What a result is made of beside its loads.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    begun: Begun,
    changes: Option<Vec<Change>>,
    profiled: Option<Profiled>,
    profile_unavailable: Option<String>,
    confirmation: Option<Confirmation>,
    confirmation_unavailable: Option<String>,
    /// Also while its end has not been told.
    interrupted: bool,
}

impl Facts {
    pub(crate) const fn new(begun: Begun) -> Self {
        Self {
            begun,
            changes: None,
            profiled: None,
            profile_unavailable: None,
            confirmation: None,
            confirmation_unavailable: None,
            interrupted: true,
        }
    }

    pub(crate) fn apply(&mut self, event: &SessionEvent) {
        match event {
            // Facts begin with the first; whoever has the events of loads takes these in.
            SessionEvent::Begun(_) | SessionEvent::Point { .. } | SessionEvent::Arms { .. } => {}
            SessionEvent::Changed { changes } => self.changes = Some(changes.clone()),
            SessionEvent::Profiled { profiled, unavailable } => {
                self.profiled = profiled.as_deref().cloned();
                self.profile_unavailable.clone_from(unavailable);
            }
            SessionEvent::Confirmed { confirmation, unavailable } => {
                self.confirmation = confirmation.as_deref().cloned();
                self.confirmation_unavailable.clone_from(unavailable);
            }
            SessionEvent::Finished { interrupted } => self.interrupted = *interrupted,
        }
    }

    fn environment(&self) -> Environment {
        Environment { changes: self.changes.clone(), ..self.begun.environment.clone() }
    }

    /// The evidence of a load with what is known of its machine.
    fn evidence(&self, builder: &EvidenceBuilder) -> Evidence {
        let fingerprint = self.begun.environment.fingerprint.clone();
        Evidence { fingerprint, changes: self.changes.clone(), ..builder.evidence() }
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
pub(crate) fn run_record(facts: &Facts, builder: &EvidenceBuilder) -> RunRecord {
    let evidence = Evidence { profile: facts.profiled.clone(), ..facts.evidence(builder) };
    let verdict = judge::judge_run(&evidence);
    let limiter = facts.confirmed(limiter_of_run(&evidence, &verdict, &facts.begun.limits));
    let is_wanted = matches!(facts.begun.measurement, Measurement::Run { wants_limiter: true });
    let (environment, started) = (facts.environment(), facts.begun.started.clone());
    RunRecord {
        profile_unavailable: facts.profile_unavailable.clone(),
        limiter: (is_wanted || names_a_limit(&limiter)).then_some(limiter),
        ..report::record::run_record(&evidence, verdict, builder.goodput(), environment, started)
    }
}
