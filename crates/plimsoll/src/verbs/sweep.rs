//! `plimsoll sweep`: rising load, its peak and knee, judged.

mod arms;

use crate::cli::{ArrivalsArg, OverArg, SweepArgs};
use crate::coordinate::sweep::{SweepSearch, Times, Trial, TrialOutcome};
use crate::coordinate::{Measure, walk};
use crate::exit::{CommandError, Exit};
use crate::interrupt;
use crate::journal::Journal;
use crate::output::progress::Progress;
use crate::profiling::{ENDED_BEFORE, at_peak, keep as keep_profile, keep_waits, no_profile, remove_samples};
use crate::result::Asked;
use crate::session::{Beside, Session, SessionOptions};
use crate::settings;
use crate::settings::clients;
use crate::settings::draft::Draft;
use crate::settings::threshold;
use crate::store::{self, PROFILED};
use crate::verbs::conclude::conclude;
use crate::verbs::confirm::{self, Confirming};
use crate::verbs::measured::CheckedTarget;
use evidence::EvidenceBuilder;
use evidence::factors::of_sweep_plan;
use model::{Count, Limiter, Load, MeasurementKind, NS_PER_S, Plan, Redacted, SessionEvent, Warmup, human};
use stack::Spec;
use stats::{Outcome, SweepSettings};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Rest between points: what the last one left in the server's queues and ours must not reach the next.
const REST: Duration = Duration::from_millis(200);
/// Warm-up before each window; ns.
const WARMUP_NS: u64 = NS_PER_S / 2;
const LOAD_MAX: u64 = 1_000_000_000;
const POINTS_MAX: u64 = 100;
const ITERATIONS_MAX: u64 = 1000;

pub(crate) fn sweep(args: &SweepArgs) -> Result<Exit, CommandError> {
    let checked = Checked::new(args)?;
    sweep_checked(args, &checked, &interrupt::watch()?)
}

/// What was typed, as far as it can be checked before anything is started.
pub(super) struct Checked {
    search: SweepSettings,
    pub(super) target: CheckedTarget,
    warmup: Warmup,
    asked: Asked,
}

impl Checked {
    pub(super) fn new(args: &SweepArgs) -> Result<Self, CommandError> {
        let search = search(args)?;
        // The flags that every point will use.
        load_of(args, search.to)?;
        settings::window(args.duration)?;
        let warmup = settings::warmup(args.warmup, WARMUP_NS)?;
        match args.over {
            OverArg::Rate => settings::no_pipeline(args.measured.request.pipeline)?,
            OverArg::Connections => of_rates_only(args)?,
        }
        let typed_warmup = (warmup, args.warmup.is_some());
        let asked = threshold::read(&args.thresholds, threshold::Kind::Sweep, &args.measured)?;
        let target =
            CheckedTarget::new(&args.measured, &args.serve, typed_warmup, least(args, &search), asked.quantiles())?;
        if target.specs.len() > 1 && args.thresholds.baseline.is_some() {
            return Err(CommandError::usage(
                "--baseline is one result, and --serve names several servers: sweep one of them",
            ));
        }
        Ok(Self { search, target, warmup, asked })
    }

    /// Why its result can only be invalid, if that is known before the load. An experiment has said it of all its steps.
    pub(super) fn warning(&self, args: &SweepArgs) -> Option<String> {
        let said = judge::planned_too_short(args.duration.ns, self.search.iterations as u64);
        said.filter(|_| !args.output.is_step)
    }

    /// About how long it takes without starting and ending: as many loads as are aimed for; ns.
    pub(super) fn expected_ns(&self, args: &SweepArgs) -> u64 {
        let before_ns = REST.as_nanos() as u64 + clients::agree_ns(&args.measured.clients);
        let each_ns =
            args.duration.ns.saturating_add(settings::expected_warmup_ns(self.warmup)).saturating_add(before_ns);
        each_ns.saturating_mul((self.search.points * self.search.iterations) as u64)
    }
}

/// Sweeps one server or several, until the end or until `stop` is set.
pub(super) fn sweep_checked(args: &SweepArgs, checked: &Checked, stop: &Arc<AtomicBool>) -> Result<Exit, CommandError> {
    if checked.target.specs.len() > 1 {
        checked.warning(args).iter().for_each(|warning| Progress::new(args.output.quiet).line(warning));
        return arms::sweep(args, checked, stop);
    }
    let create = |started: &str| store::create(args.output.output.as_deref(), "sweep", started);
    let (journal, walked) = measure(args, checked, (checked.target.specs.first(), None), stop, create)?;
    conclude(journal, walked, stop, &args.output, Some(&args.thresholds.files))
}

