//! Full records with places for any text: those of fields still to come too, as places are found by trying.

use crate::capacities::bracketed;
use crate::comparisons::{arm_profile, compared, duet, undecided};
use crate::experiments::experiment;
use crate::fixtures::{invalid_run, redirecting_probe, valid_sweep};
use crate::histories::changed_history;
use crate::pages::{profiled, with_seconds};
use crate::renders::render;
use model::{
    AuditsRecord, CapacityRecord, Change, CheckRecord, CheckRow, CheckState, Coded, CompareRecord, CpuTimes,
    ExperimentRecord, Figure, GroupObservation, HistoryRecord, HttpTraits, KernelFigures, LostAgent, MachineCpu,
    MixRecord, NS_PER_S, Observation, OthersUse, PoolObserved, Probe, ProcessFigures, ProcessUse, ProfileRecord,
    RenderRecord, RunRecord, Served, Sockets, StatusRecord, Step, SweepRecord, TargetCheck, TlsSession, WaitObserved,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::marker::PhantomData;

/// What parts the texts of an input; the last control character that has no other use.
pub(crate) const BETWEEN: &str = "\u{1f}";
/// Points of a sweep, up to its peak.
const POINTS: usize = 3;

/// Texts that take turns.
pub(crate) struct Texts<'a> {
    all: Vec<&'a str>,
    taken: usize,
}

impl<'a> Texts<'a> {
    /// The texts of an input, the one numbered `first` first.
    pub(crate) fn of(input: &'a str, first: usize) -> Self {
        Self { all: input.split(BETWEEN).collect(), taken: first }
    }

    pub(crate) fn take(&mut self) -> &'a str {
        self.taken += 1;
        self.all[self.taken % self.all.len()]
    }
}

/// A place in a record: names and numbers from outside in.
type Place = Vec<String>;
/// Places of texts and of maps that take any text, the one as it is, the other as names.
type Free<'a> = (&'a BTreeSet<Place>, &'a BTreeSet<Place>);

/// A record with places for any text.
pub(crate) struct Form<R> {
    root: Node,
    of: PhantomData<fn() -> R>,
}

/// A part of it.
enum Node {
    /// A place for a text.
    Free,
    /// There is none in it.
    Fixed(Value),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
    /// The names of its members are texts.
    Map(Vec<Self>),
}

impl<R: Serialize + DeserializeOwned> Form<R> {
    fn of(record: &R) -> Self {
        let record = serde_json::to_value(record).expect("JSON");
        let (mut texts, mut maps) = (Vec::new(), Vec::new());
        places(&record, &mut Vec::new(), &mut texts, &mut maps);
        let none = BTreeSet::new();
        let one = |place: &Place| BTreeSet::from([place.clone()]);
        let texts = texts.into_iter().filter(|place| is_taken::<R>(&record, (&one(place), &none)));
        let maps = maps.into_iter().filter(|place| is_taken::<R>(&record, (&none, &one(place))));
        let (texts, maps): (BTreeSet<_>, BTreeSet<_>) = (texts.collect(), maps.collect());
        assert!(texts.len() > 3, "a record without texts shows nothing");
        Self { root: Node::of(&record, &mut Vec::new(), (&texts, &maps)), of: PhantomData }
    }

    /// The record with texts in its places.
    pub(crate) fn filled(&self, texts: &mut Texts<'_>) -> R {
        serde_json::from_value(self.root.filled(texts)).expect("each place takes any text")
    }
}

/// All texts and all objects of a record.
fn places(value: &Value, at: &mut Place, texts: &mut Vec<Place>, maps: &mut Vec<Place>) {
    let mut inside = |name: String, value: &Value| {
        at.push(name);
        places(value, at, texts, maps);
        at.pop();
    };
    match value {
        Value::Array(items) => items.iter().enumerate().for_each(|(i, item)| inside(i.to_string(), item)),
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| inside(name.clone(), member));
            maps.push(at.clone());
        }
        Value::String(_) => texts.push(at.clone()),
        _ => {}
    }
}

/// True if any text in these places is read, and written as it was.
fn is_taken<R: Serialize + DeserializeOwned>(record: &Value, free: Free<'_>) -> bool {
    let filled = Node::of(record, &mut Vec::new(), free).filled(&mut Texts::of("\u{1b}any text", 0));
    let read = serde_json::from_value::<R>(filled.clone());
    read.is_ok_and(|read| serde_json::to_value(read).is_ok_and(|again| again == filled))
}

