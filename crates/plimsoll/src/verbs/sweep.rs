//! `plimsoll sweep`: rising load, its peak and knee, judged.

mod arms;

use crate::cli::{OverArg, SweepArgs};
use crate::confirm::{self, Confirming};
use crate::deliver::{deliver, exit};
use crate::exit::{CommandError, Exit};
use crate::profiling::{keep as keep_profile, keep_waits};
use crate::result::{Point, keep, sweep_record};
use crate::session::{Session, SessionOptions};
use crate::store::{Log, Recorder};
use crate::{interrupt, serving, settings, store};
use clock::Clock;
use evidence::EvidenceBuilder;
use model::{Count, Load, Measurement, NS_PER_S, Plan, SessionEvent, SweepRecord, Warmup, human};
use report::record::AnyRecord;
use stack::Spec;
use stats::{Next, Outcome, Sweep, SweepSettings};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Rest between points: what the last one left in the server's queues and ours must not reach the next.
const REST: Duration = Duration::from_millis(200);
/// Time of a measurement beyond its window and warm-up (connecting, rest), for the estimate of time left.
const OVERHEAD_S: f64 = 0.5;
/// A load of which less than this share of the planned time was undisturbed is measured again.
const CLEAN_SHARE_MIN: f64 = 0.5;
/// Times that one load is measured again before the search goes on.
const AGAIN_MAX: usize = 2;
const LOAD_MAX: u64 = 1_000_000_000;
const POINTS_MAX: u64 = 100;
const ITERATIONS_MAX: u64 = 1000;

pub(crate) fn sweep(args: &SweepArgs) -> Result<Exit, CommandError> {
    let search = search(args)?;
    // Checks the flags that every point will use, before anything is started.
    load_of(args, search.to)?;
    settings::window(args.duration)?;
    settings::warmup(args.warmup)?;
    if args.over == OverArg::Rate {
        settings::no_pipeline(&args.request)?;
    }
    let specs = serving::specs(&args.serve)?;
    let stop = interrupt::watch()?;
    if specs.len() > 1 {
        return arms::sweep(args, &search, &specs, &stop);
    }
    let create = |started: &str| store::create(args.output.output.as_deref(), "sweep", started);
    let measured = measure(args, &search, Server { spec: specs.first(), arm: None }, &stop, create)?;
    deliver(&measured.directory, AnyRecord::Sweep(&measured.record), None, &args.output)?;
    // What made the sweep end early is told after what was measured until then.
    measured.walked?;
    Ok(exit(measured.record.verdict.state, measured.record.interrupted))
}

/// A finished sweep, or as much of it as there is.
struct Measured {
    record: SweepRecord,
    directory: PathBuf,
    /// Why it ended before its end.
    walked: Result<(), CommandError>,
}

/// What is swept.
struct Server<'a> {
    /// To be started; none: that of the URL, or the built-in one.
    spec: Option<&'a Spec>,
    /// Its label, where it is one of several.
    arm: Option<String>,
}

/// Sweeps one target. At least one point is measured.
fn measure(
    args: &SweepArgs,
    search: &SweepSettings,
    Server { spec, arm }: Server<'_>,
    stop: &Arc<AtomicBool>,
    create: impl FnOnce(&str) -> Result<PathBuf, CommandError>,
) -> Result<Measured, CommandError> {
    let options = SessionOptions {
        url: args.url.as_deref(),
        serve: spec,
        request: &args.request,
        generator: &args.generator,
        beside: &args.observe,
        is_observed: !args.no_observe,
        quiet: args.output.quiet,
        is_known: false,
        stop: Arc::clone(stop),
    };
    let session = Session::new(options, create)?;
    let most = plan(args, &session, search.to)?;
    let log = session.begin(Measurement::Sweep { limit: search.to, over_rate: search.over_rate, arm }, &most)?;
    let mut walk = Walk { args, session, log, points: Vec::new(), measured: 0, clock: Clock::start(), spent_ns: 0 };
    let mut walked = walk.walk(Sweep::new(*search));
    if walked.is_ok() {
        walked = walk.measure_again();
    }
    if walk.points.is_empty() {
        walk.session.progress.end();
        walked?;
        return Err(CommandError::interrupted());
    }
    walk.log.tell(SessionEvent::Changed { changes: walk.session.changes() });
    if args.profile && walked.is_ok() && !walk.session.is_interrupted() {
        walked = walk.profile();
    }
    walk.session.progress.end();
    let (directory, spec) = (walk.session.directory.clone(), walk.session.spec().cloned());
    // Its server ends here, and leaves its port to those that come.
    let Walk { session, mut log, points, .. } = walk;
    drop(session);
    if args.confirm && walked.is_ok() && !stop.load(Ordering::Relaxed) {
        let record = sweep_record(&log.facts, &points);
        walked = confirm(args, &record, spec, &directory, stop)
            .map(|confirmed| confirmed.into_iter().for_each(|event| log.tell(event)));
    }
    log.tell(SessionEvent::Finished { interrupted: stop.load(Ordering::Relaxed) || walked.is_err() });
    Ok(Measured { record: sweep_record(&log.facts, &points), directory, walked })
}

