//! Thirty-one mistakes of published benchmarks: the rule that catches each, or why no tool could.
//!
//! The table of docs/reference/audit.md is this one; the test says when it is not.

use crate::support::{bytes, plain, state, with};
use audit::{Audited, Context, Processes, Sockets, Text, compare};
use model::{FindingState, RuleCard, Verdict};

const GUIDE: &str = include_str!("../../../../docs/reference/audit.md");

/// One mistake.
struct Entry {
    id: &'static str,
    mistake: &'static str,
    caught: Caught,
}

enum Caught {
    /// By these rules, on these findings; and what has to be given with the output.
    By(&'static [(&'static str, FindingState)], fn() -> Vec<Verdict>, &'static str),
    /// By nobody who has only the output.
    Not(&'static str),
}

use Caught::{By, Not};
use FindingState::{Bound, Invalid, Note, Warning};

#[rustfmt::skip]
static LEDGER: [Entry; 31] = [
    Entry { id: "M1", mistake: "errors reported as throughput", caught: By(&[("ER-01", Invalid)], || one("blog-uncached-wrk.txt"), "the output") },
    Entry { id: "M2", mistake: "speed-up between two results of which neither is valid", caught: By(&[("CP-10", Invalid)], || two("blog-uncached-wrk.txt", "blog-cached-wrk.txt"), "both outputs") },
    Entry { id: "M3", mistake: "redirect measured instead of the page", caught: By(&[("ER-02", Invalid)], || one("blog-mariadb-1000-httperf.txt"), "the output, if it tells redirects apart (ER-02)") },
    Entry { id: "M4", mistake: "connections that were never opened", caught: By(&[("CL-06", Invalid)], || one("blog-cached-wrk.txt"), "the output; of tools that hide it `--nofile`") },
    Entry { id: "M5", mistake: "overload taken for capacity", caught: By(&[("ER-01", Invalid)], || one("blog-mariadb-1500-httperf.txt"), "the output") },
    Entry { id: "M6", mistake: "latency falls under overload, as failures are fast", caught: By(&[("ER-01", Invalid)], || one("blog-mysql-1500-httperf.txt"), "the output") },
    Entry { id: "M7", mistake: "offered rate taken for throughput", caught: By(&[("SA-01", Bound)], || one("offered-table.csv"), "the table; of an output the rate of replies") },
    Entry { id: "M8", mistake: "figure of another run", caught: By(&[("RP-06", Invalid)], || text(&["blog-cached-wrk.txt"]), "`--text`, but not a picture") },
    Entry { id: "M9", mistake: "command and result do not match", caught: By(&[("RP-07", Invalid)], || one("blog-get-httperf.txt"), "the command line above the output") },
    Entry { id: "M10", mistake: "failed POST requests counted", caught: By(&[("ER-01", Invalid)], || one("blog-post-httperf.txt"), "the output; not that requests grow slower") },
    Entry { id: "M11", mistake: "different systems compared as one", caught: By(&[("PH-07", Warning), ("CP-01", Invalid)], || two("blog-get-httperf.txt", "blog-5-children-httperf.txt"), "both outputs") },
    Entry { id: "M12", mistake: "1/throughput called latency", caught: By(&[("RP-08", Invalid)], || one("concurrency-table.md"), "the table; a note on every output of ab") },
    Entry { id: "M13", mistake: "Little's law violated, timeouts left out of the latencies", caught: By(&[("PH-01", Warning), ("ER-05", Bound)], || one("blog-cached-wrk.txt"), "the output") },
    Entry { id: "M14", mistake: "ratio of results that have nothing in common", caught: By(&[("CP-01", Invalid)], || two("blog-5-children-httperf.txt", "blog-cached-wrk.txt"), "both outputs") },
    Entry { id: "M15", mistake: "single runs taken for the effect of one factor", caught: By(&[("CP-03", Warning)], || two("wrk.txt", "wrk-minutes.txt"), "both outputs; not what else was changed") },
    Entry { id: "M16", mistake: "too short", caught: By(&[("LD-04", Invalid)], || one("cached-8-ab.txt"), "the output") },
    Entry { id: "M17", mistake: "22 bytes called 2,048", caught: By(&[("ER-03", Invalid)], || sized("urandom-ab.txt", 2048), "`--expect-size`; else a warning, from the URL") },
    Entry { id: "M18", mistake: "error page with status 200 measured", caught: By(&[("ER-03", Invalid)], || sized("php-error-200-ab.txt", 14), "`--expect-size`; with status 500 the output is enough (ER-01)") },
    Entry { id: "M19", mistake: "rate limiter possibly in the way", caught: By(&[("ER-08", Invalid)], || one("limited-hey.txt"), "an output with exact statuses") },
    Entry { id: "M20", mistake: "unlike concurrency compared", caught: By(&[("CP-01", Invalid)], || two("cached-4-ab.txt", "cached-8-ab.txt"), "both outputs") },
    Entry { id: "M21", mistake: "changing answers accepted during warm-up", caught: By(&[("ER-03", Invalid)], || one("changing-page-ab.txt"), "an output of ab") },
    Entry { id: "M22", mistake: "noise read as a trend", caught: By(&[("ST-06", Note)], || one("concurrency-table.md"), "the table") },
    Entry { id: "M23", mistake: "wrong units: users for requests, unrelated quantities divided", caught: Not("not in an output; figures without a result are RP-06") },
    Entry { id: "M24", mistake: "something else verified than what was configured", caught: Not("not in an output") },
    Entry { id: "M25", mistake: "client saturated, or on the server", caught: By(&[("CL-01", Bound)], || one("blog-mariadb-1000-httperf.txt"), "an output of httperf, which prints its CPU use") },
    Entry { id: "M26", mistake: "client out of ports and sockets", caught: By(&[("NE-09", Note)], sockets, "`--ss`; address errors of httperf are CL-07") },
    Entry { id: "M27", mistake: "profile taken while there was no load", caught: Not("not in an output") },
    Entry { id: "M28", mistake: "saturation demanded and not checked", caught: By(&[("SA-01", Bound), ("SA-03", Bound)], || one("offered-table.csv"), "a table of loads") },
    Entry { id: "M29", mistake: "the same figures for different hosts", caught: By(&[("RP-09", Invalid)], || two("wrk.txt", "wrk-uneven.txt"), "both outputs; not versions") },
    Entry { id: "M30", mistake: "secret published with the result", caught: By(&[("RP-10", Warning)], || one("blog-post-httperf.txt"), "the output") },
    Entry { id: "M31", mistake: "raw data missing", caught: By(&[("RP-11", Invalid)], || text(&["wrk.txt"]), "`--text`") },
];

