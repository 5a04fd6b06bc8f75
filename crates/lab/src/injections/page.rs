//! Results of the injections: tables for the terminal, and a page.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};

use super::{Rounds, Row};
use crate::markdown::{self, Page, Table};

pub(super) const PATH: &str = "docs/lab/injections.md";

const INTRODUCTION: &str = "\
Every validity rule has to fire on its fault, beside none that has nothing to do with it, and to be silent without it, or
`cargo xtask injections` fails.
";

const REAL: &str = "\
Measured in windows of 2 to 22 s, server and load generator on one core each, in a network namespace. A control run is the
same load without the fault.

- *also fired*: rules that made more than a note of the fault, and of no control run: failed connects are errors too, and
  other programs on the machine trip EN-03 and CL-09. Bold: the catalogue has no reason for it, and nobody else took CPU time.
- *refused*: preflight found the fault and plimsoll did not start (exit code 2).
";

/// Section behind the remarks on real faults.
const MUTATED: &str = "Mutated evidence";

const MADE_UP: &str = "\
Evidence of a clean run or sweep with one fault written into it, judged by the same function as measured evidence. Each rule
fired on its fault and was silent without it, unless a line here says otherwise. Rules that have no real fault:
";

/// Made-up faults are judged once with the fault and once without it.
const MADE_UP_ROUNDS: Rounds = Rounds { faults: 1, clean: 1 };

/// Real faults and those made up.
pub(super) fn tables(made: &[Row], made_up: &[Row]) -> String {
    let made_up = made_up_list(made_up.iter());
    if made.is_empty() { made_up } else { format!("{}\n\n{}\n{made_up}", statement(rounds(made)), real_table(made)) }
}

/// `docs/lab/injections.md`.
pub(super) fn render(machine: &str, made: &[Row], made_up: &[Row]) -> Page {
    let Rounds { faults, clean } = rounds(made);
    let ways: BTreeSet<&&str> = made.iter().filter(|row| !row.is_impossible).flat_map(|row| row.rules).collect();
    let command = format!("cargo xtask injections --repeat {faults} --clean {clean} --write-docs");
    let (rules, real) = (made_up.len(), ways.len());
    let sums = format!("All {rules} rules have a fault in mutated evidence, {real} of them a real one as well.");
    let is_told = |row: &&Row| !row.is_well() || !row.rules.iter().all(|rule| ways.contains(&rule));
    let page = Page::new("Rules against injected faults").made_by(&command, machine).block(INTRODUCTION).block(sums);
    let page = page.section("Real faults").block(REAL).block(statement(rounds(made))).block(real_table(made));
    let page = page.block(made.iter().filter_map(remark).collect::<Vec<_>>().join("\n")).section(MUTATED);
    page.block(MADE_UP).block(made_up_list(made_up.iter().filter(is_told)))
}

/// The page with the faults of some rules, `only`, made again.
///
/// # Errors
///
/// When one of them is not in the page.
pub(super) fn again(page: &str, only: &str, made: &[Row]) -> Result<String> {
    let rounds = rounds(made);
    // Rows that were made as often as the page says of all have no figures.
    let statement = statement(rounds);
    let is_usual = page.lines().any(|line| line == statement);
    let usual = if is_usual { rounds } else { Rounds { faults: 0, clean: 0 } };
    let is_old = |line: &str| made.iter().any(|row| line.starts_with(&format!("- {}: ", row.name())));
    let mut lines: Vec<String> = page.lines().filter(|line| !is_old(line)).map(str::to_owned).collect();
    for row in made {
        let begin = format!("| {} | {} |", row.name(), row.fault);
        let Some(place) = lines.iter_mut().find(|line| line.starts_with(&begin)) else {
            bail!("{PATH} has no row `{begin}`: write the whole page, without --only");
        };
        *place = line(row, usual);
    }
    let place = |lines: &[String], of: &str| {
        let place = lines.iter().position(|line| line == of);
        place.with_context(|| format!("{PATH} has no line `{of}`: write the whole page, without --only"))
    };
    let remarks_end = place(&lines, &format!("## {MUTATED}"))?.saturating_sub(1);
    lines.splice(remarks_end..remarks_end, made.iter().filter_map(remark));
    let introduction = place(&lines, INTRODUCTION.lines().next().unwrap_or_default())?;
    lines.splice(introduction..introduction, [told(only, rounds), String::new()]);
    Ok(lines.join("\n") + "\n")
}

