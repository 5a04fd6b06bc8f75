//! The endings and what came of them: as a table for the terminal and as a page.

use super::ending::Ending;
use super::judge::{HANDLING, Kept};
use super::rows::Row;
use anyhow::{Context, Result, bail};
use std::fmt::Write;

pub(super) const PATH: &str = "docs/chaos.md";

/// What the line begins with that says how the page was made.
const MADE: &str = "Made by `";

const INTRODUCTION: &str = "\
`cargo xtask chaos` ends plimsoll in every way below, at instants that follow from a seed, and looks at what is left. Each try
measures the built-in server for some seconds, in a folder of its own; only processes started there are ended.
";

const LEGEND: &str = "\
- *ended before*: the program had ended before the instant. *nothing yet*: nothing had been measured.
- *whole*: the result is on the disk, and the same to the byte when it is made again of its events. *printed*: the disk did
  not take it, stdout did; of its events the result can be made up to the instant. *recovered*: made by
  `plimsoll report --recover DIR`, of a sweep with the loads that had ended, of a profile of the samples. *lost*: half a
  result, or none of what was measured.
- *longest loss*: measured time that events, samples and result lack at the instant, of all that had passed since the load, or
  the sampling, was seen to begin.
- *left*: processes, listening sockets, mounts and files that were left. *said*: tries with a line that says what has
  happened.
- *wrong*: tries in which anything was not as it should be: a loss of more than a second and LATE until a line is written
  (beyond the time for which the machine kept the lab itself waiting), half a result, something left, nothing said, a panic,
  another exit code than documented.
";

const HEAD: [&str; 13] = [
    "ending",
    "of",
    "tries",
    "ended before",
    "nothing yet",
    "whole",
    "printed",
    "recovered",
    "lost",
    "longest loss",
    "left",
    "said",
    "wrong",
];

/// How each is made.
fn endings(all: &[Ending]) -> String {
    let mut table = "| ending | made by |\n| --- | --- |\n".to_owned();
    for Ending { name, made, .. } in all {
        let _ = writeln!(table, "| {name} | {made} |");
    }
    table.push_str("| servers | SIGKILL for plimsoll, its supervisor, a server or a worker of it, of nine servers |\n");
    table
}

/// What came of them.
pub(super) fn table(rows: &[Row]) -> String {
    let mut table = format!("| {} |\n|{}\n", HEAD.join(" | "), " --- |".repeat(HEAD.len()));
    for row in rows.iter().filter(|row| row.tries > 0) {
        let _ = writeln!(table, "{}", line(row));
    }
    table
}

fn line(row: &Row) -> String {
    format!("| {} |", cells(row).join(" | "))
}

fn cells(row: &Row) -> [String; HEAD.len()] {
    let kept = |kept| shown(row.kept(kept));
    [
        row.ending.to_owned(),
        row.verb.to_owned(),
        row.tries.to_string(),
        shown(row.had_ended),
        kept(Kept::Nothing),
        kept(Kept::Whole),
        kept(Kept::Printed),
        kept(Kept::Recovered),
        kept(Kept::Broken),
        row.lost_most.map_or_else(String::new, |lost| format!("{:.2} s", lost.as_secs_f64())),
        row.left.to_string(),
        shown(row.said),
        if row.wrong == 0 { "0".into() } else { format!("**{}**", row.wrong) },
    ]
}

/// Zeros would hide the others.
fn shown(count: u64) -> String {
    if count == 0 { String::new() } else { count.to_string() }
}

/// What could not be tried, a line each.
pub(super) fn skipped(rows: &[Row]) -> Vec<String> {
    let told = rows.iter().filter_map(|row| Some((row, row.reason.as_ref()?)));
    told.map(|(row, reason)| format!("- {}, {} ({} skipped): {reason}", row.ending, row.verb, row.skipped)).collect()
}

/// What is said, the first line of each.
fn lines(rows: &[Row]) -> Vec<String> {
    let said = rows.iter().filter_map(|row| Some((row, row.line.as_ref()?)));
    said.map(|(row, line)| format!("- {}, {}: `{line}`", row.ending, row.verb)).collect()
}

