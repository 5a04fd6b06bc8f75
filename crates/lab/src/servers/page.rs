//! The matrix, for the terminal and as a page.

use anyhow::{Result, ensure};

use super::loads::{CONNECTIONS, Outcome};
use super::{Row, Settings, setups};
use crate::markdown::{Page, Table, line};
use stats::median;

pub(super) const PATH: &str = "docs/lab/servers.md";

const LEGEND: &str = "\
- *closed*, *open*: verdict of the small page, and the rules worse than a note. An open loop asks for a quarter of the rate that
  the closed one got.
- *others*: loads of 500 requests (50 of 1 MB) whose verdict is not VALID: without keep-alive, HEAD, 204, 304, 1 MB, chunks,
  TLS. What is said of their length (LD-04) is left out.
- *check*: what `check` says worse than a note of the target.
- */ wrk*, */ ab*: plimsoll's rate over theirs, the median of the rounds. wrk sends requests together, which is less work for an
  event loop ([peers](peers.md), where that is measured with Node.js).
- *right*: status, size and reuse of connections as curl gets them, and for HEAD a raw socket; *no* says what contradicts.
";

const COLUMNS: &str = "server | kind | from | closed | open | others | check | / wrk | / ab | right";

/// The page.
pub(super) fn render(machine: &str, rows: &[Row], settings: &Settings) -> Page {
    page(machine, settings, &table(rows))
}

/// A page with some of its servers measured again, or for the first time.
///
/// # Errors
/// When the others were measured in another way.
pub(super) fn again(page_before: &str, machine: &str, rows: &[Row], settings: &Settings) -> Result<Page> {
    let turns = turns(settings);
    ensure!(page_before.contains(&turns), "{PATH} was not written with {turns}; give the same --rounds and --seconds");
    let mut table = Table::new(COLUMNS);
    for name in setups::all().map(|setup| setup.name) {
        let is_of = |line: &&str| line.starts_with(&format!("| {name} |"));
        let new = rows.iter().find(|row| row.setup.name == name).map(row_line);
        let kept = || page_before.lines().find(is_of).map(str::to_owned);
        new.or_else(kept).iter().for_each(|line| table.line(line));
    }
    Ok(page(machine, settings, &table))
}

fn page(machine: &str, settings: &Settings, table: &Table) -> Page {
    let made = format!(
        "Made by `cargo xtask servers --write-docs` on {machine}. Each server runs at its defaults, with {CONNECTIONS} \
         connections; plimsoll, wrk and ab take turns in {}.",
        turns(settings)
    );
    Page::new("Servers").block(made).block(LEGEND).block(table)
}

fn turns(Settings { rounds, seconds }: &Settings) -> String {
    format!("{rounds} rounds of {seconds} s")
}

/// A row for each.
pub(super) fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(COLUMNS);
    rows.iter().for_each(|row| table.line(&row_line(row)));
    table
}

fn row_line(Row { setup, outcome }: &Row) -> String {
    let mut cells = vec![setup.name.to_owned(), setup.kind.to_owned(), setup.from.name().to_owned()];
    match outcome {
        Ok(outcome) => cells.extend(of(outcome)),
        Err(reason) => cells.push(format!("not measured: {reason}")),
    }
    cells.resize(COLUMNS.split(" | ").count(), String::new());
    line(cells)
}

fn of(outcome: &Outcome) -> [String; 7] {
    let others = outcome.short.iter().filter(|(_, said)| said.words() != "VALID");
    let others: Vec<String> = others.map(|(name, said)| format!("{name} {}", said.words())).collect();
    let wrong = outcome.wrong();
    [
        outcome.closed.words(),
        outcome.open.words(),
        others.join("; "),
        outcome.check.clone(),
        ratio(&outcome.over_wrk),
        ratio(&outcome.over_ab),
        if wrong.is_empty() { "yes".to_owned() } else { format!("no: {}", wrong.join("; ")) },
    ]
}

/// The median.
fn ratio(values: &[f64]) -> String {
    if values.is_empty() { "-".to_owned() } else { format!("{:.2}", median(values)) }
}

#[cfg(test)]
mod tests {
    use super::super::Row;
    use super::super::loads::{Outcome, Said};
    use super::super::{Settings, setups};
    use super::{again, render};

    #[test]
    fn a_row_tells_what_is_not_valid_and_what_is_wrong() {
        let outcome = Outcome {
            check: String::new(),
            closed: Said::new("VALID", &[], None),
            open: Said::new("BOUND", &[("CL-01", "bound")], None),
            short: vec![
                ("HEAD", Said::new("INVALID", &[("ER-03", "invalid")], Some("nothing is wrong"))),
                ("1 MB", Said::new("VALID", &[], None)),
            ],
            over_wrk: vec![1.0, 0.9, 0.95],
            over_ab: Vec::new(),
        };
        let setup = setups::all().next().unwrap();
        let rows = [Row { setup, outcome: Ok(outcome) }, Row { setup, outcome: Err("it\nhung".to_owned()) }];
        insta::assert_snapshot!("page", render("a machine", &rows, &Settings { rounds: 3, seconds: 5 }));
    }

    #[test]
    fn servers_measured_again_take_their_place_among_the_others() {
        let [first, second] = [0, 1].map(|place| setups::all().nth(place).unwrap());
        let row = |setup, reason: &str| Row { setup, outcome: Err(reason.to_owned()) };
        let settings = Settings { rounds: 3, seconds: 5 };
        let rows = [row(second, "old"), row(setups::all().nth(2).unwrap(), "kept")];
        let before = render("a machine", &rows, &settings).to_string();
        let page = again(&before, "another", &[row(first, "added"), row(second, "new")], &settings).unwrap();
        let page = page.to_string();
        let told: Vec<&str> =
            page.lines().filter_map(|line| line.split("not measured: ").nth(1)?.split(' ').next()).collect();
        assert_eq!(told, ["added", "new", "kept"]);
        assert!(
            again(&before, "another", &[], &Settings { rounds: 2, seconds: 5 })
                .unwrap_err()
                .to_string()
                .contains("2 rounds of 5 s")
        );
    }
}
