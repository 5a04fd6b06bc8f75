//! The table of the zoo, for the terminal and for a page.

use super::{HIGH, MEDIUM, PREDICTED, Row};
use crate::markdown::{Page, Table};
use model::Confidence;
use model::human::{count, percent};

pub(super) const PATH: &str = "docs/lab/bottleneck-tests.md";

const INTRODUCTION: &str = "\
Servers from Debian's packages and language runtimes, each with one limit that is known because it was set. Each is measured
by a sweep over 1 to 32 connections, the server on one core and the load generator on the other, in a network namespace. A
name counts as right when it is the first or another one that is true of the set-up, and the sentence below it tells the
owner what to look at: in words that were written down beside the truth.

*predicted* and *measured* are the goodput that the limiter predicted of a change, and what the server did with that change.
";

/// One line for each set-up.
pub(super) fn table(rows: &[Row]) -> Table {
    let mut table = Table::new("set-up | limit, and how it is known | answer | confidence | predicted | measured");
    rows.iter().for_each(|row| add(&mut table, row));
    table
}

/// `docs/lab/bottleneck-tests.md`.
pub(super) fn render(machine: &str, rows: &[Row]) -> Page {
    let page = Page::new("The limiter against known servers").made_by("cargo xtask zoo --write-docs", machine);
    page.block(INTRODUCTION).block(table(rows)).block(sums(rows)).section("Set-ups").block(list(rows))
}

/// Adds the row of a set-up.
fn add(table: &mut Table, row: &Row) {
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
    table.row(&[&row.set_up.name, &truth, &answer, &sure, &rate(predicted), &rate(measured)]);
}

/// How many are right, overall and by confidence, and how good the predictions are; each with its goal.
pub(super) fn sums(rows: &[Row]) -> String {
    let measured: Vec<&Row> = rows.iter().filter(|row| row.outcome.is_ok()).collect();
    let right = measured.iter().filter(|row| row.is_right()).count();
    let mut text = format!("- right: {right} of {} measured, of {} set-ups\n", measured.len(), rows.len());
    for (level, goal) in [(Confidence::High, HIGH), (Confidence::Medium, MEDIUM)] {
        let at = |row: &&&Row| row.outcome.as_ref().is_ok_and(|answer| answer.confidence() == Some(level));
        let of: Vec<_> = measured.iter().filter(at).collect();
        let right = of.iter().filter(|row| row.is_right()).count();
        let (word, goal) = (level.word(), percent(goal));
        text += &format!("- {word} confidence: {right} of {} right (goal: {goal})\n", of.len());
    }
    let off: Vec<f64> = measured.iter().filter_map(|row| row.outcome.as_ref().ok()?.off()).collect();
    let met = off.iter().filter(|off| off.abs() <= PREDICTED).count();
    text + &format!("- predictions within {}: {met} of {} that were tried\n", percent(PREDICTED), off.len())
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
    use super::super::{Answer, SetUp, tests};
    use super::*;
    use model::Limiter;

    #[test]
    fn a_table_has_right_answers_wrong_ones_and_those_that_were_not_measured() {
        static SET_UP: SetUp = SetUp {
            name: "nginx-pool",
            needs: &[],
            server: "nginx with 4 slots",
            truth: &["cpu-limited", "worker-pool-limited"],
            says: &["4 slots"],
            known_by: "4 slots are 80/s",
            script: "",
        };
        let said = |limiter: &str| Answer {
            limiter: Some(Limiter {
                says: "4 slots are full".into(),
                ..tests::said(limiter, Confidence::Medium, 2_000.0)
            }),
            changed_per_s: Some(1_900.0),
        };
        let outcomes = [Ok(said("cpu-limited")), Ok(said("made-up-limited")), Err("x\nnginx is not here".to_owned())];
        let rows = outcomes.map(|outcome| Row { set_up: &SET_UP, outcome });
        insta::assert_snapshot!("page", render("a machine", &rows));
    }
}
