//! Reads the events of a measurement back and makes its record of them: also when its program, its machine or its disk has
//! died, with what was measured until then.

use super::{Facts, Point, keep, run_record, sweep_record};
use crate::exit::CommandError;
use crate::store::stored::{Record, Stored};
use crate::store::{EVENTS, HISTOGRAMS, RESULT};
use evidence::EvidenceBuilder;
use evidence::interval_log::Interval;
use model::{Event, Measurement, SessionEvent, Tick};
use report::record::{ARMS_FOLDER, sweeps_record};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::iter::Peekable;
use std::path::{Component, Path, PathBuf};

/// The record of the measurement in `directory`, made of its events.
///
/// # Errors
/// When nothing was measured, or what there is cannot be read.
pub(crate) fn record(directory: &Path) -> Result<Record, CommandError> {
    if directory.join(ARMS_FOLDER).is_dir() {
        return arms(directory);
    }
    let mut replay = Replay::new(directory);
    read(directory, |event| replay.apply(event))?;
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
        let found =
            if path.join(RESULT).exists() { Stored::read(&path).map(|stored| stored.record) } else { record(&path) };
        // An arm of which nothing was measured has no place in the result.
        if let Ok(Record::Sweep(sweep)) = found {
            arms.push((sweep.arm.clone().unwrap_or_default(), *sweep));
        }
    }
    if arms.is_empty() {
        return Err(nothing(directory));
    }
    let has_ended = arms.len() as u64 >= planned;
    let mut record = sweeps_record(arms);
    record.interrupted |= !has_ended;
    Ok(Record::Sweeps(Box::new(record)))
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
}

impl<'a> Replay<'a> {
    const fn new(directory: &'a Path) -> Self {
        Self { directory, facts: None, probed: None, builder: None, points: Vec::new() }
    }

    fn apply(&mut self, event: Event) -> Result<(), CommandError> {
        match (&event, &mut self.builder) {
            (Event::Session(SessionEvent::Begun(begun)), _) => self.facts = Some(Facts::new((**begun).clone())),
            (Event::Session(SessionEvent::Point { directory, load }), _) => self.point(directory, *load)?,
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

    /// Takes in a load of a directory of its own.
    fn point(&mut self, below: &str, load: f64) -> Result<(), CommandError> {
        // A directory may come from anywhere: nothing outside it is read.
        if !Path::new(below).components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(CommandError::usage(format!("{}: its events name {below:?}", self.directory.display())));
        }
        let directory = self.directory.join(below);
        let mut replay = Replay::new(&directory);
        read(&directory, |event| replay.apply(event))?;
        if let Some(builder) = replay.builder {
            keep(&mut self.points, load, builder);
        }
        Ok(())
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
            _ => Err(nothing(self.directory)),
        }
    }
}

/// Hands over the events of a directory in order, ticks with their histograms, up to where the log breaks off.
fn read(directory: &Path, mut take: impl FnMut(Event) -> Result<(), CommandError>) -> Result<(), CommandError> {
    let path = directory.join(EVENTS);
    let wrong = |why: String| CommandError::usage(format!("{}: {why}", path.display()));
    let file = File::open(&path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let mut intervals = intervals(directory).peekable();
    let mut reader = BufReader::new(file);
    let mut line = String::new();
    for number in 1.. {
        line.clear();
        let read = reader.read_line(&mut line).map_err(|error| wrong(format!("cannot be read: {error}")))?;
        // A line that does not end is the last thing that was written.
        if read == 0 || !line.ends_with('\n') {
            return Ok(());
        }
        let mut event: Event = serde_json::from_str(&line).map_err(|error| wrong(format!("line {number}: {error}")))?;
        if let Event::Tick(tick) = &mut event
            && !fill(tick, &mut intervals)
        {
            return Ok(());
        }
        take(event)?;
    }
    Ok(())
}

/// The intervals of a directory's histogram log, up to where it breaks off.
fn intervals(directory: &Path) -> impl Iterator<Item = Interval> {
    let lines = File::open(directory.join(HISTOGRAMS)).map(|file| BufReader::new(file).lines()).into_iter().flatten();
    lines.map_while(Result::ok).filter_map(|line| Interval::parse(&line).transpose()).map_while(Result::ok)
}

/// Gives a tick its histograms, which are the next in the log; false when they have not been written any more.
fn fill(tick: &mut Tick, intervals: &mut Peekable<impl Iterator<Item = Interval>>) -> bool {
    // Of ticks shorter than the log's milliseconds the next may have the same times.
    let mut seen = BTreeSet::new();
    let (from_ns, to_ns) = (tick.from_ns, tick.to_ns);
    while let Some(interval) = intervals.next_if(|next| next.is_of(from_ns, to_ns) && !seen.contains(&next.tag)) {
        if let Some(histogram) = interval.place(&mut tick.histograms, &mut tick.set_aside) {
            *histogram = interval.histogram;
        }
        seen.insert(interval.tag);
    }
    tick.cohort.completed == 0 || !tick.histograms.response.is_empty()
}
