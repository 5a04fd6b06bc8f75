//! The matrix, for the terminal and as a page.

use std::fmt::Write;

use super::loads::{CONNECTIONS, Outcome};
use super::{Row, Settings};
use crate::machine;

pub(super) const PATH: &str = "docs/servers.md";

const LEGEND: &str = "\
- *closed*, *open*: verdict of the small page, and the rules worse than a note. An open loop asks for half of the rate that
  the closed one got.
- *others*: loads of 500 requests (50 of 1 MB) whose verdict is not VALID: without keep-alive, HEAD, 204, 304, 1 MB, chunks, TLS.
- *check*: what `check` says worse than a note of the target.
- */ wrk*, */ ab*: plimsoll's rate over theirs, the median of the rounds.
- *right*: status, size and reuse of connections as curl gets them, and for HEAD a raw socket; *no* says what contradicts.
";

/// The page.
pub(super) fn render(rows: &[Row], settings: &Settings) -> String {
    let Settings { rounds, seconds } = settings;
    format!(
        "# Servers\n\nMade by `cargo xtask servers --write-docs` on {}. Each server runs at its defaults, with {CONNECTIONS} \
         connections; plimsoll, wrk and ab take turns in {rounds} rounds of {seconds} s.\n\n{LEGEND}\n{}",
        machine(),
        table(rows)
    )
}

/// A row for each.
pub(super) fn table(rows: &[Row]) -> String {
    let mut table = "| server | kind | from | closed | open | others | check | / wrk | / ab | right |\n".to_owned();
    table.push_str("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for Row { setup, outcome } in rows {
        let mut cells = vec![setup.name.to_owned(), setup.kind.to_owned(), setup.from.name().to_owned()];
        match outcome {
            Ok(outcome) => cells.extend(of(outcome)),
            Err(reason) => cells.push(format!("not measured: {}", reason.replace('\n', " "))),
        }
        cells.resize(10, String::new());
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        let _ = writeln!(table, "| {} |", cells.join(" | "));
    }
    table
}

fn of(outcome: &Outcome) -> [String; 7] {
    let others = outcome.short.iter().filter(|(_, said)| said.words != "VALID");
    let others: Vec<String> = others.map(|(name, said)| format!("{name} {}", said.words)).collect();
    let wrong = outcome.wrong();
    [
        outcome.closed.words.clone(),
        outcome.open.words.clone(),
        others.join("; "),
        outcome.check.clone(),
        ratio(&outcome.over_wrk),
        ratio(&outcome.over_ab),
        if wrong.is_empty() { "yes".to_owned() } else { format!("no: {}", wrong.join("; ")) },
    ]
}

/// The median, of an even number the lower one.
fn ratio(values: &[f64]) -> String {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).map_or_else(|| "-".to_owned(), |median| format!("{median:.2}"))
}

#[cfg(test)]
mod tests {
    use super::super::Row;
    use super::super::loads::{Outcome, Said};
    use super::super::setups;
    use super::{ratio, table};

    #[test]
    fn a_row_tells_what_is_not_valid_and_what_is_wrong() {
        let said = |words: &str, wrong: Option<&str>| Said { words: words.to_owned(), wrong: wrong.map(str::to_owned) };
        let outcome = Outcome {
            check: String::new(),
            closed: said("VALID", None),
            open: said("BOUND: CL-01 bound", None),
            short: vec![
                ("HEAD", said("INVALID: ER-03 invalid", Some("nothing is wrong"))),
                ("1 MB", said("VALID", None)),
            ],
            over_wrk: vec![1.0, 0.9, 0.95],
            over_ab: Vec::new(),
        };
        let setup = setups::all().next().unwrap();
        let table = table(&[Row { setup, outcome: Ok(outcome) }, Row { setup, outcome: Err("it\nhung".to_owned()) }]);
        let good = "| nginx | C, events | Debian | VALID | BOUND: CL-01 bound | HEAD INVALID: ER-03 invalid |  | 0.95 | - | no: \
                    HEAD: nothing is wrong |";
        assert!(table.contains(good), "{table}");
        assert!(table.contains("| nginx | C, events | Debian | not measured: it hung |"), "{table}");
        assert_eq!(ratio(&[2.0, 1.0]), "1.00");
    }
}