impl Node {
    fn of(value: &Value, at: &mut Place, free: Free<'_>) -> Self {
        let mut inside = |name: String, value: &Value| {
            at.push(name);
            let node = Self::of(value, at, free);
            at.pop();
            node
        };
        let node = match value {
            Value::Array(items) => {
                Self::List(items.iter().enumerate().map(|(i, item)| inside(i.to_string(), item)).collect())
            }
            Value::Object(members) => {
                let nodes: Vec<_> =
                    members.iter().map(|(name, member)| (name.clone(), inside(name.clone(), member))).collect();
                match free.1.contains(&*at) {
                    true => Self::Map(nodes.into_iter().map(|(_, node)| node).collect()),
                    false => Self::Object(nodes),
                }
            }
            Value::String(_) if free.0.contains(&*at) => Self::Free,
            other => Self::Fixed(other.clone()),
        };
        if node.is_fixed() { Self::Fixed(value.clone()) } else { node }
    }

    fn is_fixed(&self) -> bool {
        match self {
            Self::Free => false,
            Self::Fixed(_) => true,
            Self::List(nodes) => nodes.iter().all(Self::is_fixed),
            Self::Object(members) => members.iter().all(|(_, node)| node.is_fixed()),
            Self::Map(nodes) => nodes.is_empty(),
        }
    }

    fn filled(&self, texts: &mut Texts<'_>) -> Value {
        match self {
            Self::Free => Value::String(texts.take().to_owned()),
            Self::Fixed(value) => value.clone(),
            Self::List(nodes) => Value::Array(nodes.iter().map(|node| node.filled(texts)).collect()),
            Self::Object(members) => {
                Value::Object(members.iter().map(|(name, node)| (name.clone(), node.filled(texts))).collect())
            }
            Self::Map(nodes) => {
                let mut filled = Map::new();
                for (i, node) in nodes.iter().enumerate() {
                    let member = node.filled(texts);
                    // The number keeps entries with the same text apart.
                    filled.insert(format!("{}{i}", texts.take()), member);
                }
                Value::Object(filled)
            }
        }
    }
}

/// One of everything that is rendered.
pub(crate) struct Forms {
    pub(crate) run: Form<RunRecord>,
    pub(crate) sweep: Form<SweepRecord>,
    pub(crate) capacity: Form<CapacityRecord>,
    pub(crate) comparison: Form<CompareRecord>,
    pub(crate) experiment: Form<ExperimentRecord>,
    pub(crate) render: Form<RenderRecord>,
    pub(crate) history: Form<HistoryRecord>,
    pub(crate) probe: Form<Probe>,
    pub(crate) audits: Form<AuditsRecord>,
    pub(crate) check: Form<CheckRecord>,
    pub(crate) observation: Form<Observation>,
    pub(crate) profile: Form<ProfileRecord>,
}

impl Forms {
    pub(crate) fn new() -> Self {
        let run = full_run();
        let profile = ProfileRecord {
            format: String::new(),
            scope: String::new(),
            profile: run.profile.clone().expect("it was profiled"),
            environment: run.environment.clone(),
            started: String::new(),
            interrupted: true,
        };
        let audits: AuditsRecord = serde_json::from_str(include_str!("fixtures/audits.json")).expect("a record");
        Self {
            run: Form::of(&run),
            sweep: Form::of(&full_sweep()),
            capacity: Form::of(&full_capacity()),
            comparison: Form::of(&full_comparison()),
            experiment: Form::of(&experiment()),
            render: Form::of(&render()),
            history: Form::of(&changed_history()),
            probe: Form::of(&redirecting_probe()),
            audits: Form::of(&audits),
            check: Form::of(&full_check(&run)),
            observation: Form::of(&full_observation()),
            profile: Form::of(&profile),
        }
    }
}

fn text() -> String {
    "text".to_owned()
}

fn full_run() -> RunRecord {
    let mut run = profiled(with_seconds(invalid_run()));
    run.limiter = valid_sweep().limiter;
    run.limiter.as_mut().expect("it has one").confirmation_unavailable = Some(text());
    run.tls = Some(TlsSession { version: text(), cipher: text(), resumed: 1 });
    run.environment.served = Some(served());
    let request =
        MixRecord { method: text(), path: text(), weight: 1, completed: 2, good: 2, response_mean_ns: NS_PER_S };
    run.requests.mix = vec![request; 2];
    run.probe = Some(redirecting_probe());
    let figures = [(text(), Figure::default())].into();
    run.status = vec![StatusRecord { server: Some(text()), figures, ..StatusRecord::default() }];
    run.verdict.unchecked = vec![text(), text()];
    run.verdict.unchecked_why = [(text(), text())].into();
    run.profile.as_mut().expect("it was profiled").hints = vec![text()];
    let observed = run.observed.as_mut().expect("it was observed");
    observed.pools = vec![pool()];
    observed.unavailable = [("companions/redis".to_owned(), text())].into();
    run
}

