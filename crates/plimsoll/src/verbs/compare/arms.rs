//! Variants of a comparison: looked at before the blocks, and measured in them.

mod profile;
mod together;
mod told;

use super::Checked;
use super::capacity::BlockSearched;
use crate::cli::compare::CompareArgs;
use crate::coordinate::Measure;
use crate::coordinate::compare::{Asked, BlockSearch, Outcome, ServedBefore};
use crate::environment;
use crate::exit::{CommandError, Exit};
use crate::journal::Journal;
use crate::output::progress::Progress;
use crate::profiling::php;
use crate::serving;
use crate::session::agents::{AgentsFrom, SessionAgents};
use crate::session::{Beside, Session, SessionOptions};
use crate::settings::capacity::CapacityOptions;
use crate::settings::compare::{Arm, ArmTarget, CANARY, CompareOptions, REST_NS};
use crate::settings::draft::Draft;
use crate::store::{self, POINTS};
use crate::verbs::measured::{CheckedTarget, plain_session};
use clock::monotonic_ns;
use model::{
    ArmRecord, Change, CheckRow, CompareLoad, CompareSettings, CompareTrialMade, Contract, DuetSet, MeasurementKind,
    SessionEvent,
};
use observe::TakenFingerprint;
use stack::Spec;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use told::Told;

/// What helps a server that does not start while that of another variant runs.
const BESIDE_ANOTHER: &str = "it was started while the server of another variant ran: if both need the same port, file or \
                              memory, measure one after the other with --one-at-a-time";

/// What is known of the variants before the blocks.
pub(super) struct Looked {
    pub(super) arms: Vec<ArmRecord>,
    /// Good responses per second of a closed loop.
    pub(super) pilots_per_s: Vec<f64>,
    pub(super) journal: Journal,
    pub(super) before: Before,
    /// All sessions have these.
    pub(super) agents: SessionAgents,
    /// Of variants that plimsoll does not start; none of those that it does.
    pub(super) sessions: Vec<Option<Session>>,
    /// True if this machine has a part in what is measured, of which a canary then tells.
    pub(super) has_canary: bool,
    /// What stands in the way of comparing the variants.
    pub(super) check: Vec<CheckRow>,
    /// True if no process serves two of the variants, so that the CPU time of each is known while all of them are loaded.
    pub(super) are_apart: bool,
}

/// What machine and baseline were before the first load.
pub(super) struct Before(TakenFingerprint, u64);

impl Before {
    pub(super) fn changes(&self) -> Vec<Change> {
        environment::changes(&self.0, self.1)
    }
}

/// Starts each variant once, refuses those that do not answer alike, and puts a closed loop on each.
pub(super) fn look(args: &CompareArgs, checked: &Checked, stop: &Arc<AtomicBool>) -> Result<Looked, CommandError> {
    let Checked { options, target } = checked;
    let mut looked: Option<Looked> = None;
    let (mut clocks, mut processes) = (Vec::new(), Vec::new());
    // What one gets out of its half, while nobody uses the other.
    let cpus = options.duet.as_ref().map(|duet| &duet.sets[0]);
    for (index, arm) in options.arms.iter().enumerate() {
        // One server under several names is looked at once.
        if let Some(looked) = looked.as_mut().filter(|_| args.aa) {
            looked.arms.push(ArmRecord { name: arm.name.clone(), ..looked.arms[0].clone() });
            looked.pilots_per_s.push(looked.pilots_per_s[0]);
            let agents = AgentsFrom::Share(&looked.agents);
            let session = looked.sessions[0].is_some().then(|| open(args, target, arm, agents, cpus, stop));
            looked.sessions.push(session.transpose()?);
            continue;
        }
        let named = |error: CommandError| named(&arm.name, error);
        let mut session = match &looked {
            None => begin(args, arm, checked, cpus, stop)?,
            Some(looked) => open(args, target, arm, AgentsFrom::Share(&looked.agents), cpus, stop).map_err(named)?,
        };
        cpus.map_or(Ok(()), |cpus| together::refuse_elsewhere(arm, &session, cpus))?;
        let contract = contract(options, &session);
        if let Some(looked) = &looked {
            let baseline = &looked.arms[0];
            refuse_unlike(args, baseline, arm, &contract)?;
        }
        let record = arm_record(arm, &session, &contract);
        if looked.is_none() {
            let (load, until) = options.pilot();
            let plan = session.plan(load, until, options.warmup);
            let journal = session.begin(MeasurementKind::Compare { arms: options.arms.len() as u64 }, &plan)?;
            let (fingerprint, suspended_ns) = session.before();
            let before = Before(fingerprint, suspended_ns);
            looked = Some(Looked {
                arms: Vec::new(),
                pilots_per_s: Vec::new(),
                journal,
                before,
                agents: session.agents().clone(),
                sessions: Vec::new(),
                has_canary: false,
                check: Vec::new(),
                are_apart: options.is_in_turns,
            });
        }
        let Some(looked) = looked.as_mut() else { continue };
        let per_s = pilot(options, &mut session, looked, index, &arm.name).map_err(named)?;
        looked.arms.push(ArmRecord { pilot_per_s: Some(per_s), ..record });
        looked.pilots_per_s.push(per_s);
        looked.has_canary |= session.takes_part();
        clocks.push((arm.name.as_str(), session.php_samples().map(|samples| samples.clock)));
        looked.check = php::compared_row(&clocks).into_iter().collect();
        if looked.are_apart {
            // With what is behind it, such as a database that has answered the closed loop.
            let own = session.server_processes();
            looked.are_apart = are_apart(&processes, &own);
            processes.extend(own);
        }
        // A server of ours ends here.
        looked.sessions.push(matches!(arm.target, ArmTarget::Url(_)).then_some(session));
    }
    looked.ok_or_else(|| CommandError::usage("there is nothing to compare"))
}

