//! Reads the events of a measurement back and makes its record of them: also when its program, its machine or its disk has
//! died, with what was measured until then.

use super::{
    ComparedTrial, Facts, Measured, Point, SearchedCapacity, Trial, capacity_record, compare_record, keep, run_record,
    sweep_record, sweeps_record,
};
use crate::exit::CommandError;
use crate::output::printer;
use crate::profiling::{ENDED_BEFORE, Sampled, UNREADABLE, at_peak, keep as keep_profile, no_profile, samples};
use crate::store::experiment::{is_experiment, recovered};
use crate::store::stored::{Record, Stored, below, open_stored};
use crate::store::{EVENTS, HISTOGRAMS, POINTS, PROFILED, RESULT};
use evidence::{Events, EvidenceBuilder};
use model::{CompareLoad, Event, Load, Measurement, Redacted, SessionEvent, TrialMade};
use report::record::ARMS_FOLDER;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

/// The record of the measurement in `directory`, made of its events.
///
/// # Errors
/// When nothing was measured, or what there is cannot be read.
pub(crate) fn record(directory: &Path) -> Result<Record, CommandError> {
    if is_experiment(directory) {
        return recovered(directory).map(|record| Record::Experiment(Box::new(record)));
    }
    if directory.join(ARMS_FOLDER).is_dir() { arms(directory) } else { one(directory) }
}

/// That of one run, sweep, search for a capacity, or comparison.
fn one(directory: &Path) -> Result<Record, CommandError> {
    let mut replay = Replay::new(directory);
    read(directory, |event| replay.apply(event))?;
    if replay.points.is_empty() && replay.trials.is_empty() && replay.compared.is_empty() {
        replay.first_load()?;
    }
    replay.profile()?;
    replay.record()
}

/// Sweeps of several servers: those that have ended as they are, the last of them from its events.
fn arms(directory: &Path) -> Result<Record, CommandError> {
    let wrong = |error| CommandError::usage(format!("{}: {error}", directory.display()));
    let entries = std::fs::read_dir(directory.join(ARMS_FOLDER)).map_err(wrong)?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort_by_key(|path| number(path));
    let mut planned = 0;
    read(directory, |event| {
        if let Event::Session(SessionEvent::Arms { planned: told }) = event {
            planned = told;
        }
        Ok(())
    })?;
    let mut arms = Vec::new();
    for path in paths {
        // None of them has arms of its own, which in a directory from elsewhere could be links to itself.
        let found =
            if path.join(RESULT).exists() { Stored::read(&path).map(|stored| stored.record) } else { one(&path) };
        // An arm of which nothing was measured has no place in the result.
        if let Ok(Record::Sweep(sweep)) = found {
            arms.push((sweep.arm.clone().unwrap_or_default(), *sweep));
        }
    }
    if arms.is_empty() {
        return Err(nothing(directory));
    }
    Ok(Record::Sweeps(Box::new(sweeps_record(arms, planned))))
}

/// Its place in the order measured: `2-nginx`.
fn number(path: &Path) -> u64 {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.split('-').next().and_then(|number| number.parse().ok()).unwrap_or(u64::MAX)
}

fn nothing(directory: &Path) -> CommandError {
    CommandError::usage(format!("{}: nothing was measured that could be recovered", directory.display()))
}

/// What the events of a directory have said so far.
struct Replay<'a> {
    directory: &'a Path,
    facts: Option<Facts>,
    /// Told before the plan.
    probed: Option<Event>,
    builder: Option<EvidenceBuilder>,
    points: Vec<Point>,
    trials: Vec<Trial>,
    compared: Vec<ComparedTrial>,
    /// A search within a comparison, of which the end has not been told.
    searching: Option<SearchedCapacity>,
}

impl<'a> Replay<'a> {
    const fn new(directory: &'a Path) -> Self {
        Self {
            directory,
            facts: None,
            probed: None,
            builder: None,
            points: Vec::new(),
            trials: Vec::new(),
            compared: Vec::new(),
            searching: None,
        }
    }