/// `docs/chaos.md`, made by `command` on `machine`.
pub(super) fn render(command: &str, machine: &str, all: &[Ending], rows: &[Row]) -> String {
    let late = format!("{:.1} s", HANDLING.as_secs_f64());
    let mut page = format!(
        "# Endings\n\n{INTRODUCTION}\n{}\n## Results\n\n{MADE}{command}` on {machine}.\n\n{}\n{}",
        endings(all),
        LEGEND.replace("LATE", &late),
        table(rows)
    );
    for (title, list) in [("Skipped", skipped(rows)), ("What is said", lines(rows))] {
        if !list.is_empty() {
            let _ = write!(page, "\n{title}:\n\n{}\n", list.join("\n"));
        }
    }
    page
}

/// The page with those rows in the place of their old ones, made by `command`.
///
/// # Errors
///
/// When one of them is not in the page.
pub(super) fn again(page: &str, command: &str, rows: &[Row]) -> Result<String> {
    let mut lines: Vec<String> = page.lines().map(str::to_owned).collect();
    for row in rows {
        let begin = format!("| {} | {} | ", row.ending, row.verb);
        let Some(place) = lines.iter_mut().find(|line| line.starts_with(&begin)) else {
            bail!("{PATH} has no row `{begin}`: write the whole page, without --only");
        };
        *place = line(row);
        let said = format!("- {}, {}: `", row.ending, row.verb);
        let new = row.line.as_ref().map(|line| format!("{said}{line}`"));
        for (old, new) in lines.iter_mut().filter(|line| line.starts_with(&said)).zip(new) {
            *old = new;
        }
    }
    let made = lines.iter().position(|line| line.starts_with(MADE)).context("the page does not say how it was made")?;
    lines.insert(made + 1, format!("Rows made again by `{command}`."));
    Ok(lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chaos::endings::ENDINGS;
    use std::collections::BTreeMap;
    use std::time::Duration;
    use xtask::workspace;

    fn rows() -> [Row; 2] {
        [
            Row {
                tries: 40,
                had_ended: 3,
                kept: BTreeMap::from([(Kept::Whole, 12), (Kept::Recovered, 28)]),
                lost_most: Some(Duration::from_millis(1040)),
                line: Some("plimsoll: it is so".into()),
                said: 2,
                ..Row::new("power-cut", "run")
            },
            Row { skipped: 20, reason: Some("a loop device needs root".into()), ..Row::new("failing-disk", "run") },
        ]
    }

    #[test]
    fn the_table_has_what_was_tried_and_the_page_what_was_not() {
        let table = table(&rows());
        let cells: Vec<&str> = table.lines().last().expect("a row").split('|').map(str::trim).collect();
        assert_eq!(cells[1..14], ["power-cut", "run", "40", "3", "", "12", "", "28", "", "1.04 s", "0", "2", "0"]);
        assert!(table.lines().all(|line| line.matches('|').count() == HEAD.len() + 1), "{table}");
        assert!(!table.contains("failing-disk"));
        let page = render("cargo xtask chaos --seed 7", "2 cores", &ENDINGS, &rows());
        assert!(page.contains("- failing-disk, run (20 skipped): a loop device needs root"), "{page}");
        assert!(
            page.contains("- power-cut, run: `plimsoll: it is so`") && page.contains("a second and 0.3 s"),
            "{page}"
        );
    }

    #[test]
    fn what_is_wrong_stands_out() {
        let [row, _] = rows();
        let table = table(&[Row { wrong: 1, left: 2, ..row }]);
        assert!(table.ends_with("| 1.04 s | 2 | 2 | **1** |\n"), "{table}");
    }

    #[test]
    fn rows_that_are_made_again_take_the_place_of_the_old_ones() {
        let [row, _] = rows();
        let page = render("cargo xtask chaos --seed 7", "2 cores", &ENDINGS, &rows());
        let new = Row { tries: 41, line: Some("plimsoll: it is otherwise".into()), ..row };
        let page = again(&page, "cargo xtask chaos --only power-cut", &[new]).expect("it is there");
        assert!(page.contains("| power-cut | run | 41 |") && !page.contains("| power-cut | run | 40 |"), "{page}");
        assert!(page.contains("`plimsoll: it is otherwise`") && !page.contains("it is so"), "{page}");
        assert!(page.contains("Rows made again by `cargo xtask chaos --only power-cut`."), "{page}");
        assert!(again(&page, "", &[Row::new("flood", "run")]).is_err());
    }

    #[test]
    fn the_page_of_the_repository_has_every_ending() {
        let page = workspace::read(PATH).expect("the page");
        for Ending { name, made, .. } in &ENDINGS {
            assert!(page.contains(&format!("| {name} | {made} |")), "{name}: cargo xtask chaos --write-docs");
        }
    }
}
