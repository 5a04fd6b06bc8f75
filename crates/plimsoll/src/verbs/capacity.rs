//! `plimsoll capacity`: the highest rate that meets a goal, as a bracket, judged.

use crate::cli::capacity::CapacityArgs;
use crate::coordinate::capacity::{Asked, Bounds, CapacityWalk};
use crate::coordinate::{Measure, walk};
use crate::exit::{CommandError, Exit};
use crate::interrupt;
use crate::journal::Journal;
use crate::result::JudgedTrial;
use crate::session::{Beside, Session, SessionOptions};
use crate::settings;
use crate::settings::capacity::{CapacityOptions, Pilot, REST_NS};
use crate::settings::clients;
use crate::settings::threshold;
use crate::store;
use crate::verbs::conclude::conclude;
use crate::verbs::measured::CheckedTarget;
use clock::monotonic_ns;
use evidence::EvidenceBuilder;
use evidence::factors::of_capacity_plan;
use judge::goal::Goal;
use model::{CapacitySettings, MeasurementKind, Plan, Redacted, SessionEvent, Stop, TrialMade, TrialPurpose, human};
use stats::{CapacityOutcome, Obstacle};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Directory of the closed loop, below that of all loads.
const PILOT: &str = "01-pilot";

pub(crate) fn capacity(args: &CapacityArgs) -> Result<Exit, CommandError> {
    let checked = Checked::new(args)?;
    measure(args, &checked, &interrupt::watch()?)
}

/// What was typed, as far as it can be checked before anything is started.
pub(super) struct Checked {
    options: CapacityOptions,
    pub(super) target: CheckedTarget,
    thresholds: crate::result::Asked,
}

impl Checked {
    pub(super) fn new(args: &CapacityArgs) -> Result<Self, CommandError> {
        let options = CapacityOptions::new(args)?;
        let smallest = ("-c", args.connections.0 as u32);
        let typed_warmup = (options.warmup, args.warmup.is_some());
        let target = CheckedTarget::new(
            &args.measured,
            args.serve.as_slice(),
            typed_warmup,
            smallest,
            options.goal.quantiles(),
        )?;
        let thresholds = threshold::read(&args.thresholds, threshold::Kind::Capacity, &args.measured)?;
        Ok(Self { options, target, thresholds })
    }

    /// The time that it may take without starting and ending; ns.
    pub(super) const fn expected_ns(&self) -> u64 {
        self.options.budget_ns
    }
}

/// Searches until the end, or until `stop` is set.
pub(super) fn measure(args: &CapacityArgs, checked: &Checked, stop: &Arc<AtomicBool>) -> Result<Exit, CommandError> {
    let Checked { options, target, thresholds } = checked;
    let session = SessionOptions {
        url: args.url.as_deref(),
        serve: target.specs.first(),
        quiet: args.output.quiet,
        ..target.session_options(&args.measured, stop)?
    };
    let goal = options.goal.to_string();
    let most = |session: &Session| plan(args, options, session, options.to_per_s, options.window_ns());
    let session = Session::new(session, |session| {
        let most = most(session)?;
        sees_server(options, session, &most)?;
        let environment = Redacted::new(session.environment());
        thresholds.may_compare(&of_capacity_plan(&goal, &Redacted::new(most), &environment))?;
        store::create(args.output.output.as_deref(), "capacity", &session.started)
    })?;
    let most = most(&session)?;
    let mut journal = session.begin(MeasurementKind::Capacity { goal }, &most)?;
    thresholds.event().into_iter().for_each(|event| journal.tell(event));
    let mut trials = Trials { args, options, session, journal, told: None };
    let walked = trials.search(stop);
    let Trials { session, mut journal, .. } = trials;
    session.progress.end();
    session.agent_lost().into_iter().for_each(|event| journal.tell(event));
    if !journal.measurement().has_loads() {
        walked?;
        return Err(nothing_tried(args, stop));
    }
    journal.tell(SessionEvent::Changed { changes: session.changes() });
    // A server of ours ends here.
    drop(session);
    conclude(journal, walked, stop, &args.output, Some(&args.thresholds.files))
}

