//! Invariant 10: the record of a measurement as of now, and the one that is made again of the events that were written until then,
//! are the same to the byte, wherever its journal was cut.

use super::record;
use crate::journal::{Journal, LoadJournal};
use crate::store::EVENTS;
use evidence::Events;
use model::{
    Address, AgentEnd, AgentLoss, AgentStart, ArmRecord, Begun, CapacitySettings, CapacityTimes, CompareCapacity,
    CompareLoad, CompareSettings, CompareTrialMade, Event, Flow, Load, MeasurementKind, NS_PER_S, Phase, Plan,
    Quantiles, SentInAll, SessionEvent, SourceId, Stop, Target, Tick, TrialMade,
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A load of a measurement, and what becomes of it.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// Connections of a closed loop.
    connections: u32,
    /// Good responses in each of its seconds; none of a load that is cut before its first.
    good: [u64; 2],
    seconds: usize,
    /// False of one that gets no place in the result.
    has_place: bool,
    /// Which of several variants it is of.
    arm: u64,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let good = [1_u64..200, 1_u64..200];
    let step = (1_u32..5, good, 0_usize..3, prop::bool::weighted(0.8), 0_u64..2)
        .prop_map(|(connections, good, seconds, has_place, arm)| Step { connections, good, seconds, has_place, arm });
    prop::collection::vec(step, 1..5)
}

/// A journal, and its record after each event that was told.
struct Recorded {
    directory: tempfile::TempDir,
    journal: Journal,
    /// `None` while nothing has a place in the record.
    records: Vec<Option<String>>,
}

impl Recorded {
    fn begin(measurement: MeasurementKind) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (environment, limits) = Default::default();
        let begun = Begun { started: "2026-01-02T03:04:05Z".to_owned(), measurement, environment, limits };
        let journal = Journal::begin(directory.path(), begun).unwrap();
        let mut recorded = Self { directory, journal, records: Vec::new() };
        recorded.note();
        recorded
    }

    fn note(&mut self) {
        let record = self.journal.measurement().record();
        self.records.push(record.ok().map(|record| report::json::record(record.as_ref())));
    }

    fn tell(&mut self, event: SessionEvent) {
        self.journal.tell(event);
        self.note();
    }

    /// Measures a load in a directory of its own, and returns that.
    fn load(&mut self, name: &str, step: Step) -> String {
        let mut load = self.journal.open_load(name).unwrap();
        events(step).into_iter().for_each(|event| load.journal().tell(event));
        self.journal.close_load(load)
    }

    /// Leaves a load out, which tells one event.
    fn leave_out(&mut self, directory: &str) {
        let before = self.lines().len();
        self.journal.leave_out(directory);
        (before..self.lines().len()).for_each(|_| self.note());
    }

    fn lines(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.directory.path().join(EVENTS)).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// Cuts the journal behind each of its events, and in the middle of the next, and makes the record again.
    fn is_the_same_wherever_it_is_cut(&self) {
        let lines = self.lines();
        assert_eq!(lines.len(), self.records.len(), "each event has a record");
        for (index, expected) in self.records.iter().enumerate() {
            let Some(expected) = expected else { continue };
            let whole = lines[..=index].join("\n") + "\n";
            let half = |line: &String| String::from_utf8_lossy(&line.as_bytes()[..line.len() / 2]).into_owned();
            let torn = lines.get(index + 1).map(|next| whole.clone() + &half(next));
            for text in [Some(whole), torn].into_iter().flatten() {
                std::fs::write(self.directory.path().join(EVENTS), text).unwrap();
                let again = made_again(self.directory.path());
                let different = again.lines().zip(expected.lines()).find(|(again, expected)| again != expected);
                assert!(again == *expected, "behind event {index} of {}: {different:?}", lines.len());
            }
        }
    }
}

fn made_again(directory: &Path) -> String {
    match record(directory) {
        Ok(record) => report::json::record(record.as_ref()),
        Err(error) => error.message,
    }
}

/// The events of a load, as the engine tells them.
fn events(step: Step) -> Vec<Event> {
    let target = Target::at(Address::Tcp("127.0.0.1:1".parse().unwrap()));
    let load = Load::Closed { connections: step.connections };
    let plan = Plan::new(target, load, Stop::Duration { duration_ns: 2 * NS_PER_S });
    let mut events = vec![
        Event::Started { started: String::new(), plan: Box::new(plan) },
        Event::Connected {
            requested: step.connections,
            established: step.connections,
            took_ns: 1,
            fruitless: Default::default(),
            tls: None,
        },
        Event::Warmed { at_ns: 0, settled: true },
    ];
    for (second, good) in (0..).zip(&step.good[..step.seconds]) {
        events.push(Event::Tick(Box::new(tick(second, *good, step.connections))));
    }
    events.push(Event::Ended { at_ns: step.seconds as u64 * NS_PER_S, interrupted: step.seconds < 2 });
    events
}