/// Tries what the limiter of the sweep predicts, in a closed loop at the load that it was found at.
fn confirm(
    args: &SweepArgs,
    record: &SweepRecord,
    spec: Option<Spec>,
    directory: &Path,
    stop: &Arc<AtomicBool>,
) -> Result<Option<SessionEvent>, CommandError> {
    let Some(limiter) = &record.limiter else { return Ok(None) };
    let connections = match args.over {
        OverArg::Connections => limiter.load.unwrap_or(1.0) as u32,
        OverArg::Rate => args.connections.0 as u32,
    };
    let how = Confirming {
        spec,
        request: &args.request,
        generator: &args.generator,
        connections,
        may_open_more: true,
        window: settings::window(args.duration)?,
        warmup: settings::warmup(args.warmup)?,
        directory,
        quiet: args.output.quiet,
        stop,
    };
    confirm::confirm(limiter, &how).map(Some)
}

/// Walks the loads that the search asks for.
struct Walk<'a> {
    args: &'a SweepArgs,
    session: Session,
    log: Log,
    /// In the order first measured.
    points: Vec<Point>,
    measured: usize,
    /// Since the first measurement.
    clock: Clock,
    /// Time spent on measuring again; ns.
    spent_ns: u64,
}

impl Walk<'_> {
    fn walk(&mut self, mut sweep: Sweep) -> Result<(), CommandError> {
        while let Next::Measure { load, iteration } = sweep.next() {
            if self.session.is_interrupted() {
                return Ok(());
            }
            let of = sweep.expected_measurements();
            if self.args.restart && self.measured > 0 {
                self.session.restart()?;
            }
            let measured = self.measure(load, iteration, of)?;
            let measured = self.or_again(load, measured, of)?;
            // A point that was cut short says little; it is kept only when it is all there is.
            if self.session.is_interrupted() && !self.points.is_empty() {
                return Ok(());
            }
            let outcome = outcome(&measured.gather);
            self.session.progress.line(&format!(
                "{:>3}/{of}  {}: {} good",
                self.measured,
                self.load_text(load),
                human::rate(outcome.goodput_per_s)
            ));
            self.keep(load, measured);
            // A server that has ended leaves nothing more to measure.
            self.session.check()?;
            sweep.apply(load, outcome);
            std::thread::sleep(REST);
        }
        Ok(())
    }

    /// What was measured at a load; once more, twice at the most, where so much of it was disturbed that the search would be
    /// led astray.
    fn or_again(&mut self, load: f64, mut measured: Kept, of: usize) -> Result<Kept, CommandError> {
        for _ in 0..AGAIN_MAX {
            let seconds = self.seconds_each(&self.plan(load)?);
            if !measured.gather.says_little()
                || self.session.is_interrupted()
                || self.left_ns(of, seconds) < ns(seconds)
            {
                break;
            }
            self.spent_ns += measured.gather.prolonged_ns();
            measured = self.repeat(load, seconds)?;
        }
        Ok(measured)
    }

    /// Loads of which too much was disturbed are measured once more, the worst first, as long as the budget lasts.
    fn measure_again(&mut self) -> Result<(), CommandError> {
        let planned = self.measured;
        while let Some(load) = self.worst() {
            let seconds = self.seconds_each(&self.plan(load)?);
            if self.session.is_interrupted() || self.left_ns(planned, seconds) < ns(seconds) {
                return Ok(());
            }
            let measured = self.repeat(load, seconds)?;
            if self.session.is_interrupted() {
                return Ok(());
            }
            self.keep(load, measured);
            self.session.check()?;
        }
        Ok(())
    }

    /// The load with the least undisturbed time, if that is too little.
    fn worst(&self) -> Option<f64> {
        let window_ns = self.args.duration.ns;
        let clean = |point: &Point| point.gather.clean_share_of(window_ns * self.args.iterations.0);
        let all = self.points.iter().map(|point| (point.load, clean(point)));
        let worst = all.min_by(|a, b| a.1.total_cmp(&b.1))?;
        (worst.1 < CLEAN_SHARE_MIN).then_some(worst.0)
    }

    fn repeat(&mut self, load: f64, seconds: f64) -> Result<Kept, CommandError> {
        self.spent_ns += ns(seconds);
        self.measured += 1;
        let plan = self.plan(load)?;
        self.session.budget_ns = 0;
        let text = self.load_text(load);
        self.session.progress.line(&format!("again   {text}: too much CPU time was taken from client or server"));
        let label = format!("again, {text}, about {:.0} s: ", seconds);
        let (name, mut recorder) = self.open(&format!("{:02}-again", self.measured))?;
        let gather = self.session.measure(&plan, &label, &mut recorder)?;
        std::thread::sleep(REST);
        Ok(Kept { name, gather })
    }

    /// What is left of the time for measuring again, where `planned` measurements take so many seconds each; ns.
    fn left_ns(&self, planned: usize, seconds: f64) -> u64 {
        // A search that needs more points than were planned has no larger budget for it.
        let planned = planned.min((self.args.points.0 * self.args.iterations.0) as usize) as f64;
        let half = || ns(planned * (seconds - OVERHEAD_S) / 2.0);
        let whole_ns = self.args.budget.map_or_else(half, |budget| budget.ns);
        let prolonged_ns: u64 = self.points.iter().map(|point| point.gather.prolonged_ns()).sum();
        // Where others take CPU time, everything takes longer.
        let planned_so_far_ns = ns(self.measured as f64 * seconds).saturating_sub(self.spent_ns);
        let late_ns = self.clock.now_ns().saturating_sub(planned_so_far_ns);
        whole_ns.saturating_sub((self.spent_ns + prolonged_ns).max(late_ns))
    }

    /// Measures the peak's load once more, with samples. It is not among the points, so that their numbers stay clean.
    fn profile(&mut self) -> Result<(), CommandError> {
        let Some(peak) = sweep_record(&self.log.facts, &self.points).peak else { return Ok(()) };
        if self.args.restart {
            self.session.restart()?;
        }
        let plan = self.plan(peak.load)?;
        self.measured += 1;
        let (_, mut recorder) = self.open(&format!("{:02}-profile", self.measured))?;
        let label = format!("profile, {}: ", self.load_text(peak.load));
        let (gather, sampled) = self.session.measure_profiled(&plan, &label, &mut recorder)?;
        let goodput_per_s = gather.goodput().value;
        let directory = &self.session.directory;
        let mut event = keep_profile(directory, sampled, goodput_per_s, &plan.target.url);
        if let SessionEvent::Profiled { profiled: Some(profile), .. } = &mut event {
            profile.load = Some(peak.load);
            profile.goodput_change = (peak.goodput_per_s > 0.0).then(|| goodput_per_s / peak.goodput_per_s - 1.0);
        }
        self.log.tell(event);
        keep_waits(directory, report::off_cpu::of_sweep(&sweep_record(&self.log.facts, &self.points)));
        self.session.check()
    }

    fn measure(&mut self, load: f64, iteration: usize, of: usize) -> Result<Kept, CommandError> {
        self.measured += 1;
        let plan = self.plan(load)?;
        let left_s = (of.saturating_sub(self.measured) + 1) as f64 * self.seconds_each(&plan);
        let label = format!("point {}/{of}, {}, about {left_s:.0} s for all: ", self.measured, self.load_text(load));
        let unit = if self.over_rate() { "rate" } else { "c" };
        let (name, mut recorder) = self.open(&format!("{:02}-{unit}{load:.0}-{}", self.measured, iteration + 1))?;
        self.session.budget_ns = self.left_ns(of, self.seconds_each(&plan));
        let gather = self.session.measure(&plan, &label, &mut recorder)?;
        Ok(Kept { name, gather })
    }

    fn plan(&self, load: f64) -> Result<Plan, CommandError> {
        let mut plan = plan(self.args, &self.session, load)?;
        // Another order of arrivals each time, so that a repeat is a repeat of the load and not of its accidents.
        plan.seed = plan.seed.wrapping_add(self.measured as u64);
        Ok(plan)
    }

    fn keep(&mut self, load: f64, Kept { name, gather }: Kept) {
        self.log.tell(SessionEvent::Point { directory: name, load });
        keep(&mut self.points, load, gather);
    }

    /// Opens the record of a load: its directory below that of the sweep, and what writes there.
    fn open(&self, name: &str) -> Result<(String, Recorder), CommandError> {
        let name = format!("points/{name}");
        let path = self.session.directory.join(&name);
        std::fs::create_dir_all(&path)
            .map_err(|error| CommandError::usage(format!("cannot create {}: {error}", path.display())))?;
        Ok((name, Recorder::open(&path)?))
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

    fn seconds_each(&self, plan: &Plan) -> f64 {
        let window_ns = plan.stop.duration_ns().unwrap_or(0);
        let warmup_ns = match plan.warmup {
            Warmup::Fixed { duration_ns } => duration_ns,
            Warmup::Auto => 2 * NS_PER_S,
        };
        (window_ns + warmup_ns) as f64 / NS_PER_S as f64 + OVERHEAD_S
    }
}

