//! Everything that the events of one result have said so far, and its record as of now.
//!
//! A state machine without files, clock or terminal: whoever measures, recovers or shows a result feeds it the same events and
//! reads the same record, so that a result can be made again from its events.

use super::{
    ComparedTrial, Facts, Measured, Point, SearchedCapacity, Trial, capacity_record, compare_outcome, compare_record,
    keep_point, run_record, sweep_record,
};
use crate::coordinate::compare::Outcome;
use evidence::EvidenceBuilder;
use model::{
    Begun, CapacityRecord, CompareLoad, CompareRecord, CompareTrialMade, Event, Histograms, Load, MeasurementKind,
    RunRecord, SentInAll, SessionEvent, SweepRecord, TrialMade,
};
use report::stored::Record;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Name of the load of a run, whose events stand among those of the measurement itself.
const ONLY_LOAD: &str = "";

/// Everything that is known of one result.
#[derive(Clone)]
pub(crate) struct Measurement {
    facts: Facts,
    /// Loads that have no place in the result, or not yet, by the directory of their events below that of the result.
    loads: BTreeMap<String, LoadState>,
    /// Loads of a sweep, in the order first measured.
    points: Vec<Point>,
    /// Trials of a search for a capacity, in the order made.
    trials: Vec<Trial>,
    /// Trials of a comparison, in the order made.
    compared: Vec<ComparedTrial>,
    /// A search within a comparison, while its end has not been told.
    searching: Option<SearchedCapacity>,
}

/// Why there is no record of a measurement.
#[derive(Debug, PartialEq)]
pub(crate) enum NoRecord {
    /// No load has a place in it yet.
    NothingMeasured,
    /// Its events contradict each other; in one line.
    Wrong(String),
}

impl Measurement {
    pub(crate) const fn new(begun: Begun) -> Self {
        Self {
            facts: Facts::new(begun),
            loads: BTreeMap::new(),
            points: Vec::new(),
            trials: Vec::new(),
            compared: Vec::new(),
            searching: None,
        }
    }

    /// Takes in an event of the load whose directory is `load`. `None` stands for the measurement itself, and for the only load
    /// of a run.
    pub(crate) fn apply(&mut self, load: Option<&str>, event: &Event) {
        match event {
            Event::Session(event) => self.apply_to_result(event),
            event => self.loads.entry(load.unwrap_or(ONLY_LOAD).to_owned()).or_default().apply(event),
        }
    }

