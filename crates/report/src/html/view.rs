//! The page as its template sees it: text, tables and charts, already worded.
//!
//! A result answers on the first screen, in a sentence each: may it be believed, how much, what limits it, and what to do next.
//! All else is in parts, in the order in which these questions are asked further.

use super::Shown;
use super::chart::Chart;
use super::graph::Graph;
use crate::visible;
use crate::words::fact::{self as words, About, Tone};
use crate::words::served;
use crate::words::verdict::{meaning, unchecked};
use askama::Template;
use base64::display::Base64Display;
use base64::engine::GeneralPurpose;
use model::human::plural;
use model::{Environment, Finding, FindingState, Fingerprint, ThresholdRecord, Verdict, VerdictState};

/// Headings of a part that are named while it is folded.
const TITLES_MAX: usize = 5;
/// Bytes of a text that is still shown large.
const LARGE_MAX: usize = 40;

/// The whole page.
#[derive(Template)]
#[template(path = "page.html")]
pub(super) struct Page {
    pub(super) title: String,
    pub(super) style: &'static str,
    pub(super) script: &'static str,
    /// Compressed.
    pub(super) plotly: Base64Display<'static, 'static, GeneralPurpose>,
    pub(super) has_charts: bool,
    pub(super) results: Vec<ResultView>,
}

/// One result, or the comparison above several.
#[derive(Default)]
pub(super) struct ResultView {
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) title: String,
    pub(super) started: String,
    pub(super) verdict: Option<VerdictView>,
    /// What the result says, in the order in which it is asked; without the verdict.
    pub(super) answers: Vec<Answer>,
    /// The one picture of the first screen: a chart, or two on the same axis.
    pub(super) picture: Vec<Chart>,
    pub(super) parts: Vec<Part>,
}

/// A sentence of the first screen.
pub(super) struct Answer {
    /// What it answers, as the style sheet has it.
    pub(super) class: &'static str,
    pub(super) name: &'static str,
    /// A few words that are the result, shown large; empty where there are none.
    pub(super) large: String,
    pub(super) text: String,
    /// Further figures, in smaller letters; empty where there are none.
    pub(super) beside: String,
}

/// What answers one of the questions in full, folded until it is asked for.
#[derive(Default)]
pub(super) struct Part {
    pub(super) title: &'static str,
    /// What is in it, where its headings do not say that.
    pub(super) told: String,
    pub(super) findings: Vec<FindingView>,
    pub(super) remarks: Vec<String>,
    pub(super) facts: Vec<Fact>,
    pub(super) charts: Vec<Chart>,
    pub(super) flames: Vec<Flame>,
    pub(super) tables: Vec<Table>,
    /// Rules that were not checked, with the reasons.
    pub(super) unchecked: String,
    pub(super) groups: Vec<Group>,
    pub(super) command: String,
    pub(super) files: Vec<FileView>,
}

impl ResultView {
    /// All charts, those of the first screen first.
    pub(super) fn charts(&self) -> impl Iterator<Item = &Chart> {
        self.picture.iter().chain(self.parts.iter().flat_map(|part| &part.charts))
    }

    /// Makes visible what would act in a text; the template makes it text and no markup.
    ///
    /// Not here: the data of charts, whose names are [`super::chart::plain`], and graphs, which are documents in frames of
    /// their own.
    pub(super) fn make_visible(&mut self) {
        let Self { kind: _, name, title, started, verdict, answers, picture, parts } = self;
        [name, title, started].into_iter().for_each(clean);
        if let Some(VerdictView { class: _, word: _, meaning }) = verdict {
            clean(meaning);
        }
        answers.iter_mut().flat_map(|answer| [&mut answer.large, &mut answer.text, &mut answer.beside]).for_each(clean);
        picture.iter_mut().for_each(clean_chart);
        parts.iter_mut().for_each(Part::make_visible);
    }
}

impl Part {
    /// The figures themselves.
    pub(super) fn how_much() -> Self {
        Self { title: "How much", ..Self::default() }
    }

    /// What the machines did meanwhile.
    pub(super) fn limits() -> Self {
        Self { title: "What limits it", ..Self::default() }
    }

    /// What the rules say of the result.
    pub(super) fn belief(verdict: &Verdict) -> Self {
        let of =
            |is_of: fn(FindingState) -> bool| verdict.findings.iter().filter(|one| is_of(one.state)).count() as u64;
        let notes = of(|state| state == FindingState::Note);
        let told = format!(
            "{}, {}, {} not checked",
            plural(of(|state| state != FindingState::Note), "finding"),
            plural(notes, "note"),
            plural(verdict.unchecked.len() as u64, "rule")
        );
        let findings = verdict.findings.iter().map(FindingView::of).collect();
        Self { title: BELIEF, told, findings, unchecked: unchecked(verdict), ..Self::default() }
    }