fn tick(second: u64, good: u64, connections: u32) -> Tick {
    let mut tick = Tick::empty(Phase::Measure, second * NS_PER_S, (second + 1) * NS_PER_S);
    (tick.flow.sent, tick.flow.completed, tick.flow.good) = (good, good, good);
    tick.flow.outstanding_ns = u64::from(connections) * NS_PER_S;
    (tick.cohort.counts.planned, tick.cohort.counts.sent, tick.cohort.counts.completed, tick.cohort.counts.good) =
        (good, good, good, good);
    for request in 0..good {
        let ns = u64::from(connections) * NS_PER_S / good * (90 + request % 20) / 100;
        tick.histograms.response.record(ns);
        tick.histograms.service.record(ns);
    }
    tick
}

fn end(recorded: &mut Recorded) {
    recorded.tell(SessionEvent::Changed { changes: Vec::new() });
    recorded.tell(SessionEvent::Finished { interrupted: false });
}

/// A number for each kind of event of a load; a new one does not compile until it has one, and then has to be among the examples.
const fn kind(event: &Event) -> usize {
    match event {
        Event::Probed(_) => 0,
        Event::Started { .. } => 1,
        Event::Opening { .. } => 2,
        Event::Connected { .. } => 3,
        Event::AgentsStarted { .. } => 4,
        Event::AgentLost { .. } => 5,
        Event::AgentsEnded { .. } => 6,
        Event::Warmed { .. } => 7,
        Event::Tick(_) => 8,
        Event::Observed(_) => 9,
        Event::Disturbed { .. } => 10,
        Event::Prolonged { .. } => 11,
        Event::Status { .. } => 12,
        Event::Ended { .. } => 13,
        Event::Session(_) => 14,
    }
}

/// Journals of runs as they were written, some of which are torn.
fn written() -> Vec<Vec<Event>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../evidence/tests/corpus/events");
    let paths = std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: PathBuf| {
        let text = std::fs::read(path).unwrap();
        Events::new(&text[..], std::io::empty()).map_while(Result::ok).collect::<Vec<_>>()
    };
    paths.map(read).chain([of_agents()]).collect()
}

/// Events of a load from two machines, one of which is lost.
fn of_agents() -> Vec<Event> {
    let source = SourceId(2);
    let start = |number| AgentStart {
        source: SourceId(number),
        name: format!("ssh://load{number}"),
        established: 1,
        ..AgentStart::default()
    };
    let why = "the connection was closed".to_owned();
    let lost = AgentLoss { at_ns: NS_PER_S, why: why.clone() };
    let end = |number, lost| AgentEnd {
        source: SourceId(number),
        lost,
        flow: Flow::default(),
        response_ns: Quantiles::default(),
        drift_ns: 0,
    };
    let mut events = events(Step { connections: 2, good: [100, 100], seconds: 2, has_place: true, arm: 0 });
    events.insert(1, Event::Opening { at_ns: 1, requested: 2, established: 1 });
    events.insert(2, Event::AgentsStarted { agents: vec![start(1), start(2)] });
    events.push(Event::AgentLost { at_ns: NS_PER_S, source, name: "ssh://load2".to_owned(), why });
    events.push(Event::AgentsEnded { agents: vec![end(1, None), end(2, Some(lost))] });
    events
}