    fn apply(&mut self, event: Event) -> Result<(), CommandError> {
        match (&event, &mut self.builder) {
            (Event::Session(SessionEvent::Begun(begun)), _) => self.facts = Some(Facts::new((**begun).clone())),
            (Event::Session(SessionEvent::Point { directory, load }), _) => {
                if let Some(builder) = self.load_below(directory)? {
                    keep(&mut self.points, *load, builder);
                }
            }
            (Event::Session(SessionEvent::Trial { directory, trial }), _) => {
                if let Some(builder) = self.load_below(directory)? {
                    let trial = Trial { made: *trial, builder };
                    self.searching.as_mut().map_or(&mut self.trials, |searching| &mut searching.trials).push(trial);
                }
            }
            (Event::Session(SessionEvent::Compared { directory, trial }), _) => {
                let measured = match (trial.load, self.searching.take()) {
                    (CompareLoad::Capacity, searched) => searched.map(Measured::Search),
                    _ => self.load_below(directory)?.map(|builder| Measured::Load(Box::new(builder))),
                };
                self.compared.extend(measured.map(|measured| ComparedTrial { made: *trial, measured }));
            }
            (Event::Session(SessionEvent::Search { settings, .. }), _)
                if self.facts.as_ref().is_some_and(Facts::is_comparison) =>
            {
                self.searching = Some(SearchedCapacity { settings: *settings, trials: Vec::new() });
            }
            (Event::Session(event), _) => self.facts.iter_mut().for_each(|facts| facts.apply(event)),
            (Event::Probed(_), None) => self.probed = Some(event),
            (Event::Started { plan, .. }, None) => {
                let builder = self.builder.insert(EvidenceBuilder::new((**plan).clone()));
                self.probed.iter().for_each(|probed| builder.apply(probed));
            }
            (_, Some(builder)) => builder.apply(&event),
            (_, None) => {}
        }
        Ok(())
    }

    /// A load of a directory of its own; none if it had not begun.
    fn load_below(&self, name: &str) -> Result<Option<EvidenceBuilder>, CommandError> {
        let wrong = || CommandError::usage(format!("{}: its events name {name:?}", self.directory.display()));
        load_in(&below(self.directory, name).ok_or_else(wrong)?)
    }

    /// Takes in the load that a sweep or a search was ended in before another was complete, as ^C would.
    fn first_load(&mut self) -> Result<(), CommandError> {
        let is_capacity = self.facts.as_ref().is_some_and(Facts::is_capacity);
        let entries = std::fs::read_dir(self.directory.join(POINTS)).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort_by_key(|path| number(path));
        // The first of a search is the closed loop that it begins with.
        let Some(first) = paths.get(usize::from(is_capacity)) else { return Ok(()) };
        if !first.join(EVENTS).exists() {
            return Ok(());
        }
        let Some(builder) = load_in(first)? else { return Ok(()) };
        let plan = builder.evidence().plan;
        let load = match plan.load {
            Load::Closed { connections } => f64::from(connections),
            Load::Open { rate_per_s, .. } => rate_per_s,
        };
        if is_capacity {
            let window_ns = plan.stop.duration_ns().unwrap_or(0);
            let made = TrialMade { load_per_s: load, window_ns, ..TrialMade::default() };
            self.trials.push(Trial { made, builder });
        } else {
            keep(&mut self.points, load, builder);
        }
        Ok(())
    }

    /// Takes in the profile of a load that its program was killed in, or why there is none.
    fn profile(&mut self) -> Result<(), CommandError> {
        let Some(facts) = self.facts.as_ref().filter(|facts| !facts.is_profiled()) else { return Ok(()) };
        let sampled = if samples::are_in(self.directory) { self.sampled(facts)? } else { None };
        let event = sampled.or_else(|| facts.wants_profile().then(|| no_profile(ENDED_BEFORE)));
        self.facts.iter_mut().for_each(|facts| event.iter().for_each(|event| facts.apply(event)));
        Ok(())
    }

