//! What every rendering promises, whatever texts a record holds: for the property tests, and for the fuzz target.
//!
//! Texts are put into all places of full records that take any, found by trying: so are those of fields still to come.

use crate::capacities::bracketed;
use crate::comparisons::{arm_profile, compared, duet, undecided};
use crate::experiments::experiment;
use crate::fixtures::{invalid_run, redirecting_probe, valid_sweep};
use crate::histories::changed_history;
use crate::pages::{item, profiled, with_seconds};
use model::{
    AuditsRecord, CapacityRecord, Change, CheckRecord, CheckRow, CheckState, Coded, CompareRecord, CpuTimes,
    ExperimentRecord, Figure, GroupObservation, HistoryRecord, HttpTraits, KernelFigures, MachineCpu, MixRecord,
    NS_PER_S, Observation, OthersUse, PoolObserved, Probe, ProcessUse, ProfileRecord, Redacted, RunRecord, Served,
    Sockets, StatusRecord, Step, SweepRecord, TargetCheck, TlsSession, WaitObserved,
};
use report::flame::{self, Scale};
use report::html::{Graphs, Item};
use report::record::{AnyRecord, sweeps_record};
use report::terminal::{self, Style};
use report::{Named, json, off_cpu};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::fmt::{self, Debug, Display, Write as _};
use std::sync::OnceLock;