fn pool() -> PoolObserved {
    let wait = WaitObserved { thread: text(), state: text(), syscall: text(), on: text(), share: 0.5 };
    PoolObserved {
        name: text(),
        program: text(),
        workers_mean: 2.0,
        workers_max: 2,
        occupancy: 0.9,
        occupancy_max: 0.9,
        running: 0.2,
        runnable: Some(0.2),
        blocked: [(text(), 0.5)].into(),
        waits: vec![wait],
        ..PoolObserved::default()
    }
}

fn served() -> Served {
    Served {
        server: text(),
        label: text(),
        program: text(),
        program_sha256: text(),
        user: Some(text()),
        cpus: vec![0],
        steps: vec![Step { name: text(), ns: 1 }],
    }
}

fn lost() -> LostAgent {
    LostAgent { name: text(), at_ns: Some(1), why: text() }
}

/// Its points come later.
fn full_sweep() -> SweepRecord {
    let mut sweep = valid_sweep();
    sweep.points.clear();
    sweep.curve.truncate(POINTS);
    sweep.curve.iter_mut().for_each(|point| point.pools = [(text(), 0.5)].into());
    sweep.arm = Some(text());
    sweep.agent_lost = Some(lost());
    sweep.profile_unavailable = Some(text());
    sweep.environment.served = Some(served());
    sweep
}

/// Its trials come later.
fn full_capacity() -> CapacityRecord {
    let mut capacity = bracketed();
    capacity.trials.clear();
    capacity.outcomes.truncate(POINTS);
    capacity.outcomes[0].obstacle = Some(text());
    capacity.environment.served = Some(served());
    capacity.limiter = valid_sweep().limiter;
    capacity.agent_lost = Some(lost());
    capacity
}

/// Its runs come later.
fn full_comparison() -> CompareRecord {
    let mut comparison = CompareRecord { conditions: undecided().conditions, ..compared() };
    comparison.blocks.truncate(POINTS);
    comparison.arms[1].served = Some(served());
    comparison.arms[1].differences = vec![Change { section: text(), name: text(), before: text(), after: text() }];
    comparison.positions = duet().positions;
    if let Some(plan) = &mut comparison.plan {
        plan.fail_if = vec![text()];
        plan.duet = duet().plan.and_then(|plan| plan.duet);
    }
    comparison.profiles = vec![arm_profile(None), arm_profile(None), arm_profile(Some(text()))];
    comparison
}

fn full_check(run: &RunRecord) -> CheckRecord {
    let row = CheckRow {
        rule: text(),
        what: text(),
        state: CheckState::Warning,
        found: text(),
        remedy: Some(text()),
        figures: Default::default(),
    };
    let http_traits = HttpTraits {
        version: text(),
        tls: None,
        asked_on_one: 1,
        answered_on_one: 1,
        plain: Coded::default(),
        compressed: None,
        cache_headers: [(text(), text())].into(),
        requests_sent: 1,
    };
    let target = TargetCheck {
        url: text(),
        address: run.plan.target.address.clone(),
        canonical_url: Some(text()),
        redirects: vec![text()],
        probe: redirecting_probe(),
        http_traits,
        burst: None,
        burst_unavailable: Some(text()),
        requests_sent: 1,
    };
    CheckRecord {
        format: text(),
        state: CheckState::Warning,
        rows: vec![row],
        target: Some(target),
        environment: run.environment.clone(),
        started: text(),
    }
}

fn full_observation() -> Observation {
    let figures = ProcessFigures { count: 2, cpu_ns: 1, ..ProcessFigures::default() };
    let used = || ProcessUse { name: text(), figures };
    let sockets = Sockets { server: Some([(text(), 1)].into()), ..Sockets::default() };
    let group = GroupObservation {
        target: text(),
        processes: vec![used()],
        sockets: Some(sockets),
        ..GroupObservation::default()
    };
    let device = [("received_bytes".to_owned(), 1)].into();
    let counters = [("nic/lo".to_owned(), device), (text(), [(text(), 1)].into())].into();
    Observation {
        format: text(),
        at: text(),
        to_ns: NS_PER_S,
        machine: Some(MachineCpu { cpus: vec![CpuTimes::default()], ..MachineCpu::default() }),
        groups: vec![group],
        others: Some(OthersUse { from_ns: 0, processes: vec![used()], ..OthersUse::default() }),
        kernel: KernelFigures { counters, ..KernelFigures::default() },
        unavailable: [(text(), text())].into(),
        ..Observation::default()
    }
}