/// Why there is no result.
fn nothing_tried(args: &CapacityArgs, stop: &AtomicBool) -> CommandError {
    if stop.load(Ordering::Relaxed) {
        return CommandError::interrupted();
    }
    let message = format!("--budget {} was used up before the first trial; give it more time", args.budget);
    CommandError { exit: Exit::Inconclusive, message }
}

/// Fails where the goal asks about a server that cannot be seen from here.
fn sees_server(options: &CapacityOptions, session: &Session, plan: &Plan) -> Result<(), CommandError> {
    match options.goal.of_server() {
        Some(condition) if !session.sees_server() => Err(CommandError::usage(format!(
            "--goal {condition} needs to see the server, and {} is not on this machine; name its machine by --server-host",
            plan.target.address
        ))),
        _ => Ok(()),
    }
}

/// The plan of a trial.
fn plan(
    args: &CapacityArgs,
    options: &CapacityOptions,
    session: &Session,
    rate_per_s: f64,
    window_ns: u64,
) -> Result<Plan, CommandError> {
    let load = settings::load(args.connections, Some(rate_per_s), args.arrivals)?;
    Ok(session.plan(load, Stop::Duration { duration_ns: window_ns }, options.warmup))
}

/// Makes the trials that the search asks for.
struct Trials<'a> {
    args: &'a CapacityArgs,
    options: &'a CapacityOptions,
    session: Session,
    journal: Journal,
    /// What came of the last one, while the bracket after it has not been told.
    told: Option<String>,
}

/// A trial that was made, the directory of its events below that of the search, and what came of it in a line.
struct Kept {
    directory: String,
    made: TrialMade,
    line: String,
}

impl Trials<'_> {
    /// Warms the server up, and has everything tried that the search asks for.
    fn search(&mut self, stop: &AtomicBool) -> Result<(), CommandError> {
        let pilot = self.pilot()?;
        let settings = self.options.search(&pilot, self.restart_ns());
        self.journal.tell(SessionEvent::Search { settings, pilot_per_s: pilot.per_s });
        self.session.progress.line(&begin_line(&settings, &pilot));
        let mut search = CapacityWalk::new(settings);
        let walked = walk(&mut search, self, stop);
        self.tell(search.bracket());
        walked
    }

    /// The closed loop that warms the server up and shows where to begin. It is no trial.
    fn pilot(&mut self) -> Result<Pilot, CommandError> {
        let begin_ns = monotonic_ns();
        let agents = clients::agents(&self.args.measured.clients)? as u32;
        let (load, until) = self.options.pilot(self.args.connections.0 as u32, agents);
        let plan = self.session.plan(load, until, self.options.warmup);
        let mut load = self.journal.open_load(PILOT)?;
        self.session.measure(&plan, "closed loop to begin with: ", &mut load.journal(), Beside::Nothing)?;
        let per_s = load.evidence().map_or(0.0, |load| load.goodput().value);
        let load = self.journal.close_load(load);
        self.journal.leave_out(&load);
        if self.session.is_interrupted() {
            return Err(CommandError::interrupted());
        }
        self.session.check_agents()?;
        self.session.check()?;
        Ok(Pilot { per_s, took_ns: monotonic_ns().saturating_sub(begin_ns) })
    }

    /// About how long a restart of the server takes, where each trial has one; ns.
    fn restart_ns(&self) -> u64 {
        let served = self.session.environment().served.filter(|_| self.args.restart);
        let steps = served.map_or_else(Vec::new, |served| served.steps);
        // What was built stays.
        steps.iter().filter(|step| step.name != "build").map(|step| step.ns).sum()
    }

    /// Tells what came of the last trial, and the bracket after it.
    fn tell(&mut self, bracket: Bounds) {
        if let Some(told) = self.told.take() {
            self.session.progress.line(&format!("{told}; {}", bracket_text(bracket)));
        }
    }

    fn make(&mut self, asked: &Asked) -> Result<Kept, CommandError> {
        let begin_ns = monotonic_ns();
        let trial = &asked.trial;
        // Before a trial and not after it, so that one that was made is told at once.
        std::thread::sleep(Duration::from_nanos(REST_NS));
        if self.args.restart && trial.number > 1 {
            self.session.restart()?;
        }
        let plan = plan(self.args, self.options, &self.session, trial.load_per_s, trial.duration_ns)?;
        // The closed loop has the first number.
        let name = format!("{:02}-{}-{:.0}", trial.number + 1, short_name(trial.purpose), trial.load_per_s);
        let into = (&mut self.session, &mut self.journal);
        let (directory, made) = measure_trial(into, &name, (plan, asked), &label(asked), begin_ns)?;
        Ok(Kept { directory, made, line: String::new() })
    }

    /// An error that ends the search; a target that is gone is a part of the result.
    fn ended_by(&mut self, error: CommandError) -> CommandError {
        if error.exit == Exit::Target {
            self.journal.tell(SessionEvent::TargetGone { why: error.message.clone() });
        }
        error
    }
}