    /// What comes of the samples that were written down; none if there are none, or of no load. If they cannot be read that
    /// is told, and the rest of the result is made.
    fn sampled(&self, facts: &Facts) -> Result<Option<SessionEvent>, CommandError> {
        let of_sweep = matches!(facts.begun.measurement, Measurement::Sweep { .. });
        let profiled = if of_sweep { self.profiled_load()? } else { None };
        let Some(builder) = profiled.as_ref().or(self.builder.as_ref()) else { return Ok(None) };
        let profile = match samples::recover(self.directory) {
            Ok(Some((_, profile))) => Box::new(profile),
            Ok(None) => return Ok(None),
            Err(why) => {
                printer::note(&format!("warning: no profile: {why}"));
                return Ok(Some(no_profile(UNREADABLE)));
            }
        };
        let url = Redacted::url(&builder.evidence().plan.target.url);
        // Of a load that was killed in its first second only samples are known.
        let goodput_per_s = Some(builder.goodput().value).filter(|per_s| *per_s > 0.0);
        let event = keep_profile(self.directory, Sampled::Profile(profile, None), goodput_per_s, &url);
        let peak = (of_sweep && !self.points.is_empty()).then(|| sweep_record(facts, &self.points).peak).flatten();
        Ok(Some(peak.iter().fold(event, at_peak)))
    }

    /// The load of a sweep that was measured with samples.
    fn profiled_load(&self) -> Result<Option<EvidenceBuilder>, CommandError> {
        let entries = std::fs::read_dir(self.directory.join(POINTS)).into_iter().flatten().flatten();
        let mut paths = entries.map(|entry| entry.path());
        let is_profiled = |path: &PathBuf| path.to_string_lossy().ends_with(PROFILED) && path.join(EVENTS).exists();
        paths.find(is_profiled).map_or(Ok(None), |path| load_in(&path))
    }

    fn record(self) -> Result<Record, CommandError> {
        let facts = self.facts.ok_or_else(|| {
            CommandError::usage(format!("{}: its events do not begin with a measurement", self.directory.display()))
        })?;
        match (&facts.begun.measurement, self.builder) {
            (Measurement::Run { .. }, Some(builder)) => Ok(Record::Run(Box::new(run_record(&facts, &builder)))),
            (Measurement::Sweep { .. }, _) if !self.points.is_empty() => {
                Ok(Record::Sweep(Box::new(sweep_record(&facts, &self.points))))
            }
            (Measurement::Capacity { .. }, _) if !self.trials.is_empty() => {
                let wrong = |why| CommandError::usage(format!("{}: {why}", self.directory.display()));
                Ok(Record::Capacity(Box::new(capacity_record(&facts, &self.trials).map_err(wrong)?)))
            }
            (Measurement::Compare { .. }, _) if !self.compared.is_empty() => {
                let wrong = |why| CommandError::usage(format!("{}: {why}", self.directory.display()));
                Ok(Record::Compare(Box::new(compare_record(&facts, &self.compared).map_err(wrong)?)))
            }
            _ => Err(nothing(self.directory)),
        }
    }
}

/// What the events of a directory say of one load; none if it had not begun.
fn load_in(directory: &Path) -> Result<Option<EvidenceBuilder>, CommandError> {
    let mut replay = Replay::new(directory);
    read(directory, |event| replay.apply(event))?;
    Ok(replay.builder)
}

