//! What every rendering promises, whatever texts a record holds: for the property tests, and for the fuzz target.
//!
//! Texts are put into all places of full records that take any.

use crate::forms::{Forms, Texts};
use crate::pages::item;
use model::{Redacted, RunRecord, SweepRecord, SweepsRecord};
use report::flame::{self, Scale};
use report::html::{Graphs, Item};
use report::record::{AnyRecord, sweeps_record};
use report::terminal::{self, Style};
use report::{Named, json, off_cpu};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::{self, Debug, Display, Write as _};
use std::sync::OnceLock;

/// Colours and what ends them.
const SGR: [&str; 7] = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[36m", "\u{1b}[37m"];
/// Columns of CSV that are text.
const TEXT_COLUMNS: [usize; 4] = [0, 2, 3, 23];
/// Tags and attributes of the page, and how everything in a flame graph begins.
const TAGS: &str = "!doctype html head meta title style body main article header p h1 h2 h3 section strong ul li span br dl \
                    dt dd div figure figcaption details summary script iframe table thead tbody tr th td pre a code noscript";
const ATTRIBUTES: &str = "html lang charset name content http-equiv class aria-label role tabindex style data-axis type title \
                          id sandbox srcdoc scope href";
const IN_GRAPHS: &str = "?xml !DOCTYPE !-- svg defs linearGradient stop style script rect text g title /";
/// Where the page goes on with plotly, which is not ours to judge.
const PLOTLY: &str = r#"<script type="text/plain" id="plotly">"#;

/// Fills a record and renders it.
type Rendering = fn(&Forms, &mut Texts<'_>);
/// Fills results and renders them in a way.
type Results = fn(&Forms, &mut Texts<'_>, Way);
type Way = fn(&[Item<'_>]);

/// All kinds of results, each alone or with others.
const RESULTS: [Results; 8] = [run, sweep, run_and_sweep, sweeps, capacity, comparison, experiment, render];
/// All ways in which each of them is rendered.
const WAYS: [Way; 5] = [in_terminals, in_markdown, in_csv, as_json, in_page];
/// What is rendered in ways of its own.
const OTHERS: [Rendering; 20] = [
    page_with_graphs,
    |_, texts| {
        running(texts.take()).iter().for_each(|svg| in_graph(svg));
    },
    waiting,
    |forms, texts| {
        let history = forms.history.filled(texts);
        is_plain(|style| terminal::history(&history, style));
    },
    |forms, texts| {
        let history = forms.history.filled(texts);
        reads_back(&json::history(&history), &history);
    },
    |forms, texts| in_shown(&report::html::history_page(&forms.history.filled(texts))),
    |forms, texts| {
        let experiment = forms.experiment.filled(texts);
        is_plain(|style| terminal::plan(&experiment.plan, style));
    },
    |forms, texts| {
        let (probe, url) = (forms.probe.filled(texts), texts.take());
        is_plain(|_| terminal::probe(&probe, url));
    },
    |forms, texts| {
        let audits = forms.audits.filled(texts);
        is_plain(|style| terminal::audits(&audits, style));
    },
    |forms, texts| {
        let audits = forms.audits.filled(texts);
        reads_back(&json::audits(&audits), &audits);
    },
    |forms, texts| {
        let check = forms.check.filled(texts);
        is_plain(|style| terminal::check(&check, style));
    },
    |forms, texts| {
        let check = forms.check.filled(texts);
        is_plain(|_| terminal::check_row(&check.rows[0]) + "\n");
    },
    |forms, texts| {
        let check = forms.check.filled(texts);
        reads_back(&json::check(&check), &check);
    },
    |forms, texts| {
        let seen = forms.observation.filled(texts);
        is_plain(|style| terminal::observation(&seen, style));
    },
    |forms, texts| {
        let seen = forms.observation.filled(texts);
        is_plain(|_| terminal::observation_lines(&seen));
    },
    |forms, texts| {
        let seen = forms.observation.filled(texts);
        is_plain(|style| terminal::missing(&seen.unavailable, style));
    },
    |forms, texts| {
        let seen = forms.observation.filled(texts);
        reads_back(&json::observation(&seen), &seen);
    },
    |forms, texts| {
        let profile = forms.profile.filled(texts);
        is_plain(|style| terminal::profile(&profile, style));
    },
    |forms, texts| {
        let profile = forms.profile.filled(texts).profile;
        is_plain(|_| terminal::profile_change(&profile, &profile));
    },
    |forms, texts| {
        let profile = forms.profile.filled(texts);
        reads_back(&json::profile(&profile), &profile);
    },
];

/// Puts the texts of `input` into records, renders them in every way, and fails when a text acts or is markup.
pub(crate) fn keep(input: &str) {
    (0..RESULTS.len() * WAYS.len() + OTHERS.len()).for_each(|number| keep_one(number, input));
}

/// The same of the rendering of a number, whatever it is: for the fuzz target, which has more inputs than time.
pub(crate) fn keep_one(number: usize, input: &str) {
    static FORMS: OnceLock<Forms> = OnceLock::new();
    let forms = FORMS.get_or_init(Forms::new);
    let number = number % (RESULTS.len() * WAYS.len() + OTHERS.len());
    let texts = &mut Texts::of(input, number);
    match number.checked_sub(OTHERS.len()) {
        None => OTHERS[number](forms, texts),
        Some(number) => RESULTS[number / WAYS.len()](forms, texts, WAYS[number % WAYS.len()]),
    }
}

fn run(forms: &Forms, texts: &mut Texts<'_>, way: Way) {
    let (run, name) = (forms.run.filled(texts), texts.take());
    way(&[item(name, AnyRecord::Run(&run), None)]);
}

fn sweep(forms: &Forms, texts: &mut Texts<'_>, way: Way) {
    let (sweep, name) = (full_sweep(forms, texts).1, texts.take());
    way(&[Item { base: texts.take(), ..item(name, AnyRecord::Sweep(&sweep), None) }]);
}

fn run_and_sweep(forms: &Forms, texts: &mut Texts<'_>, way: Way) {
    let ((run, sweep), name) = (full_sweep(forms, texts), texts.take());
    way(&[item(name, AnyRecord::Run(&run), None), item(name, AnyRecord::Sweep(&sweep), None)]);
}

fn sweeps(forms: &Forms, texts: &mut Texts<'_>, way: Way) {
    let (sweeps, name) = (full_sweeps(forms, texts), texts.take());
    way(&[item(name, AnyRecord::Sweeps(&sweeps), None)]);
}

fn capacity(forms: &Forms, texts: &mut Texts<'_>, way: Way) {
    let mut capacity = forms.capacity.filled(texts);
    capacity.trials = vec![forms.run.filled(texts); capacity.outcomes.len()];
    way(&[item(texts.take(), AnyRecord::Capacity(&capacity), None)]);
}

fn comparison(forms: &Forms, texts: &mut Texts<'_>, way: Way) {
    let (mut comparison, run) = (forms.comparison.filled(texts), forms.run.filled(texts));
    comparison.runs.iter_mut().for_each(|of| of.run = run.clone());
    way(&[item(texts.take(), AnyRecord::Compare(&comparison), None)]);
}

fn experiment(forms: &Forms, texts: &mut Texts<'_>, way: Way) {
    let experiment = forms.experiment.filled(texts);
    way(&[item(texts.take(), AnyRecord::Experiment(&experiment), None)]);
}

fn render(forms: &Forms, texts: &mut Texts<'_>, way: Way) {
    let render = forms.render.filled(texts);
    way(&[item(texts.take(), AnyRecord::Render(&render), None)]);
}

/// A sweep, and the run that all its points are.
fn full_sweep(forms: &Forms, texts: &mut Texts<'_>) -> (RunRecord, SweepRecord) {
    let (run, mut sweep) = (forms.run.filled(texts), forms.sweep.filled(texts));
    sweep.points = vec![run.clone(); sweep.curve.len()];
    (run, sweep)
}

fn full_sweeps(forms: &Forms, texts: &mut Texts<'_>) -> SweepsRecord {
    let (_, sweep) = full_sweep(forms, texts);
    sweeps_record([texts.take(), texts.take()].map(|label| (label.to_owned(), sweep.clone())).into())
}

/// A page of a run with its graphs and of several sweeps beside it.
fn page_with_graphs(forms: &Forms, texts: &mut Texts<'_>) {
    let (run, sweeps, name) = (forms.run.filled(texts), full_sweeps(forms, texts), texts.take());
    let waiting = off_cpu::of_run(&run).map(|waits| waits.svg);
    let graphs = [Graphs { running: running(name), waiting, ..Graphs::default() }];
    let with_graphs = Item { graphs: &graphs, ..item(name, AnyRecord::Run(&run), None) };
    in_page(&[with_graphs, item(name, AnyRecord::Sweeps(&sweeps), None)]);
}

/// A flame graph of a function of a name, called as that.
fn running(name: &str) -> Option<String> {
    let folded = format!("{};main 10\n", name.replace('\n', " "));
    flame::graph(&folded, &Redacted::text(name), Scale::Samples)
}

fn waiting(forms: &Forms, texts: &mut Texts<'_>) {
    // None where there is nothing to draw.
    let Some(waits) = off_cpu::of_run(&forms.run.filled(texts)) else { return };
    stand_still(&waits.folded);
    in_graph(&waits.svg);
}

fn named<'a>(items: &[Item<'a>]) -> Vec<Named<'a>> {
    items.iter().map(|item| item.named).collect()
}

fn in_terminals(items: &[Item<'_>]) {
    is_plain(|style| terminal::results(&named(items), style));
}

fn as_json(items: &[Item<'_>]) {
    for Named { record, .. } in named(items) {
        let text = json::record(record);
        match record {
            AnyRecord::Run(record) => reads_back(&text, record),
            AnyRecord::Sweep(record) => reads_back(&text, record),
            AnyRecord::Sweeps(record) => reads_back(&text, record),
            AnyRecord::Capacity(record) => reads_back(&text, record),
            AnyRecord::Compare(record) => reads_back(&text, record),
            AnyRecord::Experiment(record) => reads_back(&text, record),
            AnyRecord::Render(record) => reads_back(&text, record),
        }
    }
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
fn in_markdown(items: &[Item<'_>]) {
    let markdown = report::markdown(&named(items));
    stand_still(&markdown);
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
fn in_csv(items: &[Item<'_>]) {
    let csv = report::csv(&named(items));
    stand_still(&csv);
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

/// A page up to plotly, of which 0.4 MB need not be copied for each input.
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
