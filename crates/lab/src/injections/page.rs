//! Results of the injections: a table for the terminal, and a page.

use std::collections::BTreeSet;
use std::fmt::Write;

use anyhow::{Context, Result, bail};

use super::Row;
use crate::machine;

pub(super) const PATH: &str = "docs/injections.md";

const INTRODUCTION: &str = "\
A validity rule is worth something when it fires on its fault and is silent without it. Each rule of `plimsoll rules` is put
to both. A rule without an injection, one that is silent on its fault and one that fires without it make
`cargo xtask injections` fail.

- *fired*: how often the rule fired with the fault, of so many times it was made; *silent*: how often it did not with the
  same load without it, right after.
- *also fired*: what made more of the result than a note with the fault and never without it. A fault has consequences of
  its own: who cannot connect has errors as well.
- Other programs are the machine's: they trip EN-03 and CL-09 with and without a fault, and keep a quota from being used up.
";

const REAL: &str = "\
Made on one machine and measured by the program as it is, in windows of 2 to 22 s: server on one core, client on another, in a
network namespace of their own. Faults that other loads cannot hide, such as wrong answers, are made four at a time, then
those that leave the CPUs almost idle, and their absences with them. *refused*: plimsoll looked beforehand, named the fault in
one line and did not begin (exit code 2).
";

const FAULTS_MADE_UP: &str = "## Faults made up";

const MADE_UP: &str = "\
A clean run or sweep with one fault written into its evidence, judged by the same function as a measured one. They are judged
in the tests as well.
";

/// Both tables.
pub(super) fn tables(made: &[Row], made_up: &[Row]) -> String {
    let (made, made_up) = (table(made), table(made_up));
    if made.is_empty() { made_up } else { format!("{made}\n{made_up}") }
}

/// `docs/injections.md`.
pub(super) fn render(made: &[Row], made_up: &[Row]) -> String {
    let (faults, clean) = times(made);
    let ways: BTreeSet<&&str> = made.iter().filter(|row| !row.is_impossible).flat_map(|row| row.rules).collect();
    let mut page = format!(
        "# Injections\n\nMade by `cargo xtask injections --repeat {faults} --clean {clean} --write-docs` on {}.\n\n{INTRODUCTION}\n\
         {} rules, all with a made-up fault, {} of them with a real one as well.\n\n\
         ## Faults made on this machine\n\n{REAL}\n{}\n",
        machine(),
        made_up.len(),
        ways.len(),
        table(made)
    );
    page.extend(made.iter().filter_map(remark).map(|line| line + "\n"));
    let _ = write!(page, "\n{FAULTS_MADE_UP}\n\n{MADE_UP}\n{}", table(made_up));
    page
}

/// The page with the faults of some rules, `only`, made again.
///
/// # Errors
///
/// When one of them is not in the page.
pub(super) fn again(page: &str, only: &str, made: &[Row]) -> Result<String> {
    let (faults, clean) = times(made);
    let how = format!("cargo xtask injections --only {only} --repeat {faults} --clean {clean} --write-docs");
    let is_old = |line: &str| made.iter().any(|row| line.starts_with(&format!("- {}: ", row.name())));
    let mut lines: Vec<String> = page.lines().filter(|line| !is_old(line)).map(str::to_owned).collect();
    for row in made {
        let begin = format!("| {} | {} |", row.name(), row.fault);
        let Some(place) = lines.iter_mut().find(|line| line.starts_with(&begin)) else {
            bail!("{PATH} has no row `{begin}`: write the whole page, without --only");
        };
        *place = line(row);
    }
    let place = |lines: &[String], of: &str| {
        let place = lines.iter().position(|line| line == of);
        place.with_context(|| format!("{PATH} has no line `{of}`: write the whole page, without --only"))
    };
    let remarks_end = place(&lines, FAULTS_MADE_UP)?.saturating_sub(1);
    lines.splice(remarks_end..remarks_end, made.iter().filter_map(remark));
    let introduction = place(&lines, INTRODUCTION.lines().next().unwrap_or_default())?;
    let names: Vec<String> = made.iter().map(Row::name).collect();
    let told = format!("Then {} again, by `{how}`.", names.join(", "));
    lines.splice(introduction..introduction, [told, String::new()]);
    Ok(lines.join("\n") + "\n")
}