/// What parts the texts of an input; the last control character that has no other use.
pub(crate) const BETWEEN: &str = "\u{1f}";
/// Colours and what ends them.
const SGR: [&str; 7] = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[36m", "\u{1b}[37m"];
/// Points of a sweep, up to its peak.
const POINTS: usize = 3;
/// Columns of CSV that are text.
const TEXT_COLUMNS: [usize; 4] = [0, 2, 3, 23];
/// Tags and attributes of the page, and how everything in a flame graph begins.
const TAGS: &str = "!doctype html head meta title style body main article header p h1 h2 section strong ul li span br dl \
                    dt dd div figure figcaption script iframe table thead tbody tr th td pre a code noscript";
const ATTRIBUTES: &str = "html lang charset name content http-equiv class aria-label role style data-clock type title \
                          sandbox srcdoc scope href";
const IN_GRAPHS: &str = "?xml !DOCTYPE !-- svg defs linearGradient stop style script rect text g title /";
/// Where the page goes on with plotly, which is not ours to judge.
const PLOTLY: &str = r#"<script type="text/plain" id="plotly">"#;

/// Puts the texts of `input` into records, renders them in every way, and fails when a text acts or is markup.
pub(crate) fn keep(input: &str) {
    static FORMS: OnceLock<Forms> = OnceLock::new();
    let forms = FORMS.get_or_init(Forms::new);
    let mut texts = Texts::of(input);
    let run: RunRecord = forms.run.filled(&mut texts);
    let mut sweep: SweepRecord = forms.sweep.filled(&mut texts);
    sweep.points = vec![run.clone(); sweep.curve.len()];
    let arms = [texts.take(), texts.take()].map(|label| (label.to_owned(), sweep.clone()));
    let sweeps = sweeps_record(arms.into());
    let name = texts.take();
    let named = |record| Named { name, record };
    let mixed = [named(AnyRecord::Run(&run)), named(AnyRecord::Sweep(&sweep))];
    let several = [named(AnyRecord::Sweeps(&sweeps))];

    is_plain(|style| terminal::results(&mixed, style));
    is_plain(|style| terminal::results(&several, style));
    in_terminals_alone(forms, &mut texts);
    for results in [&mixed[..], &several] {
        in_markdown(&report::markdown(results));
        in_csv(&report::csv(results));
    }
    reads_back(&json::run(&run), &run);
    reads_back(&json::sweeps(&sweeps), &sweeps);
    let folded = format!("{};main 10\n", name.replace('\n', " "));
    let running = flame::graph(&folded, &Redacted::text(name), Scale::Samples);
    let waiting = off_cpu::of_run(&run);
    stand_still(waiting.as_ref().map_or("", |waiting| waiting.folded.as_str()));
    running.iter().chain(waiting.as_ref().map(|waiting| &waiting.svg)).for_each(|svg| in_graph(svg));
    let graphs = [Graphs { running, ..Graphs::default() }];
    let with_graph = Item { graphs: &graphs, ..item(name, AnyRecord::Run(&run), None) };
    in_page(&[with_graph, item(name, AnyRecord::Sweeps(&sweeps), None)]);
    in_page(&[Item { base: name, ..item(name, AnyRecord::Sweep(&sweep), None) }]);
    of_others(forms, &mut texts, &run);
}

/// Results that are no run and no sweep; the loads of those that have some are `run`.
fn of_others(forms: &Forms, texts: &mut Texts<'_>, run: &RunRecord) {
    let mut capacity: CapacityRecord = forms.capacity.filled(texts);
    capacity.trials = vec![run.clone(); capacity.outcomes.len()];
    reads_back(&json::capacity(&capacity), &capacity);
    everywhere(texts.take(), AnyRecord::Capacity(&capacity));
    let mut comparison: CompareRecord = forms.comparison.filled(texts);
    comparison.runs.iter_mut().for_each(|of| of.run = run.clone());
    reads_back(&json::compare(&comparison), &comparison);
    everywhere(texts.take(), AnyRecord::Compare(&comparison));
    let experiment: ExperimentRecord = forms.experiment.filled(texts);
    is_plain(|style| terminal::plan(&experiment.plan, style));
    reads_back(&json::experiment(&experiment), &experiment);
    everywhere(texts.take(), AnyRecord::Experiment(&experiment));
    let history: HistoryRecord = forms.history.filled(texts);
    is_plain(|style| terminal::history(&history, style));
    reads_back(&json::history(&history), &history);
    in_shown(&report::html::history_page(&history));
}

/// A result in every format that shows it.
fn everywhere(name: &str, record: AnyRecord<'_>) {
    let results = [Named { name, record }];
    is_plain(|style| terminal::results(&results, style));
    in_markdown(&report::markdown(&results));
    in_csv(&report::csv(&results));
    in_page(&[item(name, record, None)]);
}

/// What is only shown in terminals, and as JSON.
fn in_terminals_alone(forms: &Forms, texts: &mut Texts<'_>) {
    let probe: Probe = forms.probe.filled(texts);
    let url = texts.take();
    is_plain(|_| terminal::probe(&probe, url));
    let audits: AuditsRecord = forms.audits.filled(texts);
    is_plain(|style| terminal::audits(&audits, style));
    reads_back(&json::audits(&audits), &audits);
    let check: CheckRecord = forms.check.filled(texts);
    is_plain(|style| terminal::check(&check, style));
    is_plain(|_| terminal::check_row(&check.rows[0]) + "\n");
    reads_back(&json::check(&check), &check);
    let seen: Observation = forms.observation.filled(texts);
    is_plain(|style| terminal::observation(&seen, style));
    is_plain(|_| terminal::observation_lines(&seen));
    is_plain(|style| terminal::missing(&seen.unavailable, style));
    reads_back(&json::observation(&seen), &seen);
    let profile: ProfileRecord = forms.profile.filled(texts);
    is_plain(|style| terminal::profile(&profile, style));
    is_plain(|_| terminal::profile_change(&profile.profile, &profile.profile));
    reads_back(&json::profile(&profile), &profile);
}

/// True if a reader's program would act on it.
fn acts(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (c.is_control() && c != '\n')
}

#[track_caller]
fn stand_still(text: &str) {
    if let Some(at) = text.find(acts) {
        panic!("a character acts: {:?}", text[at..].chars().take(40).collect::<String>());
    }
}

/// Nothing acts in a terminal, and colours change no character: so there are none but those of the renderer.
#[track_caller]
fn is_plain(render: impl Fn(&Style) -> String) {
    for width in [40, 100] {
        let style = Style { width, colour: false, verbose: true };
        let plain = render(&style);
        stand_still(&plain);
        let coloured = render(&Style { colour: true, ..style });
        assert_eq!(SGR.iter().fold(coloured, |text, sgr| text.replace(sgr, "")), plain);
    }
}

/// JSON in which nothing acts, and which says the same.
#[track_caller]
fn reads_back<R: DeserializeOwned + PartialEq + Debug>(json: &str, record: &R) {
    stand_still(json);
    assert_eq!(serde_json::from_str::<R>(json).ok().as_ref(), Some(record));
}

/// No markup, and as many cells in each row of a table as in its head.
fn in_markdown(markdown: &str) {
    stand_still(markdown);
    assert!(!markdown.contains('<'), "{markdown}");
    let mut head = None;
    for line in markdown.lines() {
        let is_row = line.starts_with("| ");
        assert!(!is_row || bars(line) == *head.get_or_insert_with(|| bars(line)), "{line}");
        head = head.filter(|_| is_row);
    }
}

/// Bars that part cells.
fn bars(line: &str) -> usize {
    let mut is_escaped = false;
    let parts = |c: char| {
        let parts = c == '|' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        parts
    };
    line.chars().map(parts).filter(|parts| *parts).count()
}

/// Rows of the same cells, of which no text is a formula.
fn in_csv(csv: &str) {
    stand_still(csv);
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    for row in reader.records() {
        let row = row.expect("as many cells as names");
        assert!(row.iter().all(|cell| !cell.contains('\n')), "{row:?}");
        for cell in TEXT_COLUMNS.map(|column| &row[column]) {
            assert!(!cell.trim_start().starts_with(['=', '+', '-', '@']), "{cell:?}");
        }
    }
}

/// Well-formed as far as text goes: no character that XML has no place for, no element and no script but the graph's.
fn in_graph(svg: &str) {
    stand_still(&svg.replace('\t', " "));
    assert_eq!(svg.matches("<script").count(), 1);
    let parts = svg.split("<![CDATA[").map(|part| part.split_once("]]>").map_or(part, |(_, rest)| rest));
    for element in parts.flat_map(|part| part.split('<').skip(1)) {
        assert!(IN_GRAPHS.split(' ').any(|begin| element.starts_with(begin)), "{element:?}");
    }
}

/// The tags and attributes of the page are those of its template; charts are JSON without markup.
fn in_page(items: &[Item<'_>]) {
    in_shown(&report::html::page(items));
}

/// The same of any page.
fn in_shown(page: &dyn Display) {
    let mut shown = Shown { text: String::new(), is_over: false };
    write!(shown, "{page}").expect("it takes everything");
    stand_still(&shown.text.replace('\t', " "));
    let mut rest = shown.text.as_str();
    while let Some(begin) = rest.find('<') {
        let (name, after) = tag(&rest[begin + 1..]);
        rest = after;
        if !["style", "script"].contains(&name) {
            continue;
        }
        let (inside, after) = rest.split_once(&format!("</{name}>")).expect("it ends");
        rest = after;
        if name == "script" {
            assert!(!inside.contains('<'), "{inside}");
            in_chart(&serde_json::from_str(inside).expect("JSON"));
        }
    }
}

/// A page up to plotly, of which 1.9 MB need not be copied for each input.
struct Shown {
    text: String,
    is_over: bool,
}

impl fmt::Write for Shown {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        if !self.is_over {
            self.text.push_str(piece);
            if let Some(before) = self.text.strip_suffix(PLOTLY).map(str::len) {
                self.text.truncate(before);
                self.is_over = true;
            }
        }
        Ok(())
    }
}

/// Name of the tag that begins here, and what follows it.
fn tag(text: &str) -> (&str, &str) {
    let end = text.find([' ', '>']).expect("a tag ends");
    let (name, mut rest) = text.split_at(end);
    assert!(is_one_of(name.trim_start_matches('/'), TAGS), "{name:?}");
    loop {
        rest = rest.trim_start_matches(' ');
        if let Some(after) = rest.strip_prefix('>') {
            return (name, after);
        }
        let end = rest.find(['=', ' ', '>']).expect("an attribute ends");
        let attribute = &rest[..end];
        assert!(is_one_of(attribute, ATTRIBUTES), "{attribute:?} of {name}");
        rest = &rest[end..];
        if let Some(quoted) = rest.strip_prefix("=\"") {
            let (value, after) = quoted.split_once('"').expect("a value ends");
            assert!(!value.contains('<') && (attribute != "href" || !value.contains(':')), "{attribute}={value:?}");
            rest = after;
        }
    }
}

fn is_one_of(name: &str, all: &str) -> bool {
    all.split(' ').any(|one| one == name)
}

/// Names without markup, and nothing that acts.
fn in_chart(chart: &Value) {
    for trace in chart["data"].as_array().expect("curves") {
        let name = trace["name"].as_str().unwrap_or_default();
        assert!(!name.contains(['<', '&']), "{name:?}");
    }
    let mut rest = vec![chart];
    while let Some(value) = rest.pop() {
        match value {
            Value::String(text) => stand_still(text),
            Value::Array(items) => rest.extend(items),
            Value::Object(members) => rest.extend(members.values()),
            _ => {}
        }
    }
}

/// Texts that take turns.
struct Texts<'a> {
    all: Vec<&'a str>,
    taken: usize,
}

impl<'a> Texts<'a> {
    fn of(input: &'a str) -> Self {
        Self { all: input.split(BETWEEN).collect(), taken: 0 }
    }

    fn take(&mut self) -> &'a str {
        self.taken += 1;
        self.all[self.taken % self.all.len()]
    }
}