fn one(name: &str) -> Vec<Verdict> {
    vec![plain(name).record.verdict]
}

fn sized(name: &str, expect_size_bytes: u64) -> Vec<Verdict> {
    let context = Context { expect_size_bytes: Some(expect_size_bytes), ..Context::default() };
    vec![with(name, &context).record.verdict]
}

fn sockets() -> Vec<Verdict> {
    let sockets = Sockets::read(&Text::decode(&bytes("blog-ss.txt")).unwrap()).unwrap();
    vec![with("httperf.txt", &Context { sockets: Some(sockets), ..Context::default() }).record.verdict]
}

fn two(one: &str, other: &str) -> Vec<Verdict> {
    vec![compare(&[plain(one), plain(other)], None).comparison.expect("two are compared")]
}

fn text(names: &[&str]) -> Vec<Verdict> {
    let audited: Vec<Audited> = names.iter().map(|name| plain(name)).collect();
    let text = Text::decode(&bytes("blog-report.md")).unwrap();
    vec![compare(&audited, Some(&text)).text.expect("a text was given")]
}

#[test]
fn every_mistake_is_caught_by_its_rules() {
    for entry in &LEDGER {
        let By(rules, verdicts, _) = &entry.caught else { continue };
        let verdicts = verdicts();
        for (rule, expected) in *rules {
            let found = verdicts.iter().find_map(|verdict| state(verdict, rule));
            assert_eq!(found, Some(*expected), "{} by {rule}: {verdicts:#?}", entry.id);
        }
    }
}

#[test]
fn an_output_without_these_mistakes_fires_none_of_their_rules() {
    let verdict = plain("oha.txt").record.verdict;
    let notes = ["LD-03"];
    let fired: Vec<_> = verdict.findings.iter().map(|finding| finding.rule.as_str()).collect();
    assert_eq!(fired, notes);
    let alike = compare(&[plain("oha.txt"), plain("oha.txt")], None).comparison.expect("two are compared");
    assert_eq!([state(&alike, "CP-01"), state(&alike, "CP-10"), state(&alike, "PH-07")], [None; 3]);
    let record = compare(&[plain("wrk-minutes.txt"), plain("wrk-minutes.txt")], None);
    assert_eq!(record.goodput_ratios, None, "copies are not compared");
}

#[test]
fn the_guide_has_this_table() {
    let row = |entry: &Entry| match &entry.caught {
        By(rules, _, given) => {
            let rules: Vec<_> = rules.iter().map(|(rule, _)| *rule).collect();
            format!("| {} | {} | {} | {given} |", entry.id, entry.mistake, rules.join(", "))
        }
        Not(why) => format!("| {} | {} | none | {why} |", entry.id, entry.mistake),
    };
    let rows: Vec<String> = LEDGER.iter().map(row).collect();
    let shown: Vec<&str> = GUIDE.lines().filter(|line| line.starts_with("| M")).collect();
    assert_eq!(shown, rows, "docs/reference/audit.md is to have:\n{}", rows.join("\n"));
}

#[test]
fn the_guide_has_every_rule() {
    let row = |rule: &RuleCard| Some(format!("| {} {} | {} |", rule.id, rule.title, rule.audit.as_ref()?.data));
    let rules: Vec<String> = audit::catalogue().rules.iter().filter_map(row).collect();
    let is_rule =
        |line: &&str| line.starts_with("| ") && line[2..].split('-').next().is_some_and(|family| family.len() == 2);
    let shown: Vec<&str> = GUIDE.lines().filter(is_rule).collect();
    assert_eq!(shown, rules, "docs/reference/audit.md is to have:\n{}", rules.join("\n"));
}

#[test]
fn processes_of_a_sample_are_summed() {
    let text = Text::decode(&bytes("blog-pidstat.txt")).unwrap();
    assert!((Processes::read(&text).unwrap().cores_busy - 5.227).abs() < 0.001);
}