/// Hands over the events of a directory in order, ticks with their histograms, up to where the log breaks off.
fn read(directory: &Path, mut take: impl FnMut(Event) -> Result<(), CommandError>) -> Result<(), CommandError> {
    let path = directory.join(EVENTS);
    let wrong = |why: String| CommandError::usage(format!("{}: {why}", path.display()));
    let log = open_stored(&path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    for event in Events::new(BufReader::new(log), histograms(directory)) {
        take(event.map_err(|error| wrong(error.to_string()))?)?;
    }
    Ok(())
}

/// The histogram log of a directory; one that cannot be read has broken off before its begin.
fn histograms(directory: &Path) -> Box<dyn BufRead> {
    match open_stored(&directory.join(HISTOGRAMS)) {
        Ok(file) => Box::new(BufReader::new(file)),
        Err(_) => Box::new(io::empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiling::samples::tests::{first, second, written};
    use crate::session::sinks::Sink;
    use crate::store::Recorder;
    use crate::store::stored::tests::pipe;
    use model::{Address, Begun, NS_PER_S, Phase, Plan, Stop, SweepRecord, Target, Tick};
    use std::os::unix::fs::symlink;

    fn tell(recorder: &mut Recorder, event: Event) {
        recorder.take(&Redacted::new(event));
    }

    /// Writes down a load on as many connections as it has thousands of good responses in a second.
    fn load(sweep: &Path, name: &str, good: u64) -> SessionEvent {
        let connections = u32::try_from(good / 1000).unwrap();
        let target = Target::at(Address::Tcp("127.0.0.1:1".parse().unwrap()));
        let plan = Plan::new(target, Load::Closed { connections }, Stop::Duration { duration_ns: NS_PER_S });
        let mut tick = Tick::empty(Phase::Measure, 0, NS_PER_S);
        (tick.flow.sent, tick.flow.completed, tick.flow.good) = (good, good, good);
        (tick.cohort.planned, tick.cohort.sent, tick.cohort.completed, tick.cohort.good) = (good, good, good, good);
        for _ in 0..good {
            tick.histograms.response.record(NS_PER_S / 1000);
            tick.histograms.service.record(NS_PER_S / 1000);
        }
        let (directory, mut recorder) = Recorder::of_load(sweep, name).unwrap();
        tell(&mut recorder, Event::Started { started: String::new(), plan: Box::new(plan) });
        tell(&mut recorder, Event::Warmed { at_ns: 0, settled: true });
        tell(&mut recorder, Event::Tick(Box::new(tick)));
        SessionEvent::Point { directory, load: f64::from(connections) }
    }

    /// Writes down a sweep of two loads, whose program was killed when they had ended.
    fn sweep(directory: &Path, wants_profile: bool) {
        let measurement = Measurement::Sweep { limit: 8.0, over_rate: false, wants_profile, arm: None };
        let (environment, limits) = Default::default();
        let begun = SessionEvent::Begun(Box::new(Begun { started: String::new(), measurement, environment, limits }));
        let mut recorder = Recorder::without_histograms(directory).unwrap();
        let loads = [load(directory, "01-c1-1", 1000), load(directory, "02-c2-1", 2000)];
        [begun].into_iter().chain(loads).for_each(|event| tell(&mut recorder, Event::Session(event)));
    }

    #[track_caller]
    fn recovered(directory: &Path) -> SweepRecord {
        match record(directory) {
            Ok(Record::Sweep(sweep)) => *sweep,
            Ok(_) => panic!("it is no sweep"),
            Err(error) => panic!("{}", error.message),
        }
    }

    #[test]
    fn a_profiled_sweep_that_was_killed_has_the_profile_of_its_peak() {
        let directory = tempfile::tempdir().unwrap();
        sweep(directory.path(), true);
        let _ = load(directory.path(), "03-profile", 1900);
        written(directory.path(), first(), [second(NS_PER_S / 2)]);
        let record = recovered(directory.path());
        assert!(record.interrupted && record.profile_unavailable.is_none());
        let loads: Vec<f64> = record.curve.iter().map(|point| point.load).collect();
        assert_eq!(loads, [1.0, 2.0], "the profiled load is none of the points");
        let profile = record.profile.expect("its samples are there");
        assert_eq!((profile.samples, profile.sampled_ns, profile.load), (5, NS_PER_S / 2, Some(2.0)));
        let change = profile.goodput_change.expect("it is the load of the peak");
        assert!((change + 0.05).abs() < 1e-9 && profile.goodput_per_s == Some(1900.0), "{change}");
        let folded = std::fs::read_to_string(directory.path().join(crate::profiling::FOLDED)).unwrap();
        assert_eq!(folded, "nginx;[unknown] 5\n");
    }

    /// It was told as a goodput of 0/s, 100 % less than the peak.
    #[test]
    fn a_profiled_load_that_was_killed_in_its_first_second_has_no_goodput() {
        let directory = tempfile::tempdir().unwrap();
        sweep(directory.path(), true);
        let _ = load(directory.path(), "03-profile", 0);
        written(directory.path(), first(), [second(NS_PER_S / 2)]);
        let profile = recovered(directory.path()).profile.expect("its samples are there");
        assert_eq!((profile.samples, profile.goodput_per_s, profile.goodput_change), (5, None, None));
    }

    #[test]
    fn a_sweep_that_was_killed_says_why_it_has_no_profile() {
        let why = |make: &dyn Fn(&Path), wants_profile| {
            let directory = tempfile::tempdir().unwrap();
            sweep(directory.path(), wants_profile);
            make(directory.path());
            let record = recovered(directory.path());
            assert!(record.profile.is_none() && record.points.len() == 2);
            record.profile_unavailable
        };
        assert_eq!(why(&|_| {}, false), None, "none was asked for");
        assert_eq!(why(&|_| {}, true).as_deref(), Some(ENDED_BEFORE));
        // The load had not begun, and nothing had been sampled.
        assert_eq!(why(&|sweep| written(sweep, first(), []), true).as_deref(), Some(ENDED_BEFORE));
        let begun = |sweep: &Path| {
            let _ = load(sweep, "03-profile", 2000);
            written(sweep, first(), []);
        };
        assert_eq!(why(&begun, true).as_deref(), Some(ENDED_BEFORE));
        let torn = |sweep: &Path| {
            let _ = load(sweep, "03-profile", 2000);
            std::fs::write(sweep.join(samples::SAMPLES), "{\"format\":").unwrap();
        };
        assert_eq!(why(&torn, true).as_deref(), Some(UNREADABLE));
    }

    #[test]
    fn samples_of_a_sweep_without_a_load_are_nothing_to_recover() {
        let directory = tempfile::tempdir().unwrap();
        sweep(directory.path(), true);
        let events = directory.path().join(EVENTS);
        let begun = std::fs::read_to_string(&events).unwrap().lines().next().unwrap().to_owned();
        std::fs::write(&events, begun + "\n").unwrap();
        std::fs::remove_dir_all(directory.path().join(POINTS)).unwrap();
        written(directory.path(), first(), [second(1)]);
        assert!(refused(directory.path()).contains("nothing was measured"));
    }

    #[track_caller]
    fn refused(directory: &Path) -> String {
        let Err(error) = record(directory) else { panic!("there is nothing to recover") };
        error.message
    }

    #[test]
    fn events_without_an_end_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        symlink("/dev/zero", directory.path().join(EVENTS)).unwrap();
        let message = refused(directory.path());
        assert!(message.contains("events.jsonl: cannot be read: it is no file"), "{message}");
    }

    #[test]
    fn a_pipe_among_stored_files_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let (events, log) = (folder.path().join("events"), folder.path().join("histograms"));
        for (directory, name) in [(&events, EVENTS), (&log, HISTOGRAMS)] {
            std::fs::create_dir(directory).unwrap();
            pipe(&directory.join(name));
        }
        assert!(refused(&events).contains("it is no file"));
        std::fs::write(log.join(EVENTS), "").unwrap();
        assert!(refused(&log).contains("do not begin with a measurement"));
    }

    #[test]
    fn events_name_nothing_outside_their_directory() {
        let directory = tempfile::tempdir().unwrap();
        for below in ["../../etc", "/etc", "points/../../x"] {
            let trial = TrialMade { load_per_s: 1.0, ..TrialMade::default() };
            let point = SessionEvent::Point { directory: below.into(), load: 1.0 };
            for event in [point, SessionEvent::Trial { directory: below.into(), trial }] {
                let line = serde_json::to_string(&Event::Session(event)).unwrap();
                std::fs::write(directory.path().join(EVENTS), line + "\n").unwrap();
                assert!(refused(directory.path()).contains(below), "{below}");
            }
        }
    }

    #[test]
    fn arms_that_lead_back_to_themselves_come_to_an_end() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join(ARMS_FOLDER)).unwrap();
        std::fs::write(directory.path().join(EVENTS), "").unwrap();
        for name in ["1-a", "2-b"] {
            symlink(directory.path(), directory.path().join(ARMS_FOLDER).join(name)).unwrap();
        }
        assert!(refused(directory.path()).contains("nothing was measured"));
    }
}