/// True if it is known which processes serve a variant, and none of them serves one of those before it.
fn are_apart(before: &[i32], own: &[i32]) -> bool {
    !own.is_empty() && !own.iter().any(|pid| before.contains(pid))
}

/// The error of a variant, which it names.
fn named(name: &str, error: CommandError) -> CommandError {
    match error.exit {
        Exit::Interrupted => error,
        _ => CommandError { message: format!("'{name}': {}", error.message), ..error },
    }
}

/// The session of the baseline, which makes the directory.
fn begin(
    args: &CompareArgs,
    arm: &Arm,
    checked: &Checked,
    cpus: Option<&DuetSet>,
    stop: &Arc<AtomicBool>,
) -> Result<Session, CommandError> {
    // No variant is to blame for a directory that cannot be written to.
    let is_of_directory = Cell::new(false);
    let create = |session: &Session| {
        let created = store::create(args.output.output.as_deref(), "compare", &session.started);
        created.inspect_err(|_| is_of_directory.set(true))
    };
    let agents = AgentsFrom::Start(&checked.target.machines);
    let options = SessionOptions {
        quiet: args.output.quiet,
        is_known: false,
        ..session_options(args, &checked.target, arm, agents, cpus, stop)?
    };
    Session::new(options, create).map_err(|error| match is_of_directory.get() {
        true => error,
        false => named(&arm.name, error),
    })
}

/// A session of another variant, or of the baseline once more, with its server on these CPUs.
fn open(
    args: &CompareArgs,
    target: &CheckedTarget,
    arm: &Arm,
    agents: AgentsFrom<'_>,
    cpus: Option<&DuetSet>,
    stop: &Arc<AtomicBool>,
) -> Result<Session, CommandError> {
    Session::new(session_options(args, target, arm, agents, cpus, stop)?, |_| Ok(PathBuf::new()))
}

fn session_options<'a>(
    args: &CompareArgs,
    target: &'a CheckedTarget,
    arm: &'a Arm,
    agents: AgentsFrom<'a>,
    cpus: Option<&'a DuetSet>,
    stop: &Arc<AtomicBool>,
) -> Result<SessionOptions<'a>, CommandError> {
    let (url, serve) = match &arm.target {
        ArmTarget::Url(url) => (Some(url.as_str()), None),
        ArmTarget::Serve(spec) => (None, Some(&**spec)),
        ArmTarget::Builtin => (None, None),
    };
    let options = target.session_options(&args.measured, stop)?;
    Ok(SessionOptions { agents, url, serve, cpus, quiet: true, is_known: true, ..options })
}

/// What a good response of the first request is.
fn contract(options: &CompareOptions, session: &Session) -> Contract {
    let (load, until) = options.pilot();
    let plan = session.plan(load, until, options.warmup);
    plan.requests.into_iter().next().map(|request| request.contract).unwrap_or_default()
}

fn arm_record(arm: &Arm, session: &Session, contract: &Contract) -> ArmRecord {
    let found = session.probe().found();
    ArmRecord {
        name: arm.name.clone(),
        target: arm.target.label(),
        served: session.environment().served,
        status: contract.status.or_else(|| found.map(|fetch| fetch.status)),
        size_bytes: contract.size_bytes,
        pilot_per_s: None,
        differences: Vec::new(),
    }
}