    fn apply_to_result(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::Point { directory, load } => {
                if let Some(builder) = self.take_load(directory) {
                    keep_point(&mut self.points, *load, builder);
                }
            }
            SessionEvent::Trial { directory, trial } => {
                if let Some(builder) = self.take_load(directory) {
                    let trial = Trial { made: *trial, builder };
                    self.searching.as_mut().map_or(&mut self.trials, |searching| &mut searching.trials).push(trial);
                }
            }
            SessionEvent::Compared { directory, trial } => {
                let measured = match (trial.load, self.searching.take()) {
                    (CompareLoad::Capacity, searched) => searched.map(Measured::Search),
                    _ => self.take_load(directory).map(|builder| Measured::Load(Box::new(builder))),
                };
                self.compared.extend(measured.map(|measured| ComparedTrial { made: *trial, measured }));
            }
            SessionEvent::Search { settings, .. } if self.facts.is_comparison() => {
                self.searching = Some(SearchedCapacity { settings: *settings, trials: Vec::new() });
            }
            event => self.facts.apply(event),
        }
    }

    /// What is known beside the loads.
    pub(crate) const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The load whose events are in `directory`, while it has no place in the result. `None` if it has not started.
    pub(crate) fn load(&self, directory: &str) -> Option<&EvidenceBuilder> {
        self.loads.get(directory)?.evidence()
    }

    /// The load of a run.
    pub(crate) fn only_load(&self) -> Option<&EvidenceBuilder> {
        self.load(ONLY_LOAD)
    }

    /// The load of a run, to be told the events of it.
    pub(crate) fn only_load_mut(&mut self) -> &mut LoadState {
        self.loads.entry(ONLY_LOAD.to_owned()).or_default()
    }

    /// Takes in a load that was told its events apart from the measurement.
    pub(crate) fn add_load(&mut self, directory: String, load: LoadState) {
        self.loads.insert(directory, load);
    }

    fn take_load(&mut self, directory: &str) -> Option<EvidenceBuilder> {
        self.loads.remove(directory)?.builder
    }

    /// Forgets a load that gets no place in the result; says what it has sent, if that is known.
    pub(crate) fn forget_load(&mut self, directory: &str) -> Option<SentInAll> {
        self.take_load(directory)?.sent_in_all()
    }

    /// Forgets a search within a comparison that gets no place in the result; says what each of its trials has sent, as far as
    /// that is known.
    pub(crate) fn forget_search(&mut self) -> Vec<SentInAll> {
        let trials = self.searching.take().map_or_else(Vec::new, |searched| searched.trials);
        trials.iter().filter_map(|trial| trial.builder.sent_in_all()).collect()
    }

    /// What a trial of a comparison says that has no place in it yet: the load in `directory`, or the search that has just ended.
    pub(crate) fn compare_outcome(&self, directory: &str, made: &CompareTrialMade) -> Outcome {
        let load = self.load(directory).filter(|_| made.load != CompareLoad::Capacity);
        compare_outcome(&self.facts, made, load, self.searching.as_ref())
    }

    /// True if a load has a place in the result.
    pub(crate) fn has_loads(&self) -> bool {
        let is_run = matches!(self.facts.kind(), MeasurementKind::Run { .. });
        let of_run = self.only_load().filter(|_| is_run);
        of_run.is_some() || !(self.points.is_empty() && self.trials.is_empty() && self.compared.is_empty())
    }

    /// Gives the load in `directory` the place that it would have had, had its measurement been interrupted and not been killed.
    pub(crate) fn place_load(&mut self, directory: &str) {
        let Some(builder) = self.take_load(directory) else { return };
        let plan = builder.evidence().plan;
        let load = match plan.load {
            Load::Closed { connections } => f64::from(connections),
            Load::Open { rate_per_s, .. } => rate_per_s,
        };
        match self.facts.kind() {
            MeasurementKind::Capacity { .. } => {
                let window_ns = plan.stop.duration_ns().unwrap_or(0);
                let made = TrialMade { load_per_s: load, window_ns, ..TrialMade::default() };
                self.trials.push(Trial { made, builder });
            }
            MeasurementKind::Sweep { .. } => keep_point(&mut self.points, load, builder),
            MeasurementKind::Run { .. } | MeasurementKind::Compare { .. } => {}
        }
    }

    /// The record as of now.
    ///
    /// # Errors
    /// When nothing was measured that has a place in it, or its events contradict each other.
    pub(crate) fn record(&self) -> Result<Record, NoRecord> {
        if !self.has_loads() {
            return Err(NoRecord::NothingMeasured);
        }
        match self.facts.kind() {
            MeasurementKind::Run { .. } => {
                self.run_record().map(|run| Record::Run(Box::new(run))).ok_or(NoRecord::NothingMeasured)
            }
            MeasurementKind::Sweep { .. } => Ok(Record::Sweep(Box::new(self.sweep_record()))),
            MeasurementKind::Capacity { .. } => self.capacity_record().map(|found| Record::Capacity(Box::new(found))),
            MeasurementKind::Compare { .. } => self.compare_record().map(|found| Record::Compare(Box::new(found))),
        }
    }

    /// The record of a run as of now. `None` while its load has not started.
    pub(crate) fn run_record(&self) -> Option<RunRecord> {
        self.only_load().map(|builder| run_record(&self.facts, builder))
    }

    /// The record of a sweep as of now.
    pub(crate) fn sweep_record(&self) -> SweepRecord {
        sweep_record(&self.facts, &self.points)
    }

    fn capacity_record(&self) -> Result<CapacityRecord, NoRecord> {
        capacity_record(&self.facts, &self.trials).map_err(NoRecord::Wrong)
    }

    fn compare_record(&self) -> Result<CompareRecord, NoRecord> {
        compare_record(&self.facts, &self.compared).map_err(NoRecord::Wrong)
    }

    /// Distributions of the latencies of a run.
    pub(crate) fn distributions(&self) -> Option<Cow<'_, Histograms>> {
        self.only_load().map(EvidenceBuilder::histograms)
    }
}

/// What the events of one load have said so far.
#[derive(Clone, Default)]
pub(crate) struct LoadState {
    /// The probe, which is told before the plan.
    probed: Option<Event>,
    /// `None` until the load has started.
    builder: Option<EvidenceBuilder>,
}

impl LoadState {
    pub(crate) fn apply(&mut self, event: &Event) {
        match (event, &mut self.builder) {
            (Event::Session(_), _) => {}
            (Event::Probed(_), None) => self.probed = Some(event.clone()),
            (Event::Started { plan, .. }, None) => {
                let builder = self.builder.insert(EvidenceBuilder::new((**plan).clone()));
                self.probed.take().iter().for_each(|probed| builder.apply(probed));
            }
            (event, Some(builder)) => builder.apply(event),
            (_, None) => {}
        }
    }

    /// The evidence so far. `None` if the load has not started.
    pub(crate) const fn evidence(&self) -> Option<&EvidenceBuilder> {
        self.builder.as_ref()
    }
}