/// Note on rows that were made again; a line.
fn told(only: &str, Rounds { faults, clean }: Rounds) -> String {
    format!("Rows made again by `cargo xtask injections --only {only} --repeat {faults} --clean {clean} --write-docs`.")
}

/// Rounds in which the faults were made, and their control runs.
fn rounds(made: &[Row]) -> Rounds {
    let most = |times: fn(&Row) -> u32| made.iter().map(times).max().unwrap_or(0);
    Rounds { faults: most(|row| row.times), clean: most(|row| row.clean_times) }
}

/// Statement that is true of every row without figures; a line.
fn statement(Rounds { faults, clean }: Rounds) -> String {
    format!(
        "Each rule fired in {faults} of {faults} runs with its fault and was silent in {clean} of {clean} control runs, \
         unless its row says otherwise."
    )
}

/// Why a fault could not be made, or what went wrong; a line.
fn remark(row: &Row) -> Option<String> {
    Some(format!("- {}: {}", row.name(), row.remark.as_ref()?.lines().next().unwrap_or_default()))
}

/// Real faults: a row for each.
fn real_table(rows: &[Row]) -> Table {
    let usual = rounds(rows);
    let mut table = Table::new("rule | fault | also fired, exceptions");
    rows.iter().for_each(|row| table.line(&line(row, usual)));
    table
}

/// A row of the table of real faults; figures where they are not the `usual` ones.
fn line(row: &Row, usual: Rounds) -> String {
    let mut cell = exceptions(row, usual);
    cell.extend(others(row));
    markdown::line([row.name().as_str(), row.fault, &cell.join("; ")])
}

/// Made-up faults: a line for each, with figures where a rule falls short.
fn made_up_list<'a>(rows: impl Iterator<Item = &'a Row>) -> String {
    let mut list = String::new();
    for row in rows {
        let mut notes = exceptions(row, MADE_UP_ROUNDS);
        notes.extend(others(row).map(|others| format!("also {others}")));
        let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
        list += &format!("- **{}** {}{notes}\n", row.name(), row.fault);
    }
    list
}

/// Rules that fired because of the fault of a row, beside its own; none when there are none.
fn others(row: &Row) -> Option<String> {
    // What has nothing to do with the fault has to be seen in a long table.
    let name = |rule: &str| if row.unexpected.contains(rule) { format!("**{rule}**") } else { rule.to_owned() };
    let others: Vec<String> = row.also_fired().map(name).collect();
    (!others.is_empty()).then(|| others.join(", "))
}

/// Exceptions of a row: faults refused, and how often it fired or was silent where that is not as `usual`.
fn exceptions(row: &Row, usual: Rounds) -> Vec<String> {
    if row.is_impossible {
        return vec!["not possible here".to_owned()];
    }
    let is_refused = row.refused > 0;
    let word = if is_refused { "refused" } else { "fired" };
    let fired = figures(word, row.fired, row.times, usual.faults);
    let fired = fired.or_else(|| is_refused.then(|| word.to_owned()));
    fired.into_iter().chain(figures("silent", row.silent, row.clean_times, usual.clean)).collect()
}

