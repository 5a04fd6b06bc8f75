//! Facts of a result have one name in every form.

use crate::capacities::bracketed;
use crate::comparisons::undecided;
use crate::experiments::experiment;
use crate::fixtures::{bound_run, bound_sweep, invalid_run, valid_sweep};
use crate::pages::{item, page, profiled};
use crate::renders::render;
use report::record::AnyRecord;
use report::terminal::{self, Style};
use report::{Named, markdown};

/// What a terminal says in another form: cells of its tables, the verdict without a label, and what to do beside each finding.
const ON_PAGES_ALONE: [&str; 7] = [
    "response time, median",
    "response time, 99 % within",
    "failed",
    "result",
    "verdict",
    "next",
    "lowest to highest goodput",
];

/// Label and text of the facts on the first screen, and of those that open each part.
fn facts_of(page: &str) -> Vec<(String, String)> {
    let first = page.split("<dl class=\"answers\">").skip(1);
    let opening = |part| str::split(part, "<h3>").next().unwrap_or_default();
    let parts = page.split("<details").skip(1).map(opening).filter_map(|part| part.split_once("<dl class=\"facts\">"));
    let lists = first.chain(parts.map(|(_, list)| list)).map(|list| list.split("</dl>").next().unwrap_or_default());
    let inside = |text: &str, end: &str| {
        text.split_once('>').and_then(|(_, text)| text.split_once(end)).map(|it| it.0.to_owned())
    };
    let facts = lists.flat_map(|list| list.split("<dt").skip(1)).map(|fact| {
        let (label, text) = fact.split_once("<dd").expect("a text");
        (inside(label, "</dt>").expect("a label"), inside(text, "</dd>").expect("a text"))
    });
    let facts =
        facts.map(|(label, text)| (label, without_beside(&text).replace("<strong>", "").replace("</strong>", "")));
    facts.map(|(label, text)| (plain(&label), plain(text.trim_end()))).collect()
}

/// A text of the first screen without the further figures that stand beside a number.
fn without_beside(text: &str) -> &str {
    text.split("<span").next().unwrap_or_default()
}

/// A text of the page as it is read.
fn plain(text: &str) -> String {
    [("&#39;", "'"), ("&#34;", "\""), ("&#60;", "<"), ("&#62;", ">"), ("&#38;", "&")]
        .iter()
        .fold(text.to_owned(), |text, (code, sign)| text.replace(code, sign))
}

/// The same thing was "beside it" in a terminal and "beside the server" on a page, "client" and "load generator".
#[test]
fn page_and_terminal_call_the_same_thing_by_one_name() {
    let (run, sweep, capacity, comparison) = (profiled(invalid_run()), valid_sweep(), bracketed(), undecided());
    let (bound, late, experiment, render) = (bound_run(), bound_sweep(), experiment(), render());
    let records = [
        AnyRecord::Run(&run),
        AnyRecord::Run(&bound),
        AnyRecord::Sweep(&sweep),
        AnyRecord::Sweep(&late),
        AnyRecord::Capacity(&capacity),
        AnyRecord::Compare(&comparison),
        AnyRecord::Experiment(&experiment),
        AnyRecord::Render(&render),
    ];
    for record in records {
        let named = Named { name: "r", record };
        let shown = page(&[item("r", record, None)]);
        let text = terminal::results(&[named], &Style { width: 10_000, colour: false, verbose: true });
        let facts = facts_of(&shown);
        let shared: Vec<_> = facts.iter().filter(|(label, _)| !ON_PAGES_ALONE.contains(&label.as_str())).collect();
        assert!(shared.len() > 2, "{facts:?}");
        for (label, said) in shared {
            let is_it = |line: &str| line.strip_prefix(label.as_str()).is_some_and(|rest| rest.trim_start() == said);
            assert!(text.lines().any(is_it), "{label}: {said}\n{text}");
        }
    }
}

#[test]
fn markdown_has_the_facts_of_a_section_under_the_names_of_the_terminal() {
    let capacity = bracketed();
    let named = [Named { name: "c", record: AnyRecord::Capacity(&capacity) }];
    let lists = markdown(&named);
    let labels: Vec<&str> =
        lists.lines().filter_map(|line| line.strip_prefix("- ")?.split_once(": ")).map(|(label, _)| label).collect();
    assert_eq!(labels[..4], ["capacity", "bracket", "goal", "ended"], "{lists}");
    let text = terminal::results(&named, &Style { width: 10_000, colour: false, verbose: true });
    for label in labels {
        assert!(text.lines().any(|line| line.starts_with(&format!("{label} "))), "{label}\n{text}");
    }
}