#[test]
fn a_run_with_any_kind_of_event_is_the_same_again() {
    let mut kinds = BTreeSet::new();
    for events in written() {
        let mut recorded = Recorded::begin(MeasurementKind::Run { wants_limiter: false, wants_profile: false });
        for event in events {
            kinds.insert(kind(&event));
            match event {
                Event::Session(SessionEvent::Begun(_)) => {}
                Event::Session(event) => recorded.tell(event),
                event => {
                    recorded.journal.only_load().tell(event);
                    recorded.note();
                }
            }
        }
        recorded.is_the_same_wherever_it_is_cut();
    }
    assert_eq!(kinds, (0..15).collect(), "each kind of event");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn a_run_is_the_same_again(step in steps()) {
        let mut recorded = Recorded::begin(MeasurementKind::Run { wants_limiter: true, wants_profile: false });
        for event in events(step[0]) {
            let mut load: LoadJournal<'_> = recorded.journal.only_load();
            load.tell(event);
            recorded.note();
        }
        end(&mut recorded);
        recorded.is_the_same_wherever_it_is_cut();
    }

    #[test]
    fn a_sweep_is_the_same_again(steps in steps()) {
        let kind = MeasurementKind::Sweep { limit: 8.0, over_rate: false, wants_profile: false, arm: None };
        let mut recorded = Recorded::begin(kind);
        for (number, step) in steps.into_iter().enumerate() {
            let directory = recorded.load(&format!("{number:02}-c{}", step.connections), step);
            match step.has_place {
                true => recorded.tell(SessionEvent::Point { directory, load: f64::from(step.connections) }),
                false => recorded.leave_out(&directory),
            }
        }
        end(&mut recorded);
        recorded.is_the_same_wherever_it_is_cut();
    }

    #[test]
    fn a_search_for_a_capacity_is_the_same_again(steps in steps()) {
        let mut recorded = Recorded::begin(MeasurementKind::Capacity { goal: "p99<100ms".to_owned() });
        let pilot = recorded.load("01-pilot", Step { has_place: false, seconds: 2, ..steps[0] });
        recorded.leave_out(&pilot);
        recorded.tell(SessionEvent::Search { settings: searched(), pilot_per_s: 100.0 });
        for (number, step) in steps.into_iter().enumerate() {
            let directory = recorded.load(&format!("{:02}-trial", number + 2), step);
            match step.has_place {
                true => recorded.tell(SessionEvent::Trial { directory, trial: trial(step) }),
                false => recorded.leave_out(&directory),
            }
        }
        end(&mut recorded);
        recorded.is_the_same_wherever_it_is_cut();
    }

    #[test]
    fn a_comparison_with_searches_is_the_same_again(steps in steps()) {
        let mut recorded = Recorded::begin(MeasurementKind::Compare { arms: 2 });
        let arm = |name: &str| ArmRecord { name: name.to_owned(), ..ArmRecord::default() };
        let settings = Box::new(compared());
        recorded.tell(SessionEvent::Blocks { settings, arms: vec![arm("a"), arm("b")], check: Vec::new() });
        recorded.tell(SessionEvent::AlsoSent { sent: SentInAll { window: 7, ..SentInAll::default() } });
        for (number, step) in steps.into_iter().enumerate() {
            let made = |load| CompareTrialMade { arm: Some(step.arm), load, took_ns: NS_PER_S };
            let directory = recorded.load(&format!("{number:03}-fixed"), step);
            match step.has_place {
                true => recorded.tell(SessionEvent::Compared { directory, trial: made(CompareLoad::Fixed) }),
                false => recorded.leave_out(&directory),
            }
            recorded.tell(SessionEvent::Search { settings: searched(), pilot_per_s: 100.0 });
            let directory = recorded.load(&format!("{number:03}-capacity-1"), step);
            recorded.tell(SessionEvent::Trial { directory, trial: trial(step) });
            match step.has_place {
                true => {
                    let directory = format!("points/{number:03}-capacity");
                    recorded.tell(SessionEvent::Compared { directory, trial: made(CompareLoad::Capacity) });
                }
                false => {
                    let before = recorded.lines().len();
                    recorded.journal.leave_out_search();
                    (before..recorded.lines().len()).for_each(|_| recorded.note());
                }
            }
        }
        end(&mut recorded);
        recorded.is_the_same_wherever_it_is_cut();
    }
}

fn searched() -> CapacitySettings {
    CapacitySettings {
        from_per_s: 1.0,
        to_per_s: 1_000.0,
        start_per_s: 200.0,
        width: 0.03,
        times: CapacityTimes {
            short_ns: NS_PER_S,
            full_ns: 2 * NS_PER_S,
            overhead_ns: NS_PER_S,
            budget_ns: 600 * NS_PER_S,
        },
        seed: 1,
    }
}

fn trial(step: Step) -> TrialMade {
    let load_per_s = step.good[0] as f64;
    TrialMade { load_per_s, window_ns: 2 * NS_PER_S, took_ns: 3 * NS_PER_S, ran_away: false }
}

fn compared() -> CompareSettings {
    CompareSettings {
        arms: 2,
        loads: vec![CompareLoad::Fixed, CompareLoad::Capacity],
        rate_per_s: 100.0,
        connections: 4,
        seed: 1,
        blocks_max: 6,
        precision: None,
        margin: 0.02,
        fail_if: vec!["p50>1%".to_owned()],
        is_aa: false,
        capacity: Some(CompareCapacity { goal: "p99<100ms".to_owned(), budget_ns: 600 * NS_PER_S }),
        duet: None,
        windows: None,
        at_once: None,
        without_canary: true,
        times: model::CompareTimes { budget_ns: 3_600 * NS_PER_S, ..model::CompareTimes::default() },
    }
}