/// A load that was measured, and the directory of its events below that of the sweep.
struct Kept {
    name: String,
    gather: EvidenceBuilder,
}

fn plan(args: &SweepArgs, session: &Session, load: f64) -> Result<Plan, CommandError> {
    Ok(session.plan(load_of(args, load)?, settings::window(args.duration)?, settings::warmup(args.warmup)?))
}

fn ns(seconds: f64) -> u64 {
    (seconds * NS_PER_S as f64) as u64
}

fn outcome(gather: &EvidenceBuilder) -> Outcome {
    let evidence = gather.evidence();
    let seconds = evidence.measured_ns.max(1) as f64 / NS_PER_S as f64;
    let cohort = &evidence.cohort;
    Outcome {
        goodput_per_s: gather.goodput().value,
        offered_per_s: (!evidence.plan.load.is_closed()).then_some(cohort.planned as f64 / seconds),
        good_share: if cohort.planned == 0 { 0.0 } else { cohort.good as f64 / cohort.planned as f64 },
    }
}

fn load_of(args: &SweepArgs, load: f64) -> Result<Load, CommandError> {
    match args.over {
        OverArg::Connections => settings::load(Count(load as u64), None, args.arrivals),
        OverArg::Rate => settings::load(args.connections, Some(load), args.arrivals),
    }
}

fn search(args: &SweepArgs) -> Result<SweepSettings, CommandError> {
    let over_rate = args.over == OverArg::Rate;
    let (from, to) = if over_rate { (100, 1_000_000) } else { (1, 1024) };
    let from = settings::in_range("--from", args.from.unwrap_or(Count(from)), 1, LOAD_MAX)?;
    let to = settings::in_range("--to", args.to.unwrap_or_else(|| Count(to.max(from))), 1, LOAD_MAX)?;
    if from > to {
        return Err(CommandError::usage(format!("--from {from} is above --to {to}")));
    }
    Ok(SweepSettings {
        from: from as f64,
        to: to as f64,
        points: settings::in_range("--points", args.points, 1, POINTS_MAX)? as usize,
        iterations: settings::in_range("--iterations", args.iterations, 1, ITERATIONS_MAX)? as usize,
        over_rate,
        seed: args.generator.seed,
    })
}