/// Fails where two variants do not answer alike, unless that is wanted.
fn refuse_unlike(args: &CompareArgs, baseline: &ArmRecord, arm: &Arm, contract: &Contract) -> Result<(), CommandError> {
    let of_baseline = (baseline.status, baseline.size_bytes);
    match judge::responses_differ(of_baseline, (contract.status, contract.size_bytes)) {
        Some(differ) if !args.allow_different_responses => Err(CommandError::usage(format!(
            "'{}' and '{}' do not answer alike ({differ}), so a difference could be that of the responses; make them \
             alike, or allow it with --allow-different-responses",
            baseline.name, arm.name
        ))),
        _ => Ok(()),
    }
}

/// Good responses per second of a closed loop on a variant.
fn pilot(
    options: &CompareOptions,
    session: &mut Session,
    looked: &mut Looked,
    index: usize,
    name: &str,
) -> Result<f64, CommandError> {
    let (load, until) = options.pilot();
    let plan = session.plan(load, until, options.warmup);
    let mut load = looked.journal.open_load(&format!("00-pilot-{}", index + 1))?;
    let label = format!("closed loop to begin with, '{name}': ");
    session.measure(&plan, &label, &mut load.journal(), Beside::Nothing)?;
    let per_s = load.evidence().map_or(0.0, |load| load.goodput().value);
    let load = looked.journal.close_load(load);
    looked.journal.leave_out(&load);
    if session.is_interrupted() {
        return Err(CommandError::interrupted());
    }
    session.check_agents()?;
    session.check()?;
    session.progress.end();
    if per_s > 0.0 {
        return Ok(per_s);
    }
    Err(CommandError::target("not one good response in a closed loop; see plimsoll run"))
}

/// Measures the trials of the blocks.
pub(super) struct Arms<'a> {
    args: &'a CompareArgs,
    options: &'a CompareOptions,
    target: &'a CheckedTarget,
    stop: &'a Arc<AtomicBool>,
    settings: CompareSettings,
    journal: Journal,
    agents: SessionAgents,
    sessions: Vec<Option<Session>>,
    /// Servers of ours that run, by variant, and the block for which they were started.
    running: BTreeMap<usize, Session>,
    running_in: u64,
    /// The second of two trials that were made at the same time, until it is asked for.
    second: Option<Kept>,
    progress: Progress,
    told: Told,
}

/// A trial that was made, and the directory of its events below that of the comparison.
pub(super) struct Kept {
    directory: String,
    made: CompareTrialMade,
    outcome: Outcome,
}

impl<'a> Arms<'a> {
    pub(super) fn new(
        args: &'a CompareArgs,
        checked: &'a Checked,
        stop: &'a Arc<AtomicBool>,
        settings: CompareSettings,
        (journal, agents, sessions): (Journal, SessionAgents, Vec<Option<Session>>),
        progress: Progress,
    ) -> Self {
        let Checked { options, target } = checked;
        Self {
            args,
            options,
            target,
            stop,
            settings,
            journal,
            agents,
            sessions,
            running: BTreeMap::new(),
            running_in: 0,
            second: None,
            progress,
            told: Told::default(),
        }
    }

    /// Tells the loss of an agent, if that has ended it.
    pub(super) fn tell_loss(&mut self) {
        self.agents.lost().into_iter().for_each(|event| self.journal.tell(event));
    }

    /// Ends all servers of ours, and the agents.
    pub(super) fn end(mut self) -> Journal {
        self.tell_block();
        self.progress.end();
        drop((self.running, self.sessions, self.agents));
        self.journal
    }

    /// The trial that is asked for, by itself or together with another.
    fn make(&mut self, asked: &Asked) -> Result<Kept, CommandError> {
        let options = self.options;
        match asked.place {
            Some(place) => self.make_both(asked, place, options.duet.as_ref()),
            None => {
                let name = asked.arm.map_or_else(|| "canary".to_owned(), |arm| self.arm_name(arm).to_owned());
                self.make_one(asked).map_err(|error| named(&name, error))
            }
        }
    }