/// `fired 20 of 20`; none when it happened each of the `usual` times.
fn figures(word: &str, part: u32, whole: u32, usual: u32) -> Option<String> {
    match (part == whole, whole == usual) {
        (true, true) => None,
        (true, false) => Some(format!("{word} {part} of {whole}")),
        // What falls short has to be seen in a long table.
        (false, _) => Some(format!("**{word} {part} of {whole}**")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has_line(page: &str, line: &str) {
        assert!(page.lines().any(|it| it == line), "{line} is not in {page}");
    }

    #[test]
    fn what_falls_short_stands_out_and_what_cannot_be_is_told() {
        const RULES: [&[&str]; 6] = [&["ER-01"], &["CL-06"], &["CL-10", "SV-04"], &["ER-09"], &["CL-07"], &["LD-03"]];
        let fault = ["errors", "too few", "quota", "closes", "too few", "closed loop"];
        let mut rows: Vec<Row> = RULES
            .into_iter()
            .zip(fault)
            .map(|(rules, fault)| Row { times: 3, fired: 3, clean_times: 1, silent: 1, ..Row::new(rules, fault) })
            .collect();
        rows[0].fired = 2;
        rows[0].others = ["ER-01", "EN-03", "PH-01"].map(str::to_owned).into();
        rows[0].usual = ["EN-03".to_owned()].into();
        rows[0].unexpected = ["PH-01".to_owned()].into();
        rows[1].refused = 3;
        (rows[2].is_impossible, rows[2].remark) = (true, Some("no control group".to_owned()));
        rows[3].silent = 0;
        rows[3].others = ["CL-01".to_owned()].into();
        (rows[4].times, rows[4].fired, rows[4].refused) = (1, 1, 1);
        insta::assert_snapshot!("page", render("a machine", &rows, &[]));
        let is_well: Vec<bool> = rows.iter().map(Row::is_well).collect();
        assert_eq!(is_well, [false, true, true, false, true, true]);
    }

    #[test]
    fn faults_that_are_made_again_replace_their_rows_alone() {
        const RULES: [&[&str]; 2] = [&["ER-01"], &["SV-05"]];
        let mut rows =
            RULES.map(|rules| Row { times: 3, fired: 3, clean_times: 1, silent: 1, ..Row::new(rules, "it") });
        (rows[1].fired, rows[1].remark) = (2, Some("silent: SV-05".to_owned()));
        let page = render("a machine", &rows, &[]).to_string();
        let made = |times, clean_times| {
            [Row { times, fired: times, clean_times, silent: clean_times, ..Row::new(RULES[1], "it") }]
        };
        let anew = again(&page, "SV-05", &made(20, 2)).expect("it has that row");
        insta::assert_snapshot!("again", anew);
        assert!(page.contains("- SV-05: silent") && !anew.contains("- SV-05: silent"));
        // As often as the others: nothing is to be said of it. And a page that was changed can be changed again.
        has_line(&again(&anew, "SV-05", &made(3, 1)).expect("it has that row"), "| SV-05 | it |  |");
        again(&page, "ER-02", &[Row::new(&["ER-02"], "it")]).expect_err("the page has no such row");
    }

    #[test]
    fn made_up_faults_have_figures_only_where_a_rule_falls_short() {
        let fault = |rules: &'static [&'static str]| Row {
            times: 1,
            fired: 1,
            clean_times: 1,
            silent: 1,
            ..Row::new(rules, "it")
        };
        let mut rows = [fault(&["CL-05"]), fault(&["ER-01"]), fault(&["ER-04"]), fault(&["LD-03"])];
        rows[0].others = ["CL-03".to_owned()].into();
        rows[1].fired = 0;
        rows[2].others = ["ER-01", "ER-06"].map(str::to_owned).into();
        let list = tables(&[], &rows);
        let expected = [
            "- **CL-05** it (also CL-03)",
            "- **ER-01** it (**fired 0 of 1**)",
            "- **ER-04** it (also ER-01, ER-06)",
            "- **LD-03** it",
        ];
        assert_eq!(list.lines().collect::<Vec<_>>(), expected);
        assert_eq!(tables(&[], &rows[..0]), "");
        // The page: what falls short, and rules that have no real fault.
        let page = render("a machine", &[fault(&["CL-05"]), fault(&["ER-01"])], &rows).to_string();
        let shown: Vec<_> = page.lines().filter(|line| line.starts_with("- **")).collect();
        assert_eq!(shown, expected[1..]);
    }
}