/// Sweeps one target. At least one point is measured. The second value says what made it end before its end, if anything did.
///
/// `spec` is the server to be started, with its label where it is one of several. `None` means that of the URL, or the built-in one.
fn measure(
    args: &SweepArgs,
    checked: &Checked,
    (spec, arm): (Option<&Spec>, Option<Redacted>),
    stop: &Arc<AtomicBool>,
    create: impl FnOnce(&str) -> Result<PathBuf, CommandError>,
) -> Result<(Journal, Result<(), CommandError>), CommandError> {
    let Checked { search, target, asked, .. } = checked;
    let options = SessionOptions {
        url: args.url.as_deref(),
        serve: spec,
        quiet: args.output.quiet,
        ..target.session_options(&args.measured, stop)?
    };
    let session = Session::new(options, |session| {
        let over = if search.over_rate { "rate" } else { "connections" };
        // The record is told by its first load, which may have fewer load threads than the last.
        let first = Redacted::new(plan(args, session, search.from)?);
        asked.may_compare(&of_sweep_plan(over, &first, &Redacted::new(session.environment())))?;
        create(&session.started)
    })?;
    let warning = checked.warning(args).filter(|_| arm.is_none());
    warning.iter().for_each(|warning| session.progress.line(warning));
    let most = plan(args, &session, search.to)?;
    let arm = arm.map(Redacted::into_inner);
    let (limit, over_rate, wants_profile) = (search.to, search.over_rate, args.profile);
    let mut journal = session.begin(MeasurementKind::Sweep { limit, over_rate, wants_profile, arm }, &most)?;
    asked.event().into_iter().for_each(|event| journal.tell(event));
    let mut loads = Loads { args, session, journal, measured: 0 };
    let mut searching = SweepSearch::new(search.clone(), times(args, &most));
    let mut walked = walk(&mut searching, &mut loads, stop);
    loads.session.agent_lost().into_iter().for_each(|event| loads.journal.tell(event));
    if !loads.journal.measurement().has_loads() {
        loads.session.progress.end();
        walked?;
        return Err(CommandError::interrupted());
    }
    searching.rise_end().into_iter().for_each(|end| loads.journal.tell(SessionEvent::Risen { end }));
    loads.journal.tell(SessionEvent::Changed { changes: loads.session.changes() });
    if args.profile && walked.is_ok() && !loads.session.is_interrupted() {
        walked = loads.profile();
    }
    let Loads { session, mut journal, .. } = loads;
    if args.profile && !journal.measurement().facts().is_profiled() {
        journal.tell(no_profile(ENDED_BEFORE));
    }
    session.progress.end();
    let spec = session.spec().cloned();
    // Its server ends here, and leaves its port to those that come.
    drop(session);
    if args.confirm && walked.is_ok() && !stop.load(Ordering::Relaxed) {
        let limiter = journal.measurement().sweep_record().limiter;
        walked = confirm(args, &target.draft, limiter.as_ref(), spec, journal.directory(), stop)
            .map(|confirmed| confirmed.into_iter().for_each(|event| journal.tell(event)));
    }
    Ok((journal, walked))
}

/// Tries what the limiter of the sweep predicts, in a closed loop at the load that it was found at.
fn confirm(
    args: &SweepArgs,
    draft: &Draft,
    limiter: Option<&Limiter>,
    spec: Option<Spec>,
    directory: &Path,
    stop: &Arc<AtomicBool>,
) -> Result<Option<SessionEvent>, CommandError> {
    let (Some(limiter), Some(spec)) = (limiter, spec) else { return Ok(None) };
    let connections = match args.over {
        OverArg::Connections => limiter.load.unwrap_or(1.0) as u32,
        OverArg::Rate => open_connections(args).0 as u32,
    };
    let how = Confirming {
        spec,
        draft,
        connections,
        may_open_more: true,
        window: settings::window(args.duration)?,
        warmup: settings::warmup(args.warmup, WARMUP_NS)?,
        directory,
        quiet: args.output.quiet,
        stop,
    };
    confirm::confirm(limiter, &how).map(Some)
}

/// Measures the loads that the search asks for.
struct Loads<'a> {
    args: &'a SweepArgs,
    session: Session,
    journal: Journal,
    measured: usize,
}