    fn make_one(&mut self, asked: &Asked) -> Result<Kept, CommandError> {
        let begin_ns = monotonic_ns();
        let label = self.label(asked);
        self.progress.say(&label);
        let mut session = self.take_session(asked)?;
        if let Some(arm) = asked.arm {
            self.rest(arm, asked.before);
        }
        std::mem::swap(&mut session.progress, &mut self.progress);
        let measured = match (asked.load, asked.arm, &self.options.capacity) {
            (CompareLoad::Capacity, Some(arm), Some(capacity)) => {
                self.search(asked, arm, capacity, &label, &mut session)
            }
            _ => self.put(asked, &label, &mut session),
        };
        std::mem::swap(&mut session.progress, &mut self.progress);
        let directory = measured?;
        session.check()?;
        self.return_session(asked, session);
        let took_ns = monotonic_ns().saturating_sub(begin_ns);
        let made = CompareTrialMade { arm: asked.arm.map(|arm| arm as u64), load: asked.load, took_ns };
        let outcome = self.journal.measurement().compare_outcome(&directory, &made);
        Ok(Kept { directory, made, outcome })
    }

    /// Puts one load on a server; returns the directory of its events.
    fn put(&mut self, asked: &Asked, label: &str, session: &mut Session) -> Result<String, CommandError> {
        let (load, until, warmup) = self.options.trial(self.args, asked.load, asked.before, &self.settings)?;
        let mut plan = session.plan(load, until, warmup);
        // Another order of arrivals in each block, and the same for all its variants.
        plan.seed = plan.seed.wrapping_add(asked.block + 1);
        let mut load = self.journal.open_load(&self.trial_name(asked))?;
        session.budget_ns = if asked.arm.is_some() { asked.left_ns } else { 0 };
        session.measure(&plan, label, &mut load.journal(), Beside::Nothing)?;
        Ok(self.journal.close_load(load))
    }

    /// Searches for the capacity of a variant; returns what the directories of its trials begin with.
    fn search(
        &mut self,
        asked: &Asked,
        arm: usize,
        capacity: &CapacityOptions,
        label: &str,
        session: &mut Session,
    ) -> Result<String, CommandError> {
        let name = self.trial_name(asked);
        let pilot_per_s = self.arm_record(arm).and_then(|arm| arm.pilot_per_s).unwrap_or(self.settings.rate_per_s);
        let settings = capacity.search_in_block(pilot_per_s, asked.block, arm);
        let search = BlockSearched {
            args: self.args,
            options: self.options,
            journal: &mut self.journal,
            name: &name,
            label,
            session,
            stop: self.stop,
        };
        search.search(&capacity.goal, settings, pilot_per_s)?;
        Ok(format!("{POINTS}/{name}"))
    }

    /// The session of a trial: that of the server which runs, or a new one.
    fn take_session(&mut self, asked: &Asked) -> Result<Session, CommandError> {
        let Some(index) = asked.arm else {
            self.running.clear();
            return self.canary();
        };
        let own = self.running.remove(&index).filter(|_| self.running_in == asked.block);
        // Servers of the block before it end, and where one is measured after the other that of the variant before it, whose
        // port may be needed.
        if self.running_in != asked.block || !self.options.is_in_turns {
            self.running.clear();
        }
        if let Some(session) = own {
            return Ok(session);
        }
        let is_beside_another = !self.running.is_empty();
        self.fresh_session(index).map_err(|error| match is_beside_another && error.exit == Exit::Target {
            true => CommandError { message: format!("{}; {BESIDE_ANOTHER}", error.message), ..error },
            false => error,
        })
    }

    /// A session of a variant, none of whose servers runs.
    fn fresh_session(&mut self, index: usize) -> Result<Session, CommandError> {
        if let Some(session) = self.sessions.get_mut(index).and_then(Option::take) {
            return Ok(session);
        }
        let arm = &self.options.arms[index];
        let agents = AgentsFrom::Share(&self.agents);
        open(self.args, self.target, &built(arm), agents, None, self.stop).and_then(|session| {
            let before = self.arm_record(index).and_then(|arm| arm.served.as_ref());
            unchanged(before, &session)?;
            Ok(session)
        })
    }

    /// Keeps a session for the trials to come; the server of a canary ends.
    fn return_session(&mut self, asked: &Asked, session: Session) {
        let Some(index) = asked.arm else { return };
        match self.options.arms[index].target {
            ArmTarget::Url(_) => self.sessions[index] = Some(session),
            ArmTarget::Serve(_) | ArmTarget::Builtin => {
                self.running_in = asked.block;
                self.running.insert(index, session);
            }
        }
    }

