//! The page as its template sees it: text, tables and charts, already worded.

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
use model::{Environment, FindingState, Fingerprint, ThresholdRecord, Verdict, VerdictState};

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
    /// What came of it in plain words, before anything else; empty where the numbers are the result.
    pub(super) lead: String,
    pub(super) verdict: Option<VerdictView>,
    /// What stops the server, in lines.
    pub(super) limiter: Vec<Fact>,
    pub(super) remarks: Vec<String>,
    pub(super) headline: Vec<Fact>,
    pub(super) charts: Vec<Chart>,
    pub(super) graph: Option<Graph>,
    /// PHP functions.
    pub(super) php: Option<Graph>,
    /// What has changed of them, of a comparison.
    pub(super) differences: Vec<DifferenceView>,
    /// What was waited for.
    pub(super) waiting: Option<Graph>,
    /// Where threads waited.
    pub(super) waiting_stacks: Option<Graph>,
    pub(super) tables: Vec<Table>,
    pub(super) groups: Vec<Group>,
    pub(super) command: String,
    pub(super) files: Vec<FileView>,
}

impl ResultView {
    /// Makes visible what would act in a text; the template makes it text and no markup.
    ///
    /// Not here: the data of charts, whose names are [`super::chart::plain`], and graphs, which are documents in frames of
    /// their own.
    pub(super) fn make_visible(&mut self) {
        let Self {
            kind: _,
            name,
            title,
            started,
            lead,
            verdict,
            limiter,
            remarks,
            headline,
            charts,
            graph: _,
            differences,
            waiting: _,
            waiting_stacks: _,
            php: _,
            tables,
            groups,
            command,
            files,
        } = self;
        [name, title, started, lead, command].into_iter().for_each(clean);
        if let Some(VerdictView { class: _, word: _, meaning, findings, unchecked }) = verdict {
            [meaning, unchecked].into_iter().for_each(clean);
            let texts = |finding: &mut FindingView| {
                let FindingView { class: _, word: _, rule, message, remedy } = finding;
                [rule, message, remedy].into_iter().for_each(clean);
            };
            findings.iter_mut().for_each(texts);
        }
        remarks.iter_mut().for_each(clean);
        for chart in charts {
            [&mut chart.title, &mut chart.note].into_iter().for_each(clean);
        }
        for DifferenceView { title: _, about, graph: _ } in differences {
            clean(about);
        }
        for Table { title: _, header, rows } in tables {
            header.iter_mut().chain(rows.iter_mut().flatten()).for_each(clean);
        }
        let facts = groups.iter_mut().flat_map(|group| &mut group.facts);
        facts.chain(limiter).chain(headline).for_each(|fact| clean(&mut fact.value));
        let texts = |FileView { name, linked: _, what }: &mut FileView| [name, what].into_iter().for_each(clean);
        files.iter_mut().for_each(texts);
    }
}

fn clean(text: &mut String) {
    *text = visible::block(text).into_owned();
}

/// The judgement, in words.
pub(super) struct VerdictView {
    class: &'static str,
    word: &'static str,
    meaning: String,
    findings: Vec<FindingView>,
    unchecked: String,
}

struct FindingView {
    class: &'static str,
    word: &'static str,
    rule: String,
    message: String,
    remedy: String,
}

/// A name and what it says.
pub(super) struct Fact {
    name: &'static str,
    value: String,
    /// True of a few words that are the result.
    is_large: bool,
}

impl Fact {
    fn of(fact: &words::Fact) -> Self {
        let is_large = fact.tone == Tone::Headline && fact.text.len() <= LARGE_MAX;
        Self { name: fact.label, value: fact.text.clone(), is_large }
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

/// A differential flame graph.
pub(super) struct DifferenceView {
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
        let findings = verdict.findings.iter().map(|finding| {
            let word = match finding.state {
                FindingState::Note => "note",
                FindingState::Warning => "warning",
                FindingState::Bound => "bound",
                FindingState::Invalid => "invalid",
            };
            FindingView {
                class: word,
                word,
                rule: finding.rule.clone(),
                message: finding.message.clone(),
                remedy: finding.remedy.clone(),
            }
        });
        Self { class, word, meaning, findings: findings.collect(), unchecked: unchecked(verdict) }
    }
}

/// The facts of the limiter's section.
pub(super) fn limiter(facts: &[words::Fact]) -> Vec<Fact> {
    let shown = facts.iter().filter(|fact| matches!(fact.about, About::Limiter | About::LimiterDetail));
    shown.map(Fact::of).collect()
}

/// The facts at the top of a result: all but those that stand in its title, or in a section, a group or a table of their own.
pub(super) fn headline(facts: &[words::Fact]) -> Vec<Fact> {
    let is_elsewhere = |about: About| match about {
        About::Verdict | About::Limiter | About::LimiterDetail | About::Target => true,
        About::Agent | About::Requests | About::Threshold => true,
        About::Figures | About::Summary | About::Next => true,
        About::Result | About::Cells | About::Load | About::Machines | About::Use => false,
    };
    facts.iter().filter(|fact| !is_elsewhere(fact.about)).map(Fact::of).collect()
}

pub(super) fn fact(name: &'static str, value: impl Into<String>) -> Fact {
    Fact { name, value: value.into(), is_large: false }
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
