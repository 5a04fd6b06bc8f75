//! The table of the cases, for the terminal and for a page.

use super::{Case, Outcome};
use crate::markdown::{Page, Table};

pub(super) const PATH: &str = "docs/lab/examined.md";

const INTRODUCTION: &str = "\
Commands and servers that an examination has put to plimsoll, and that some build of it answered wrongly. Each is made again
by a script, a set-up of the zoo or a test, and held against its right answer: words that have to be printed, and words that
must not be.
";

/// One line for each case.
pub(super) fn table(rows: &[(&Case, Outcome)]) -> Table {
    let mut table = Table::new("case | what | right answer | this build");
    for (case, outcome) in rows {
        let answer = match outcome {
            Outcome::Right => "right".to_owned(),
            Outcome::Wrong(why) => format!("**wrong**: {why}"),
            Outcome::Elsewhere(place) => place.clone(),
            Outcome::NotMeasured(why) => format!("not measured: {}", why.lines().next_back().unwrap_or_default()),
        };
        table.row(&[&case.name, &case.what, &case.right, &answer]);
    }
    table
}

/// How many are right.
pub(super) fn sums(rows: &[(&Case, Outcome)]) -> String {
    let of = |is_it: fn(&Outcome) -> bool| rows.iter().filter(|(_, outcome)| is_it(outcome)).count();
    let (right, wrong) =
        (of(|outcome| matches!(outcome, Outcome::Right)), of(|outcome| matches!(outcome, Outcome::Wrong(_))));
    let elsewhere = of(|outcome| matches!(outcome, Outcome::Elsewhere(_)));
    format!("Right: {right} of {} that were made here; {elsewhere} are seen elsewhere.", right + wrong)
}

/// `docs/lab/examined.md`.
pub(super) fn render(machine: &str, rows: &[(&Case, Outcome)]) -> Page {
    let page = Page::new("Questions that were answered wrongly").made_by("cargo xtask examined --write-docs", machine);
    page.block(INTRODUCTION).block(table(rows)).block(sums(rows))
}

#[cfg(test)]
mod tests {
    use super::super::Seen;
    use super::*;

    #[test]
    fn right_and_wrong_answers_are_counted_and_others_are_told_where_they_are_seen() {
        let case = Case { name: "one-post", what: "`run -n 1`", right: "one is sent", seen: Seen::Test("y") };
        let outcomes = [
            Outcome::Right,
            Outcome::Wrong("no \"x\"".to_owned()),
            Outcome::Elsewhere("test `y`".to_owned()),
            Outcome::NotMeasured("trace\nz is not installed".to_owned()),
        ];
        insta::assert_snapshot!("page", render("a machine", &outcomes.map(|outcome| (&case, outcome))));
    }
}