impl Measure<CapacityWalk> for Trials<'_> {
    type Measured = Kept;

    fn measure(&mut self, asked: &Asked) -> Result<(CapacityOutcome, Kept), CommandError> {
        self.tell(asked.bracket);
        if asked.trial.is_again {
            let rate = human::rate(asked.trial.load_per_s);
            let why = "too much CPU time was taken from client or server, or the client was late once";
            self.session.progress.line(&format!("again {rate}: {why}"));
        }
        let kept = match self.make(asked) {
            Ok(kept) => kept,
            Err(error) => return Err(self.ended_by(error)),
        };
        let judged = judge_trial(&self.options.goal, &self.session, &self.journal, &kept.directory, &kept.made)?;
        let line = trial_line(asked, &judged);
        Ok((judged.outcome, Kept { line, ..kept }))
    }

    fn is_whole(&self) -> Result<(), CommandError> {
        self.session.check_agents()
    }

    fn leave_out(&mut self, kept: Kept) {
        self.journal.leave_out(&kept.directory);
    }

    fn keep(&mut self, _asked: &Asked, kept: Kept) -> Result<(), CommandError> {
        let Kept { directory, made, line } = kept;
        self.journal.tell(SessionEvent::Trial { directory, trial: made });
        self.told = Some(line);
        // A server that has ended leaves nothing more to try.
        self.session.check().map_err(|error| self.ended_by(error))
    }
}

/// Makes the trial that is asked for, which began at `begin_ns`, with a plan for it; returns the directory of its events, whose
/// last part is `name`.
pub(super) fn measure_trial(
    (session, journal): (&mut Session, &mut Journal),
    name: &str,
    (mut plan, asked): (Plan, &Asked),
    label: &str,
    begin_ns: u64,
) -> Result<(String, TrialMade), CommandError> {
    let trial = &asked.trial;
    // Another order of arrivals each time.
    plan.seed = plan.seed.wrapping_add(trial.number);
    session.budget_ns = asked.prolong_max_ns;
    let mut load = journal.open_load(name)?;
    let ran_away = session.measure(&plan, label, &mut load.journal(), Beside::BacklogWatch)?.ran_away;
    let took_ns = monotonic_ns().saturating_sub(begin_ns);
    let made = TrialMade { load_per_s: trial.load_per_s, window_ns: trial.duration_ns, took_ns, ran_away };
    Ok((journal.close_load(load), made))
}