    /// What is to be said of a result that no rule judges.
    pub(super) fn remarks(remarks: Vec<String>) -> Self {
        Self { title: BELIEF, told: "how the results may be read".to_owned(), remarks, ..Self::default() }
    }

    /// What was done, where, and where the raw files are.
    pub(super) fn measured() -> Self {
        Self { title: "How it was measured", ..Self::default() }
    }

    /// What is in it, in a line.
    pub(super) fn about(&self) -> String {
        if !self.told.is_empty() {
            return self.told.clone();
        }
        let charts = self.charts.iter().filter(|chart| chart.json.is_some()).map(|chart| chart.title.as_str());
        let flames = self.flames.iter().map(|flame| flame.title);
        let tables = self.tables.iter().map(|table| table.title).chain(self.groups.iter().map(|group| group.title));
        let rest = [("Command", self.command.is_empty()), ("Raw files", self.files.is_empty())];
        let rest = rest.into_iter().filter(|(_, is_empty)| !is_empty).map(|(title, _)| title);
        let mut titles: Vec<&str> = Vec::new();
        for title in charts.chain(flames).chain(tables).chain(rest) {
            if !titles.contains(&title) {
                titles.push(title);
            }
        }
        match titles.len().saturating_sub(TITLES_MAX) {
            0 | 1 => titles.join("; "),
            more => format!("{}; {more} more", titles[..TITLES_MAX].join("; ")),
        }
    }

    /// True if there is nothing that it could show.
    pub(super) fn is_empty(&self) -> bool {
        let Self {
            title: _,
            told: _,
            findings,
            remarks,
            facts,
            charts,
            flames,
            tables,
            unchecked,
            groups,
            command,
            files,
        } = self;
        let lists = [findings.is_empty(), remarks.is_empty(), facts.is_empty(), charts.is_empty(), flames.is_empty()];
        let texts = [tables.is_empty(), unchecked.is_empty(), groups.is_empty(), command.is_empty(), files.is_empty()];
        lists.into_iter().chain(texts).all(|is_empty| is_empty)
    }

    fn make_visible(&mut self) {
        let Self {
            title: _,
            told: _,
            findings,
            remarks,
            facts,
            charts,
            flames,
            tables,
            unchecked,
            groups,
            command,
            files,
        } = self;
        for FindingView { class: _, word: _, rule, message, remedy } in findings {
            [rule, message, remedy].into_iter().for_each(clean);
        }
        remarks.iter_mut().chain([unchecked, command]).for_each(clean);
        charts.iter_mut().for_each(clean_chart);
        flames.iter_mut().for_each(|flame| clean(&mut flame.about));
        for Table { title: _, header, rows } in tables {
            header.iter_mut().chain(rows.iter_mut().flatten()).for_each(clean);
        }
        facts
            .iter_mut()
            .chain(groups.iter_mut().flat_map(|group| &mut group.facts))
            .for_each(|fact| clean(&mut fact.value));
        for FileView { name, linked: _, what } in files {
            [name, what].into_iter().for_each(clean);
        }
    }
}

const BELIEF: &str = "May it be believed?";

fn clean(text: &mut String) {
    *text = visible::block(text).into_owned();
}

fn clean_chart(chart: &mut Chart) {
    [&mut chart.title, &mut chart.note].into_iter().for_each(clean);
}

/// The judgement, in words.
pub(super) struct VerdictView {
    class: &'static str,
    word: &'static str,
    meaning: String,
}

pub(super) struct FindingView {
    class: &'static str,
    word: &'static str,
    rule: String,
    message: String,
    remedy: String,
}

impl FindingView {
    fn of(finding: &Finding) -> Self {
        let word = match finding.state {
            FindingState::Note => "note",
            FindingState::Warning => "warning",
            FindingState::Bound => "bound",
            FindingState::Invalid => "invalid",
        };
        let Finding { rule, message, remedy, .. } = finding;
        Self { class: word, word, rule: rule.clone(), message: message.clone(), remedy: remedy.clone() }
    }
}

/// A name and what it says.
pub(super) struct Fact {
    name: &'static str,
    value: String,
}

impl Fact {
    fn of(fact: &words::Fact) -> Self {
        Self { name: fact.label, value: fact.text.clone() }
    }
}

/// Facts under a heading.
pub(super) struct Group {
    pub(super) title: &'static str,
    pub(super) facts: Vec<Fact>,
}