impl Measure<SweepSearch> for Loads<'_> {
    /// The directory of its events below that of the sweep.
    type Measured = String;

    fn measure(&mut self, trial: &Trial) -> Result<(TrialOutcome, String), CommandError> {
        // Before a load and not after it, so that one that was measured is told at once.
        if self.measured > 0 {
            std::thread::sleep(REST);
        }
        self.measured = trial.number;
        let Trial { load, number, .. } = *trial;
        if self.args.restart && trial.iteration.is_some() && number > 1 {
            self.session.restart()?;
        }
        let (text, left_s) = (self.load_text(load), trial.left_ns as f64 / NS_PER_S as f64);
        let (name, label) = match (trial.iteration, trial.of) {
            (Some(iteration), Some(of)) => {
                let unit = if self.over_rate() { "rate" } else { "c" };
                // Loads that are made again count as well, and nobody knows of them before.
                let of = of.max(number);
                (
                    format!("{number:02}-{unit}{load:.0}-{}", iteration + 1),
                    format!("load {number} of at most {of} ({text}), all in about {left_s:.0} s: "),
                )
            }
            _ => {
                let line = format!("again   {text}: too much CPU time was taken from client or server");
                self.session.progress.line(&line);
                (format!("{number:02}-again"), format!("again ({text}), all in about {left_s:.0} s: "))
            }
        };
        let plan = self.plan(load)?;
        let mut open = self.journal.open_load(&name)?;
        self.session.budget_ns = trial.budget_ns;
        self.session.measure(&plan, &label, &mut open.journal(), Beside::Nothing)?;
        let outcome = open.evidence().map(trial_outcome).ok_or_else(CommandError::interrupted)?;
        Ok((outcome, self.journal.close_load(open)))
    }

    fn is_whole(&self) -> Result<(), CommandError> {
        self.session.check_agents()
    }

    fn leave_out(&mut self, directory: String) {
        self.journal.leave_out(&directory);
    }

    fn keep(&mut self, trial: &Trial, directory: String) -> Result<(), CommandError> {
        let good_per_s = self.journal.measurement().load(&directory).map_or(0.0, |load| load.goodput().value);
        // Without the number of all: a sweep ends early where the server saturates.
        if trial.of.is_some() {
            self.session.progress.line(&format!(
                "load {:>2}  {}: {} good",
                trial.number,
                self.load_text(trial.load),
                human::rate(good_per_s)
            ));
        }
        self.journal.tell(SessionEvent::Point { directory, load: trial.load });
        // A server that has ended leaves nothing more to measure.
        self.session.check()
    }
}

impl Loads<'_> {
    /// Measures the peak's load once more, with samples. It is not among the points, so that their numbers stay clean.
    fn profile(&mut self) -> Result<(), CommandError> {
        let Some(peak) = self.journal.measurement().sweep_record().peak else { return Ok(()) };
        if self.args.restart {
            self.session.restart()?;
        }
        std::thread::sleep(REST);
        let plan = self.plan(peak.load)?;
        self.measured += 1;
        let mut load = self.journal.open_load(&format!("{:02}{PROFILED}", self.measured))?;
        let label = format!("profile, {}: ", self.load_text(peak.load));
        let measured = self.session.measure(&plan, &label, &mut load.journal(), Beside::Sampling)?;
        let goodput_per_s = load.evidence().map(|load| load.goodput().value);
        let load = self.journal.close_load(load);
        self.journal.leave_out(&load);
        let directory = &self.session.directory;
        if let Some(sampling) = measured.sampling {
            let sampled = self.session.name(sampling, &self.journal);
            let event = keep_profile(directory, sampled, goodput_per_s, &Redacted::url(&plan.target.url));
            self.journal.tell(at_peak(event, &peak));
        }
        remove_samples(directory);
        keep_waits(directory, report::off_cpu::of_sweep(&self.journal.measurement().sweep_record()));
        self.session.check()
    }

    fn plan(&self, load: f64) -> Result<Plan, CommandError> {
        let mut plan = plan(self.args, &self.session, load)?;
        // Another order of arrivals each time, so that a repeat is a repeat of the load and not of its accidents.
        plan.seed = plan.seed.wrapping_add(self.measured as u64);
        Ok(plan)
    }

    fn load_text(&self, load: f64) -> String {
        if self.over_rate() {
            format!("{} offered", human::rate(load))
        } else {
            human::plural(load.round() as u64, "connection")
        }
    }

    fn over_rate(&self) -> bool {
        self.args.over == OverArg::Rate
    }
}

fn plan(args: &SweepArgs, session: &Session, load: f64) -> Result<Plan, CommandError> {
    Ok(session.plan(load_of(args, load)?, settings::window(args.duration)?, settings::warmup(args.warmup, WARMUP_NS)?))
}

/// Times of each load, which is as long as `plan`.
fn times(args: &SweepArgs, plan: &Plan) -> Times {
    let (warmup_ns, agree_ns) = (settings::expected_warmup_ns(plan.warmup), clients::agree_ns(&args.measured.clients));
    // On other machines no time is known to be disturbed.
    let budget_ns = args.budget.map(|budget| budget.ns).or_else(|| (agree_ns > 0).then_some(0));
    Times { window_ns: args.duration.ns, warmup_ns, agree_ns, budget_ns }
}

/// What a load says, as far as the search needs it.
fn trial_outcome(builder: &EvidenceBuilder) -> TrialOutcome {
    TrialOutcome {
        outcome: outcome(builder),
        says_little: builder.says_little(),
        prolonged_ns: builder.prolonged_ns(),
        clean_ns: builder.clean_ns(),
    }
}