    /// Waits before the first load of a block on a server that is not restarted for it.
    fn rest(&self, arm: usize, before: ServedBefore) {
        let is_url = matches!(self.options.arms[arm].target, ArmTarget::Url(_));
        if is_url && before == ServedBefore::Nothing {
            std::thread::sleep(Duration::from_nanos(REST_NS));
        }
    }

    /// The built-in server, whatever is compared.
    fn canary(&self) -> Result<Session, CommandError> {
        let spec = Spec::parse(CANARY).map_err(serving::command_error)?;
        let draft = Draft::plain(&self.args.measured.generator)?;
        let is_observed = !self.args.measured.no_observe;
        let options = SessionOptions { serve: Some(&spec), is_observed, ..plain_session(&draft, self.stop) };
        Session::new(options, |_| Ok(PathBuf::new()))
    }

    fn trial_name(&self, asked: &Asked) -> String {
        let what = match asked.arm {
            Some(arm) => format!("{}-{}", arm + 1, short_name(asked.load)),
            None => short_name(asked.load).to_owned(),
        };
        format!("{:03}-block{}-{what}", asked.number, asked.block + 1)
    }

    /// A variant as it was looked at before the blocks.
    fn arm_record(&self, arm: usize) -> Option<&ArmRecord> {
        self.journal.measurement().facts().arm(arm)
    }

    fn arm_name(&self, arm: usize) -> &str {
        self.options.arms.get(arm).map_or("", |arm| &arm.name)
    }

    /// An error that ends the comparison: a server that is gone is a part of the result.
    fn ended_by(&mut self, error: CommandError) -> CommandError {
        if error.exit == Exit::Target {
            self.journal.tell(SessionEvent::TargetGone { why: error.message.clone() });
        }
        error
    }
}

impl Measure<BlockSearch> for Arms<'_> {
    type Measured = Kept;

    fn measure(&mut self, asked: &Asked) -> Result<(Outcome, Kept), CommandError> {
        self.tell_before(asked);
        match self.make(asked) {
            Ok(kept) => Ok((kept.outcome.clone(), kept)),
            Err(error) => Err(self.ended_by(error)),
        }
    }

    fn is_whole(&self) -> Result<(), CommandError> {
        self.agents.check()
    }

    fn leave_out(&mut self, kept: Kept) {
        match kept.made.load {
            // What a canary has had sent was for no variant.
            CompareLoad::Canary => self.journal.forget(&kept.directory),
            CompareLoad::Capacity => self.journal.leave_out_search(),
            CompareLoad::Fixed | CompareLoad::Saturated | CompareLoad::Stored => {
                self.journal.leave_out(&kept.directory);
            }
        }
    }

    fn keep(&mut self, asked: &Asked, kept: Kept) -> Result<(), CommandError> {
        let Kept { directory, made, outcome } = kept;
        self.journal.tell(SessionEvent::Compared { directory, trial: made });
        if let Some(arm) = asked.arm {
            self.told.take(arm, asked.load, outcome);
        }
        Ok(())
    }
}

/// A variant whose program is there already.
fn built(arm: &Arm) -> Arm {
    let mut arm = arm.clone();
    if let ArmTarget::Serve(spec) = &mut arm.target {
        spec.settings.build = None;
    }
    arm
}

/// Fails where the program of a server is another than it was before the blocks.
fn unchanged(before: Option<&model::Served>, session: &Session) -> Result<(), CommandError> {
    let now = session.environment().served;
    let hashes = before.zip(now.as_ref()).map(|(before, now)| (&before.program_sha256, &now.program_sha256));
    match hashes {
        Some((before, now)) if before != now => Err(CommandError::usage(
            "its program has changed since it was looked at: do two builds write to one file? Give each its own (binary=)",
        )),
        _ => Ok(()),
    }
}

const fn short_name(load: CompareLoad) -> &'static str {
    match load {
        CompareLoad::Canary => "canary",
        CompareLoad::Fixed => "fixed",
        CompareLoad::Saturated => "saturated",
        CompareLoad::Capacity => "capacity",
        CompareLoad::Stored => "stored",
    }
}

#[cfg(test)]
mod tests {
    use super::are_apart;

    /// Two pages of one server, each under a load of its own at the same time, had all of its CPU time twice.
    #[test]
    fn variants_of_one_server_or_of_one_database_are_not_apart() {
        assert!(are_apart(&[], &[7]) && are_apart(&[7, 9], &[8, 10]));
        assert!(!are_apart(&[7], &[7]), "one server");
        assert!(!are_apart(&[7, 9], &[8, 9]), "one database");
        assert!(!are_apart(&[7], &[]), "it is not known who serves it");
    }
}