/// What the trial whose events are in `directory` says of the goal.
///
/// # Errors
/// When the server was not observed that a condition of the goal is about, and the trial was whole.
pub(super) fn judge_trial(
    goal: &Goal,
    session: &Session,
    journal: &Journal,
    directory: &str,
    made: &TrialMade,
) -> Result<JudgedTrial, CommandError> {
    let measurement = journal.measurement();
    let builder = measurement.load(directory).ok_or_else(CommandError::interrupted)?;
    let judged = JudgedTrial::new(goal, measurement.facts().limits(), made, builder);
    let is_whole = session.check_agents().is_ok() && !session.is_interrupted();
    match judged.unknown(goal).filter(|_| is_whole) {
        Some(condition) => Err(CommandError::usage(format!(
            "--goal {condition}: {}; leave it out, or see plimsoll check",
            why_unseen(builder)
        ))),
        None => Ok(judged),
    }
}

/// Why the server was not observed.
fn why_unseen(builder: &EvidenceBuilder) -> String {
    let observed = builder.evidence().observed;
    let why = observed.and_then(|mut observed| observed.unavailable.remove("server"));
    why.unwrap_or_else(|| "the server could not be observed".to_owned())
}

fn begin_line(settings: &CapacitySettings, pilot: &Pilot) -> String {
    format!(
        "closed loop: {} good; search from {}, windows of {}, at most {}",
        human::rate(pilot.per_s),
        human::rate(settings.start_per_s),
        human::time(settings.times.full_ns as f64),
        human::time(settings.times.budget_ns as f64)
    )
}

/// What stands before the progress of a trial.
fn label(asked: &Asked) -> String {
    let trial = &asked.trial;
    format!(
        "trial {} ({}) at {}; {}; {} of {}: ",
        trial.number,
        trial.purpose.words(),
        human::rate(trial.load_per_s),
        bracket_text(asked.bracket),
        human::time(asked.spent_ns as f64),
        human::time(asked.budget_ns as f64)
    )
}

/// What came of a trial.
fn trial_line(asked: &Asked, judged: &JudgedTrial) -> String {
    let said = match judged.outcome.obstacle {
        Some(Obstacle::ClientCeiling { offered_per_s }) => {
            format!("the client offered only {}", human::rate(offered_per_s))
        }
        Some(Obstacle::TargetGone) => "the target was gone".to_owned(),
        None if judged.held() => "goal met".to_owned(),
        None => format!("failed ({})", judged.failed().join(", ")),
    };
    let (load, good) = (human::rate(asked.trial.load_per_s), human::rate(judged.outcome.achieved_per_s));
    format!("{:>3}  {load}: {said}, {good} good", asked.trial.number)
}

/// The bracket in words.
pub(super) fn bracket_text(bracket: Bounds) -> String {
    match bracket {
        (None, None) => "nothing is known yet".to_owned(),
        (Some(low), None) => format!("capacity >= {}", human::rate(low)),
        (None, Some(high)) => format!("capacity < {}", human::rate(high)),
        (Some(low), Some(high)) => {
            let from = human::rate(low);
            let width = human::percent(high / low - 1.0);
            format!("capacity {} to {} ({width})", from.trim_end_matches("/s"), human::rate(high))
        }
    }
}

const fn short_name(purpose: TrialPurpose) -> &'static str {
    match purpose {
        TrialPurpose::Bracket => "bracket",
        TrialPurpose::Settle => "settle",
        TrialPurpose::Narrow => "narrow",
        TrialPurpose::ConfirmLow => "low",
        TrialPurpose::ConfirmHigh => "high",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_are_told_as_far_as_they_are_known() {
        assert_eq!(bracket_text((None, None)), "nothing is known yet");
        assert_eq!(bracket_text((Some(1_000.0), None)), "capacity >= 1,000/s");
        assert_eq!(bracket_text((None, Some(12.0))), "capacity < 12.0/s");
        assert_eq!(bracket_text((Some(1_000.0), Some(1_030.0))), "capacity 1,000 to 1,030/s (3.0 %)");
    }
}