fn outcome(builder: &EvidenceBuilder) -> Outcome {
    let evidence = builder.evidence();
    let seconds = evidence.measured_ns.max(1) as f64 / NS_PER_S as f64;
    let cohort = &evidence.cohort;
    // Where next to nothing was undisturbed, the goodput of the rest would look like a fall to the search.
    let undisturbed_per_s = builder.says_little().then(|| builder.undisturbed_per_s()).flatten();
    let goodput_per_s = undisturbed_per_s.unwrap_or_else(|| builder.goodput().value);
    let is_open = !evidence.plan.load.is_closed();
    Outcome {
        goodput_per_s: if is_open { evidence.sustained_per_s(goodput_per_s) } else { goodput_per_s },
        offered_per_s: is_open.then_some(cohort.counts.planned as f64 / seconds),
        good_share: if cohort.counts.planned == 0 {
            0.0
        } else {
            cohort.counts.good as f64 / cohort.counts.planned as f64
        },
    }
}

fn load_of(args: &SweepArgs, load: f64) -> Result<Load, CommandError> {
    match args.over {
        OverArg::Connections => settings::load(Count(load as u64), None, ArrivalsArg::Poisson),
        OverArg::Rate => {
            let arrivals = args.arrivals.unwrap_or(ArrivalsArg::Poisson);
            settings::load(open_connections(args), Some(load), arrivals)
        }
    }
}

/// Connections of a sweep over rate.
fn open_connections(args: &SweepArgs) -> Count {
    args.connections.unwrap_or(settings::OPEN_CONNECTIONS)
}

/// Fails where a flag would be ignored that only a sweep over rate has.
fn of_rates_only(args: &SweepArgs) -> Result<(), CommandError> {
    if let Some(connections) = args.connections {
        return Err(CommandError::usage(format!(
            "--connections is for --over rate; over connections --to {} is the highest load",
            connections.0
        )));
    }
    match args.arrivals {
        Some(_) => Err(CommandError::usage(
            "--arrivals is for --over rate; over connections each request waits for the response before it",
        )),
        None => settings::no_spin(&args.measured.generator, "add --over rate"),
    }
}

/// Connections of the smallest load, and the flag that sets them.
fn least(args: &SweepArgs, search: &SweepSettings) -> (&'static str, u32) {
    match (args.over, args.from) {
        (OverArg::Rate, _) => ("-c", open_connections(args).0 as u32),
        (OverArg::Connections, _) if !args.loads.is_empty() => ("--loads", search.from as u32),
        (OverArg::Connections, Some(_)) => ("--from", search.from as u32),
        // It begins with the number of agents, if there may be so many.
        (OverArg::Connections, None) => ("--to", search.to as u32),
    }
}

fn search(args: &SweepArgs) -> Result<SweepSettings, CommandError> {
    let over_rate = args.over == OverArg::Rate;
    let seed = args.measured.generator.seed;
    let iterations = settings::in_range("--iterations", args.iterations, 1, ITERATIONS_MAX)? as usize;
    if !args.loads.is_empty() {
        let loads = listed(&args.loads)?;
        let (from, to, points) = (loads[0], loads[loads.len() - 1], loads.len());
        return Ok(SweepSettings { loads, from, to, points, iterations, over_rate, seed });
    }
    // Each agent needs a connection.
    let least = (clients::agents(&args.measured.clients)? as u64).clamp(1, args.to.map_or(u64::MAX, |to| to.0.max(1)));
    let (from, to) = if over_rate { (100, 1_000_000) } else { (least, 1024) };
    let from = settings::in_range("--from", args.from.unwrap_or(Count(from)), 1, LOAD_MAX)?;
    let to = settings::in_range("--to", args.to.unwrap_or_else(|| Count(to.max(from))), 1, LOAD_MAX)?;
    if from > to {
        return Err(CommandError::usage(format!("--from {from} is above --to {to}")));
    }
    let points = settings::in_range("--points", args.points, 1, POINTS_MAX)? as usize;
    Ok(SweepSettings { loads: Vec::new(), from: from as f64, to: to as f64, points, iterations, over_rate, seed })
}

/// The loads of a list, in rising order, each once.
fn listed(loads: &[Count]) -> Result<Vec<f64>, CommandError> {
    let read = |load: &Count| settings::in_range("--loads", *load, 1, LOAD_MAX);
    let mut loads: Vec<u64> = loads.iter().map(read).collect::<Result<_, _>>()?;
    loads.sort_unstable();
    loads.dedup();
    match loads.len() as u64 {
        n if n > POINTS_MAX => Err(CommandError::usage(format!("--loads: {n} loads are more than {POINTS_MAX}"))),
        _ => Ok(loads.into_iter().map(|load| load as f64).collect()),
    }
}