/// Rows under a header; the first cell of a row names it.
pub(super) struct Table {
    pub(super) title: &'static str,
    pub(super) header: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    /// For each column whether it has words, which begin on the left: each of its cells is a word or says nothing.
    pub(super) fn words(&self) -> Vec<bool> {
        let says = |cell: &&String| !cell.is_empty() && *cell != "-";
        let is_word = |cell: &String| cell.starts_with(|c: char| c.is_alphabetic());
        let of = |column: usize| self.rows.iter().filter_map(move |row| row.get(column)).filter(says);
        (0..self.header.len()).map(|i| of(i).next().is_some() && of(i).all(is_word)).collect()
    }
}

/// A flame graph under a heading.
pub(super) struct Flame {
    pub(super) title: &'static str,
    /// Of what, and how to read it.
    pub(super) about: String,
    pub(super) graph: Graph,
}

/// A file behind the result; `linked` when the page lies beside it.
pub(super) struct FileView {
    name: String,
    linked: bool,
    what: String,
}

impl FileView {
    pub(super) const fn new(name: String, linked: bool, what: String) -> Self {
        Self { name, linked, what }
    }
}

impl VerdictView {
    pub(super) fn of(verdict: &Verdict) -> Self {
        Self::in_words(verdict, meaning(verdict))
    }

    /// With a meaning of its own.
    pub(super) fn in_words(verdict: &Verdict, meaning: String) -> Self {
        let (class, word) = match verdict.state {
            VerdictState::Valid => ("valid", "VALID"),
            VerdictState::Bound => ("bound", "BOUND"),
            VerdictState::Invalid => ("invalid", "INVALID"),
        };
        Self { class, word, meaning }
    }
}

/// The sentences of the first screen: the number that the result is about, what limits it as far as that was looked for, and
/// what to do next.
pub(super) fn answers(facts: &[words::Fact], beside: Beside, next: String) -> Vec<Answer> {
    let further: Vec<String> = beside.of(facts).map(|fact| format!("{} {}", fact.label, fact.text)).collect();
    let number =
        facts.iter().find(|fact| is_number(fact)).map(|fact| number(fact.label, &fact.text, further.join("; ")));
    let limiter = facts.iter().find(|fact| fact.about == About::Limiter);
    let limiter = limiter.map(|fact| Answer::new("limiter", fact.label, fact.text.clone()));
    number.into_iter().chain(limiter).chain([Answer::new("next", "next", next)]).collect()
}

impl Answer {
    pub(super) const fn new(class: &'static str, name: &'static str, text: String) -> Self {
        Self { class, name, large: String::new(), text, beside: String::new() }
    }
}

/// What stands beside the number.
#[derive(Clone, Copy)]
pub(super) enum Beside {
    Nothing,
    /// The cells of tables that are read first.
    Cells,
    /// The first figure behind it: a knee beside a peak, the width of a bracket beside its ends.
    NextFigure,
}

impl Beside {
    fn of(self, facts: &[words::Fact]) -> impl Iterator<Item = &words::Fact> {
        let (about, most) = match self {
            Self::Nothing => (About::Result, 0),
            Self::Cells => (About::Cells, usize::MAX),
            Self::NextFigure => (About::Result, 1),
        };
        facts.iter().filter(move |fact| fact.about == about && !is_number(fact)).take(most)
    }
}

/// A number with what stands behind it in brackets, shown large as far as it is short, and with what stands beside it.
fn number(name: &'static str, text: &str, beside: String) -> Answer {
    let split = text.find(" (").unwrap_or(text.len());
    let is_number = split <= LARGE_MAX && !text.starts_with(char::is_alphabetic);
    let (large, rest) = if is_number { text.split_at(split) } else { ("", text) };
    Answer { large: large.to_owned(), beside, ..Answer::new("number", name, rest.trim_start().to_owned()) }
}

fn is_number(fact: &words::Fact) -> bool {
    fact.tone == Tone::Headline
}

/// What came of it, beyond the number that stands on the first screen.
pub(super) fn results(facts: &[words::Fact]) -> Vec<Fact> {
    of(facts, |fact| matches!(fact.about, About::Result | About::Cells) && !is_number(fact))
}

/// What limits it beyond the limiter itself, and what client, network and server used.
pub(super) fn limits(facts: &[words::Fact]) -> Vec<Fact> {
    let limiter = facts.iter().filter(|fact| fact.about == About::Limiter).skip(1);
    let rest = facts.iter().filter(|fact| matches!(fact.about, About::LimiterDetail | About::Use));
    limiter.chain(rest).map(Fact::of).collect()
}