/// How often the faults were made, and their absences measured.
fn times(made: &[Row]) -> (u32, u32) {
    let most = |times: fn(&Row) -> u32| made.iter().map(times).max().unwrap_or(0);
    (most(|row| row.times), most(|row| row.clean_times))
}

/// Why a fault could not be made, or what went wrong; a line.
fn remark(row: &Row) -> Option<String> {
    Some(format!("- {}: {}", row.name(), row.remark.as_ref()?.lines().next().unwrap_or_default()))
}

fn table(rows: &[Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut table = "| rule | fault | fired | silent | also fired |\n| --- | --- | --- | --- | --- |\n".to_owned();
    for row in rows {
        table.push_str(&line(row));
        table.push('\n');
    }
    table
}

/// A row of the table.
fn line(row: &Row) -> String {
    let others: Vec<&str> = row.also_fired().collect();
    let [fired, silent] = match row.is_impossible {
        true => ["not here".to_owned(), String::new()],
        false => [fired(row), of(row.silent, row.clean_times)],
    };
    format!("| {} | {} | {fired} | {silent} | {} |", row.name(), row.fault, others.join(", "))
}

fn fired(row: &Row) -> String {
    let word = if row.refused > 0 { "refused " } else { "" };
    format!("{word}{}", of(row.fired, row.times))
}

fn of(part: u32, whole: u32) -> String {
    // What falls short has to be seen in a long table.
    let mark = if part == whole { "" } else { "**" };
    format!("{mark}{part} of {whole}{mark}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_falls_short_stands_out_and_what_cannot_be_is_told() {
        const RULES: [&[&str]; 3] = [&["ER-01"], &["CL-06"], &["CL-10", "SV-04"]];
        let mut rows = [(RULES[0], "errors", 3), (RULES[1], "too few", 1), (RULES[2], "quota", 3)]
            .map(|(rules, fault, times)| Row { times, clean_times: 1, ..Row::new(rules, fault) });
        (rows[0].fired, rows[0].silent) = (2, 1);
        rows[0].others = ["ER-01", "EN-03", "PH-01"].map(str::to_owned).into();
        rows[0].usual = ["EN-03".to_owned()].into();
        (rows[1].fired, rows[1].refused, rows[1].silent) = (1, 1, 1);
        (rows[2].is_impossible, rows[2].remark) = (true, Some("no control group".to_owned()));
        let page = render(&rows, &[]);
        for line in [
            "| ER-01 | errors | **2 of 3** | 1 of 1 | PH-01 |",
            "| CL-06 | too few | refused 1 of 1 | 1 of 1 |  |",
            "| CL-10, SV-04 | quota | not here |  |  |",
            "- CL-10, SV-04: no control group",
        ] {
            assert!(page.lines().any(|it| it == line), "{line} is not in {page}");
        }
        assert!(!rows[0].is_well() && rows[1].is_well() && rows[2].is_well());
    }

    #[test]
    fn faults_that_are_made_again_replace_their_rows_alone() {
        const RULES: [&[&str]; 2] = [&["ER-01"], &["SV-05"]];
        let mut rows =
            RULES.map(|rules| Row { times: 3, fired: 3, clean_times: 1, silent: 1, ..Row::new(rules, "it") });
        (rows[1].fired, rows[1].remark) = (2, Some("silent: SV-05".to_owned()));
        let page = render(&rows, &[]);
        let again_row = || Row { times: 20, fired: 20, clean_times: 2, silent: 2, ..Row::new(RULES[1], "it") };
        let anew = again(&page, "SV-05", &[again_row()]).expect("it has that row");
        for line in [
            "| ER-01 | it | 3 of 3 | 1 of 1 |  |",
            "| SV-05 | it | 20 of 20 | 2 of 2 |  |",
            "Then SV-05 again, by `cargo xtask injections --only SV-05 --repeat 20 --clean 2 --write-docs`.",
        ] {
            assert!(anew.lines().any(|it| it == line), "{line} is not in {anew}");
        }
        assert!(page.contains("- SV-05: silent") && !anew.contains("- SV-05: silent"));
        again(&page, "ER-02", &[Row::new(&["ER-02"], "it")]).expect_err("the page has no such row");
    }
}
