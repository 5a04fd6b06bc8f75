//! The table, for the terminal and as a page.

use std::process::Command;

use super::{Row, UPLOAD_BYTES};
use crate::markdown::{Page, Table};

pub(super) const PATH: &str = "docs/lab/http-conformance.md";

const INTRODUCTION: &str = "\
Made by `cargo xtask manners --write-docs`. A server on a raw socket does to each request what the first column says; *RFC* is
where HTTP permits or forbids it. The next columns are what each client makes of it:

- *plimsoll*: *understood* when all of 40 requests are good and no rule of the family ER fires; otherwise what `run` says.
  A *refused* target is told by the probe, before any load.
- *wrk*: `-t1 -c2 -d1s`, from its report; of HEAD and uploads with a script.
- *curl*: two requests in one call; status and size, or its error.

plimsoll sends methods in capitals, as they are case-sensitive (RFC 9110 section 9.1): `-m head` asks for HEAD.
";

/// The page.
pub(super) fn render(versions: &str, rows: &[Row]) -> Page {
    let made = format!("Uploads have {} MiB. {versions}.", UPLOAD_BYTES >> 20);
    Page::new("HTTP conformance").block(INTRODUCTION).block(made).block(table(rows))
}

/// Versions of the other clients.
pub(super) fn versions() -> String {
    format!("{}; {}", version("curl", "--version"), version("wrk", "-v"))
}

/// The first two words that a program says of itself.
fn version(program: &str, option: &str) -> String {
    let output = Command::new(program).arg(option).output();
    let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    said.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

/// A row for each.
pub(super) fn table(rows: &[Row]) -> Table {
    let mut table = Table::new("the server | RFC | plimsoll | wrk | curl");
    for Row { manner, plimsoll, wrk, curl } in rows {
        table.texts([manner.does, manner.rfc, &plimsoll.words, wrk, curl]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::{MANNERS, Made, Row};
    use super::render;

    #[test]
    fn a_row_has_all_clients() {
        let plimsoll = Made { words: "understood".to_owned(), is_expected: true };
        let row = Row { manner: &MANNERS[0], plimsoll, wrk: "counts all".to_owned(), curl: "a|b".to_owned() };
        insta::assert_snapshot!("page", render("curl 7; wrk 4", &[row]));
    }
}
