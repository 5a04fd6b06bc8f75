//! The table of the zoo, for the terminal and for a page.

use super::{HIGH, MEDIUM, PREDICTED, Row};
use crate::machine;
use model::Confidence;
use model::human::{count, percent};
use std::fmt::Write;

pub(super) const PATH: &str = "docs/zoo.md";

const INTRODUCTION: &str = "\
Servers from Debian's packages and language runtimes, each with one limit that is known because it was set. Each is measured
by a sweep over 1 to 32 connections, the server on one core and the load generator on the other, in a network namespace. A
name counts as right when it is the first or another one that is true of the set-up, and the sentence below it tells the
owner what to look at: in words that were written down beside the truth.

*predicted* and *measured* are the goodput that the limiter predicted of a change, and what the server did with that change.
";

const HEAD: &str = "\
| set-up | limit, and how it is known | answer | confidence | predicted | measured |
| --- | --- | --- | --- | --- | --- |
";

/// One line for each set-up, and the sums.
pub(super) fn table(rows: &[Row]) -> String {
    let lines: Vec<String> = rows.iter().map(line).collect();
    format!("{HEAD}{}\n\n{}", lines.join("\n"), sums(rows))
}

/// `docs/zoo.md`.
pub(super) fn render(rows: &[Row]) -> String {
    format!(
        "# The limiter against known servers\n\nMade by `cargo xtask zoo --write-docs` on {}.\n\n{INTRODUCTION}\n{}\n## Set-ups\n\n{}",
        machine(),
        table(rows),
        list(rows)
    )
}

fn line(row: &Row) -> String {
    let truth = row.set_up.truth.join(" or ");
    let (answer, sure, predicted, measured) = match &row.outcome {
        Err(why) => (format!("not measured: {}", why.lines().next_back().unwrap_or_default()), "", None, None),
        Ok(answer) => {
            let mark = if row.is_right() { "" } else { " **(wrong)**" };
            let sure = answer.confidence().map_or("", Confidence::word);
            (format!("{}{mark}", answer.name()), sure, answer.predicted_per_s(), answer.changed_per_s)
        }
    };
    let rate =
        |per_s: Option<f64>| per_s.map_or_else(String::new, |per_s| format!("{}/s", count(per_s.round() as u64)));
    format!("| {} | {truth} | {answer} | {sure} | {} | {} |", row.set_up.name, rate(predicted), rate(measured))
}

/// How many are right, overall and by confidence, and how good the predictions are; each with its goal.
fn sums(rows: &[Row]) -> String {
    let measured: Vec<&Row> = rows.iter().filter(|row| row.outcome.is_ok()).collect();
    let right = measured.iter().filter(|row| row.is_right()).count();
    let mut text = format!("- right: {right} of {} measured, of {} set-ups\n", measured.len(), rows.len());
    for (level, goal) in [(Confidence::High, HIGH), (Confidence::Medium, MEDIUM)] {
        let at = |row: &&&Row| row.outcome.as_ref().is_ok_and(|answer| answer.confidence() == Some(level));
        let of: Vec<_> = measured.iter().filter(at).collect();
        let right = of.iter().filter(|row| row.is_right()).count();
        let _ =
            writeln!(text, "- {} confidence: {right} of {} right (goal: {})", level.word(), of.len(), percent(goal));
    }
    let off: Vec<f64> = measured.iter().filter_map(|row| row.outcome.as_ref().ok()?.off()).collect();
    let met = off.iter().filter(|off| off.abs() <= PREDICTED).count();
    let _ = writeln!(text, "- predictions within {}: {met} of {} that were tried", percent(PREDICTED), off.len());
    text
}

/// What each is, and what was said of it.
pub(super) fn list(rows: &[Row]) -> String {
    let item = |row: &Row| {
        let limiter = row.outcome.as_ref().ok().and_then(|answer| answer.limiter.as_ref());
        let said = limiter.map_or_else(String::new, |limiter| format!(" Said: {}.", limiter.says));
        format!("- **{}**: {}. {}.{said}\n", row.set_up.name, row.set_up.server, row.set_up.known_by)
    };
    rows.iter().map(item).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Answer, all, tests};
    use super::*;
    use model::Limiter;

    #[test]
    fn a_table_has_right_answers_wrong_ones_and_those_that_were_not_measured() {
        let mut set_ups = all().filter(|set_up| set_up.truth[0] != "not-a-server-limit");
        let mut next = || set_ups.next().expect("there are thirty");
        let (a, b, c) = (next(), next(), next());
        let said = |limiter: &str, says: &str| Answer {
            limiter: Some(Limiter { says: says.to_owned(), ..tests::said(limiter, Confidence::Medium, 2_000.0) }),
            changed_per_s: Some(1_900.0),
        };
        let rows = [
            Row { set_up: a, outcome: Ok(said(a.truth[0], a.says[0])) },
            Row { set_up: b, outcome: Ok(said("made-up-limited", b.says[0])) },
            Row { set_up: c, outcome: Err("x\nnginx is not installed".to_owned()) },
        ];
        let table = table(&rows);
        assert!(table.contains("| medium | 2,000/s | 1,900/s |"), "{table}");
        assert!(
            table.contains("made-up-limited **(wrong)**") && table.contains("not measured: nginx is not"),
            "{table}"
        );
        assert!(table.contains("- right: 1 of 2 measured, of 3 set-ups"), "{table}");
        assert!(table.contains("- medium confidence: 1 of 2 right (goal: 80 %)"), "{table}");
        assert!(table.contains("- predictions within 20 %: 2 of 2 that were tried"), "{table}");
        assert!(render(&rows).contains(a.known_by));
    }
}
