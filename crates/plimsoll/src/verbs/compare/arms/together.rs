//! Two variants at the same time: each with its server, load and observers on CPUs of its own (a duet), or on the same CPUs and in
//! turns at sending.

use super::{Arms, Kept, built, named, open, unchanged};
use crate::coordinate::compare::{Asked, Place};
use crate::environment::confine;
use crate::exit::CommandError;
use crate::journal::OpenLoad;
use crate::session::agents::AgentsFrom;
use crate::session::partner::{Partner, partners};
use crate::session::{Beside, Session, check_limits};
use crate::settings::compare::Arm;
use clock::monotonic_ns;
use model::{COMPARE_AT_ONCE, CompareTrialMade, Duet, DuetSet, Plan, Turns};
use std::panic::resume_unwind;
use std::thread::{Builder, scope};

/// One of two loads that are about to run.
struct Half<'a> {
    asked: Asked,
    arm: usize,
    /// CPUs of its own; none where both have all.
    cpus: Option<&'a DuetSet>,
    session: Session,
    plan: Plan,
    load: OpenLoad,
}

impl Half<'_> {
    /// Puts the load on. In a duet all threads of it but the load threads run beside these, so that they take nothing from the
    /// other half.
    fn measure(&mut self, partner: Partner, label: &str) -> Result<(), CommandError> {
        if let Some(cpus) = self.cpus {
            confine(&cpus.load);
        }
        self.session.measure(&self.plan, label, &mut self.load.journal(), Beside::Partner(partner)).map(drop)
    }
}

impl Arms<'_> {
    /// The trial that is asked for. It is measured together with the one that is asked for next, which is kept until then.
    pub(super) fn make_both(&mut self, asked: &Asked, place: Place, duet: Option<&Duet>) -> Result<Kept, CommandError> {
        if let Some(second) = self.second.take().filter(|_| !place.is_first) {
            return Ok(second);
        }
        let begin_ns = monotonic_ns();
        let label = self.label(asked);
        self.progress.say(&label);
        let cpus = |set: usize| duet.map(|duet| &duet.sets[set]);
        let (arm, other) = (asked.arm.unwrap_or_default(), place.beside);
        let other_place = Place { set: 1 - place.set, beside: arm, is_first: false };
        let beside = Asked { number: asked.number + 1, arm: Some(other), place: Some(other_place), ..*asked };
        let mut first = self.half(asked, arm, cpus(place.set))?;
        let mut second = self.half(&beside, other, cpus(other_place.set))?;
        self.rest(arm, asked.before);
        let connections = first.plan.load.connections() + second.plan.load.connections();
        let threads = first.plan.threads + second.plan.threads;
        check_limits(connections, threads, first.plan.target.address.tcp().is_some())?;
        std::mem::swap(&mut first.session.progress, &mut self.progress);
        let measured = at_once([&mut first, &mut second], &label);
        std::mem::swap(&mut first.session.progress, &mut self.progress);
        for (half, measured) in [&mut first, &mut second].into_iter().zip(measured) {
            let checked = measured.and_then(|()| half.session.check());
            checked.map_err(|error| named(self.arm_name(half.arm), error))?;
        }
        // Half of the time is that of either.
        let took_ns = monotonic_ns().saturating_sub(begin_ns) / 2;
        let loads = [first, second].map(|Half { asked, session, load, .. }| {
            // Those of a duet get other CPUs next.
            if duet.is_none() {
                self.return_session(&asked, session);
            }
            (asked, load)
        });
        let mut kept = loads.into_iter().map(|(asked, load)| {
            let made = CompareTrialMade { arm: asked.arm.map(|arm| arm as u64), load: asked.load, took_ns };
            let directory = self.journal.close_load(load);
            let outcome = self.journal.measurement().compare_outcome(&directory, &made);
            Kept { directory, made, outcome }
        });
        let (asked_for, second) = (kept.next(), kept.next());
        self.second = second;
        asked_for.ok_or_else(CommandError::interrupted)
    }

    /// The server of a variant, on CPUs of its own if it has some, and the plan of its load.
    fn half<'b>(&mut self, asked: &Asked, arm: usize, cpus: Option<&'b DuetSet>) -> Result<Half<'b>, CommandError> {
        let session = match cpus {
            Some(_) => self.duet_session(arm, cpus),
            None => self.take_session(asked),
        };
        let session = session.map_err(|error| named(self.arm_name(arm), error))?;
        let (load, until, warmup) = self.options.trial(self.args, asked.load, asked.before, &self.settings)?;
        let mut plan = session.plan(load, until, warmup);
        // The same arrivals at the same instants for both, or in turns.
        plan.seed = plan.seed.wrapping_add(asked.block + 1);
        let turn = self.settings.at_once.zip(asked.place).filter(|_| cpus.is_none());
        plan.turns = turn.map(|(at_once, place)| Turns {
            turn_ns: at_once.turn_ns,
            index: place.set as u32,
            of: COMPARE_AT_ONCE as u32,
        });
        let load = self.journal.open_load(&self.trial_name(asked))?;
        Ok(Half { asked: *asked, arm, cpus, session, plan, load })
    }

    /// The server of a variant, started on CPUs of its own.
    fn duet_session(&self, arm: usize, cpus: Option<&DuetSet>) -> Result<Session, CommandError> {
        let of = &self.options.arms[arm];
        let session = open(self.args, self.target, &built(of), AgentsFrom::Share(&self.agents), cpus, self.stop)?;
        let before = self.arm_record(arm).and_then(|arm| arm.served.as_ref());
        unchanged(before, &session)?;
        Ok(session)
    }
}

/// Both loads, each on a thread of its own.
fn at_once(halves: [&mut Half<'_>; 2], label: &str) -> [Result<(), CommandError>; 2] {
    let [first, second] = halves;
    // On CPUs of its own, a server is told by where it began; on the same ones, what each of its processes uses counts.
    let processes = |half: &Half<'_>| match half.cpus {
        Some(_) => half.session.processes(),
        None => half.session.server_processes(),
    };
    let [of_first, of_second] = partners([processes(second), processes(first)]);
    scope(|scope| {
        let threads = [(first, of_first), (second, of_second)].map(|(half, partner)| {
            // One that cannot be started is a partner that is gone.
            Builder::new().name("duet".into()).spawn_scoped(scope, move || half.measure(partner, label))
        });
        threads.map(|thread| match thread.map(|thread| thread.join()) {
            Ok(Ok(measured)) => measured,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(error) => Err(CommandError::usage(format!("cannot start a thread: {error}"))),
        })
    })
}

/// Fails where a server that was started on the CPUs of its set may use others: a wrapper or its configuration has moved it.
pub(super) fn refuse_elsewhere(arm: &Arm, session: &Session, cpus: &DuetSet) -> Result<(), CommandError> {
    match session.server_cpus().iter().find(|cpu| !cpus.server.contains(cpu)) {
        Some(cpu) => Err(CommandError::usage(format!(
            "--duet started '{}' on CPUs {:?}, and it may use CPU {cpu} as well: leave out what pins it",
            arm.name, cpus.server
        ))),
        None => Ok(()),
    }
}