/// A place in a record: names and numbers from outside in.
type Place = Vec<String>;
/// Places of texts and of maps that take any text, the one as it is, the other as names.
type Free<'a> = (&'a BTreeSet<Place>, &'a BTreeSet<Place>);

/// A record and its places for any text.
struct Form {
    record: Value,
    texts: BTreeSet<Place>,
    maps: BTreeSet<Place>,
}

impl Form {
    fn of<R: Serialize + DeserializeOwned>(record: &R) -> Self {
        let record = serde_json::to_value(record).expect("JSON");
        let (mut texts, mut maps) = (Vec::new(), Vec::new());
        places(&record, &mut Vec::new(), &mut texts, &mut maps);
        let none = BTreeSet::new();
        let one = |place: &Place| BTreeSet::from([place.clone()]);
        let texts = texts.into_iter().filter(|place| is_taken::<R>(&record, (&one(place), &none)));
        let maps = maps.into_iter().filter(|place| is_taken::<R>(&record, (&none, &one(place))));
        let (texts, maps): (BTreeSet<_>, BTreeSet<_>) = (texts.collect(), maps.collect());
        assert!(texts.len() > 3, "a record without texts shows nothing");
        Self { record, texts, maps }
    }

    fn filled<R: DeserializeOwned>(&self, texts: &mut Texts<'_>) -> R {
        let filled = fill(&self.record, &mut Vec::new(), (&self.texts, &self.maps), texts);
        serde_json::from_value(filled).expect("each place takes any text")
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
    let filled = fill(record, &mut Vec::new(), free, &mut Texts::of("\u{1b}any text"));
    let read = serde_json::from_value::<R>(filled.clone());
    read.is_ok_and(|read| serde_json::to_value(read).is_ok_and(|again| again == filled))
}

/// The record with texts in its free places.
fn fill(value: &Value, at: &mut Place, free: Free<'_>, texts: &mut Texts<'_>) -> Value {
    match value {
        Value::String(_) if free.0.contains(&*at) => Value::String(texts.take().to_owned()),
        Value::Array(items) => {
            let mut filled = Vec::with_capacity(items.len());
            for (i, item) in items.iter().enumerate() {
                at.push(i.to_string());
                filled.push(fill(item, at, free, texts));
                at.pop();
            }
            Value::Array(filled)
        }
        Value::Object(members) => {
            let mut filled = Map::new();
            for (i, (name, member)) in members.iter().enumerate() {
                at.push(name.clone());
                let member = fill(member, at, free, texts);
                at.pop();
                // The number keeps entries with the same text apart.
                let name = if free.1.contains(&*at) { format!("{}{i}", texts.take()) } else { name.clone() };
                filled.insert(name, member);
            }
            Value::Object(filled)
        }
        other => other.clone(),
    }
}

/// One of everything that is rendered.
struct Forms {
    run: Form,
    sweep: Form,
    capacity: Form,
    comparison: Form,
    experiment: Form,
    history: Form,
    probe: Form,
    audits: Form,
    check: Form,
    observation: Form,
    profile: Form,
}

impl Forms {
    fn new() -> Self {
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

/// Its points come later.
fn full_sweep() -> SweepRecord {
    let mut sweep = valid_sweep();
    sweep.points.clear();
    sweep.curve.truncate(POINTS);
    sweep.curve.iter_mut().for_each(|point| point.pools = [(text(), 0.5)].into());
    sweep.arm = Some(text());
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
    let used = || ProcessUse { name: text(), count: 2, cpu_ns: 1, ..ProcessUse::default() };
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
        others: Some(OthersUse { from_ns: 0, processes: vec![used()] }),
        kernel: KernelFigures { counters, ..KernelFigures::default() },
        unavailable: [(text(), text())].into(),
        ..Observation::default()
    }
}
