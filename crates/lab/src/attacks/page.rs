//! Attacks and what others got meanwhile: as a table for the terminal and as a page.

use super::attack::{ATTACKS, Attack};
use super::{Column, Outcome, smuggled};
use crate::markdown::{Page, Table};

pub(super) const PATH: &str = "docs/lab/attacks.md";

const INTRODUCTION: &str = "\
`cargo xtask attacks --before FILE --write-docs` floods the built-in server on loopback while ten
well-behaved requests per second are sent to it on new connections. *Before* is the version without deadlines and bounds for each client; *now* runs with
`--max-per-client 5000`. Either may have 10,000 files open, so that a flood that is not held off fills it.
";

const LEGEND: &str = "\
- *others*: requests answered within a second, of all others in the first 10 s, and from 50 to 60 s after the begin.
- *memory*: most memory that the server had.
- *many*: 20 client addresses; otherwise one.
";

/// The page.
pub(super) fn render(machine: &str, before: Option<&Column>, now: &Column) -> Page {
    let mut attacks = Table::new("attack | each connection");
    ATTACKS.iter().for_each(|Attack { name, does, .. }| attacks.row(&[name, does]));
    let n = smuggled::REQUESTS.len();
    let smuggled = format_args!("sends one of {n} requests that two servers may read differently");
    attacks.row(&[&smuggled::NAME, &smuggled]);
    let results = Page::new("Attacks").block(INTRODUCTION).block(attacks).section("Results");
    results.block(format_args!("On {machine}.")).block(table(before, now)).block(LEGEND)
}

/// A row for each attack.
pub(super) fn table(before: Option<&Column>, now: &Column) -> Table {
    let mut table = Table::new("attack | connections | others before | others now | memory before | memory now");
    for (i, is) in now.outcomes.iter().enumerate() {
        let Attack { name, connections, .. } = is.attack;
        let was = before.map(|column| &column.outcomes[i]);
        let (others, memory) = ([was, Some(is)].map(others), [was, Some(is)].map(memory));
        table.row(&[&name, &connections, &others[0], &others[1], &memory[0], &memory[1]]);
    }
    let refused = |column: Option<&Column>| {
        column.map_or_else(String::new, |column| format!("{} of {} refused", column.refused, smuggled::REQUESTS.len()))
    };
    table.line(&format!("| {} | | {} | {} | | |", smuggled::NAME, refused(before), refused(Some(now))));
    table
}

fn others(outcome: Option<&Outcome>) -> String {
    let percent = |share: f64| format!("{:.0} %", (100.0 * share).floor());
    let both = |outcome: &Outcome| format!("{}, {}", percent(outcome.at_once.share()), percent(outcome.later.share()));
    outcome.map_or_else(String::new, both)
}

fn memory(outcome: Option<&Outcome>) -> String {
    outcome.map_or_else(String::new, |outcome| format!("{} MiB", outcome.memory_bytes >> 20))
}

#[cfg(test)]
mod tests {
    use super::super::bystander::Answered;
    use super::super::fallen;
    use super::*;

    fn column(answered: u32, refused: usize) -> Column {
        let at_once = Answered { asked: 100, answered: 100 };
        let later = Answered { answered, ..at_once };
        let outcomes = ATTACKS.iter().map(|attack| Outcome { attack, at_once, later, memory_bytes: 9 << 20 });
        Column { outcomes: outcomes.collect(), refused }
    }

    #[test]
    fn a_server_that_answers_others_no_more_has_fallen() {
        let n = smuggled::REQUESTS.len();
        assert_eq!(fallen(&column(100, n)), Vec::<&str>::new());
        assert_eq!(fallen(&column(94, n)).len(), ATTACKS.len());
        assert_eq!(fallen(&column(100, n - 1)), [smuggled::NAME]);
    }

    #[test]
    fn both_versions_stand_side_by_side() {
        insta::assert_snapshot!("page", render("a machine", Some(&column(0, 3)), &column(99, 12)));
    }
}
