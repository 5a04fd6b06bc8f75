//! Reads the events of a measurement back and makes its record of them: also when its program, its machine or its disk has
//! died, with what was measured until then.

use crate::exit::CommandError;
use crate::output::printer;
use crate::profiling::{ENDED_BEFORE, Sampled, UNREADABLE, at_peak, keep as keep_profile, no_profile, samples};
use crate::result::{LoadState, Measurement, NoRecord, sweeps_record};
use crate::store::experiment::{is_experiment, recovered};
use crate::store::stored::{Record, Stored, below};
use crate::store::{EVENTS, HISTOGRAMS, POINTS, PROFILED, RESULT};
use evidence::Events;
use input::open_file;
use model::{CompareLoad, Event, MeasurementKind, Redacted, SessionEvent};
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
    let mut replay = Replay { directory, measurement: None };
    read(directory, |event| replay.apply(&event))?;
    let Some(mut measurement) = replay.measurement else {
        let directory = directory.display();
        return Err(CommandError::usage(format!("{directory}: its events do not begin with a measurement")));
    };
    place_first_load(directory, &mut measurement)?;
    if let Some(event) = profile(directory, &measurement)? {
        measurement.apply(None, &Event::Session(event));
    }
    measurement.record().map_err(|why| match why {
        NoRecord::NothingMeasured => nothing(directory),
        NoRecord::Wrong(why) => CommandError::usage(format!("{}: {why}", directory.display())),
    })
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

/// Reads the events of a directory back into a measurement.
struct Replay<'a> {
    directory: &'a Path,
    /// `None` until its events have begun.
    measurement: Option<Measurement>,
}

impl Replay<'_> {
    fn apply(&mut self, event: &Event) -> Result<(), CommandError> {
        match (event, &mut self.measurement) {
            (Event::Session(SessionEvent::Begun(begun)), measurement @ None) => {
                *measurement = Some(Measurement::new((**begun).clone()));
            }
            (event, Some(measurement)) => {
                // The events of a load come before the one that gives it a place.
                if let Some(load) = placed_load(event) {
                    measurement.add_load(load.to_owned(), load_below(self.directory, load)?);
                }
                measurement.apply(None, event);
            }
            (event, None) => placed_load(event).map_or(Ok(()), |load| place_below(self.directory, load).map(drop))?,
        }
        Ok(())
    }
}

/// The directory of the load that gets its place in the result by `event`.
fn placed_load(event: &Event) -> Option<&str> {
    let Event::Session(event) = event else { return None };
    match event {
        SessionEvent::Point { directory, .. } | SessionEvent::Trial { directory, .. } => Some(directory),
        // That of a search is no load.
        SessionEvent::Compared { directory, trial } => (trial.load != CompareLoad::Capacity).then_some(directory),
        _ => None,
    }
}

/// A load of a directory of its own.
fn load_below(directory: &Path, name: &str) -> Result<LoadState, CommandError> {
    load_in(&place_below(directory, name)?)
}

fn place_below(directory: &Path, name: &str) -> Result<PathBuf, CommandError> {
    let wrong = || CommandError::usage(format!("{}: its events name {name:?}", directory.display()));
    below(directory, name).ok_or_else(wrong)
}

/// Takes in the load that a sweep or a search was ended in before another was complete, as ^C would.
fn place_first_load(directory: &Path, measurement: &mut Measurement) -> Result<(), CommandError> {
    if measurement.has_loads() {
        return Ok(());
    }
    let is_capacity = matches!(measurement.facts().kind(), MeasurementKind::Capacity { .. });
    let mut paths = loads_in(directory);
    paths.sort_by_key(|path| number(path));
    // The first of a search is the closed loop that it begins with.
    if let Some(first) = paths.get(usize::from(is_capacity)).filter(|first| first.join(EVENTS).exists()) {
        let name = first.display().to_string();
        measurement.add_load(name.clone(), load_in(first)?);
        measurement.place_load(&name);
    }
    Ok(())
}

/// The directories of the loads below that of a measurement.
fn loads_in(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory.join(POINTS)).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// The profile of a load that its program was killed in, or why there is none; `None` where that is known already.
fn profile(directory: &Path, measurement: &Measurement) -> Result<Option<SessionEvent>, CommandError> {
    let facts = measurement.facts();
    if facts.is_profiled() {
        return Ok(None);
    }
    let sampled = if samples::are_in(directory) { sampled(directory, measurement)? } else { None };
    Ok(sampled.or_else(|| facts.wants_profile().then(|| no_profile(ENDED_BEFORE))))
}

/// What comes of the samples that were written down; none if there are none, or of no load. If they cannot be read that
/// is told, and the rest of the result is made.
fn sampled(directory: &Path, measurement: &Measurement) -> Result<Option<SessionEvent>, CommandError> {
    let of_sweep = matches!(measurement.facts().kind(), MeasurementKind::Sweep { .. });
    let profiled = if of_sweep { profiled_load(directory)? } else { None };
    let Some(builder) = profiled.as_ref().and_then(LoadState::evidence).or_else(|| measurement.only_load()) else {
        return Ok(None);
    };
    let profile = match samples::recover(directory) {
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
    let event = keep_profile(directory, Sampled::Profile(profile, None), goodput_per_s, &url);
    let peak = (of_sweep && measurement.has_loads()).then(|| measurement.sweep_record().peak).flatten();
    Ok(Some(peak.iter().fold(event, at_peak)))
}

/// The load of a sweep that was measured with samples.
fn profiled_load(directory: &Path) -> Result<Option<LoadState>, CommandError> {
    let is_profiled = |path: &PathBuf| path.to_string_lossy().ends_with(PROFILED) && path.join(EVENTS).exists();
    loads_in(directory).iter().find(|path| is_profiled(path)).map(|path| load_in(path)).transpose()
}

/// What the events of a directory say of one load.
fn load_in(directory: &Path) -> Result<LoadState, CommandError> {
    let mut load = LoadState::default();
    read(directory, |event| {
        load.apply(&event);
        Ok(())
    })?;
    Ok(load)
}

/// Hands over the events of a directory in order, ticks with their histograms, up to where the log breaks off.
fn read(directory: &Path, mut take: impl FnMut(Event) -> Result<(), CommandError>) -> Result<(), CommandError> {
    let path = directory.join(EVENTS);
    let wrong = |why: String| CommandError::usage(format!("{}: {why}", path.display()));
    let log = open_file(&path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    for event in Events::new(BufReader::new(log), histograms(directory)) {
        take(event.map_err(|error| wrong(error.to_string()))?)?;
    }
    Ok(())
}

/// The histogram log of a directory; one that cannot be read has broken off before its begin.
fn histograms(directory: &Path) -> Box<dyn BufRead> {
    match open_file(&directory.join(HISTOGRAMS)) {
        Ok(file) => Box::new(BufReader::new(file)),
        Err(_) => Box::new(io::empty()),
    }
}

#[cfg(test)]
mod cuts;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outlet::Sink;
    use crate::profiling::samples::tests::{first, second, written};
    use crate::store::Recorder;
    use crate::store::stored::tests::pipe;
    use model::{Address, Begun, Load, NS_PER_S, Phase, Plan, Stop, SweepRecord, Target, Tick, TrialMade};
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
        (tick.cohort.counts.planned, tick.cohort.counts.sent, tick.cohort.counts.completed, tick.cohort.counts.good) =
            (good, good, good, good);
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
        let measurement = MeasurementKind::Sweep { limit: 8.0, over_rate: false, wants_profile, arm: None };
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