/// What was done for it, and by which machines.
pub(super) fn load(facts: &[words::Fact]) -> Vec<Fact> {
    of(facts, |fact| matches!(fact.about, About::Load | About::Machines))
}

fn of(facts: &[words::Fact], is_shown: impl Fn(&words::Fact) -> bool) -> Vec<Fact> {
    facts.iter().filter(|fact| is_shown(fact)).map(Fact::of).collect()
}

pub(super) fn fact(name: &'static str, value: impl Into<String>) -> Fact {
    Fact { name, value: value.into() }
}

/// What came of thresholds; none without any.
pub(super) fn thresholds(records: &[ThresholdRecord]) -> Option<Table> {
    let header = crate::words::thresholds::HEADER.map(str::to_owned).to_vec();
    let rows: Vec<_> = records.iter().map(crate::words::thresholds::row).collect();
    (!rows.is_empty()).then_some(Table { title: "Thresholds", header, rows })
}

/// Where it ran.
pub(super) fn environment(environment: &Environment) -> Group {
    let mut facts = vec![
        fact("host", environment.host.clone()),
        fact("CPU", format!("{} ({} usable)", environment.cpu_model, environment.cpus)),
        fact("kernel", environment.kernel.clone()),
        fact("open files", model::human::count(environment.nofile)),
        fact("plimsoll", environment.plimsoll.clone()),
    ];
    if let Some(served) = &environment.served {
        facts.extend([
            fact("server", served::line(served)),
            fact("its program", served::program(served)),
            fact("its user", served.user.clone().unwrap_or_else(|| "the one who ran plimsoll".into())),
            fact("its start", served::steps(served)),
        ]);
    }
    Group { title: "Environment", facts }
}

/// Everything that is known of machine and server, and what is not; none in results from before it was read.
pub(super) fn fingerprint(environment: &Environment) -> Vec<Table> {
    let own = environment.fingerprint.as_ref().map(|own| facts("Machine and server", own));
    let there = environment.server_host.as_ref().map(|host| facts("Server's machine", &host.fingerprint));
    own.into_iter().chain(there).collect()
}

fn facts(title: &'static str, fingerprint: &Fingerprint) -> Table {
    let told = |name: String, text: &str| vec![visible::line(&name).into_owned(), visible::line(text).into_owned()];
    let facts = fingerprint
        .facts
        .iter()
        .flat_map(|(section, facts)| facts.iter().map(move |(name, value)| told(format!("{section} {name}"), value)));
    let missing = fingerprint.unavailable.iter().map(|(section, why)| told(section.clone(), why));
    let header = ["", "as it was before the load"].map(str::to_owned).to_vec();
    Table { title, header, rows: facts.chain(missing).collect() }
}

/// The command as it can be typed again.
pub(super) fn command(environment: &Environment) -> String {
    let quoted = environment.command.iter().map(|word| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// What was measured for a result, and so what is kept beside it.
#[derive(Clone, Copy)]
pub(super) enum Measured {
    Once,
    /// Each measurement has a folder of its own.
    ManyTimes,
    /// Nothing: it is made of results that are stored elsewhere.
    Before,
}

/// The raw files of a result, with those of a profile, of what was waited for, of where, and of PHP functions.
pub(super) fn files(shown: &Shown<'_>, measured: Measured, has: [bool; 4]) -> Vec<FileView> {
    let kept: &[(&str, &str)] = match measured {
        Measured::Once => &[
            ("run.json", "this result"),
            ("events.jsonl", "every event as it happened"),
            ("latency.hlog", "latency histograms of every second, for HdrHistogram's tools"),
        ],
        Measured::ManyTimes => {
            &[("run.json", "this result"), ("points/", "events and latency histograms of each measurement")]
        }
        Measured::Before => &[("run.json", "this result")],
    };
    let graphs = [
        [("profile.svg", "the flame graph by itself"), ("profile.folded", "its stacks, one a line")],
        [("off-cpu.svg", "what workers waited for, by itself"), ("off-cpu.folded", "its stacks, one a line")],
        [
            ("off-cpu-stacks.svg", "where threads waited, by itself"),
            ("off-cpu-stacks.folded", "its stacks, one a line"),
        ],
        [("php.svg", "PHP functions, by itself"), ("php.folded", "its stacks, one a line")],
    ];
    let (folder, linked) = (&shown.folder, shown.is_beside);
    let made = graphs.iter().zip(has).filter(|(_, is_there)| *is_there).flat_map(|(files, _)| files);
    let file = |(name, what): &(&str, &str)| FileView::new(format!("{folder}{name}"), linked, (*what).to_owned());
    kept.iter().chain(made).map(file).collect()
}
