//! The table of the cases, for the terminal and for a page.

use super::{Case, Outcome};

pub(super) const PATH: &str = "docs/examined.md";

const INTRODUCTION: &str = "\
Commands and servers that an examination has put to plimsoll, and that some build of it answered wrongly. Each is made again
by a script, a set-up of the zoo or a test, and held against its right answer: words that have to be printed, and words that
must not be.
";

const HEAD: &str = "\
| case | what | right answer | this build |
| --- | --- | --- | --- |
";

/// One line for each case, and the sums.
pub(super) fn table(rows: &[(&Case, Outcome)]) -> String {
    let line = |(case, outcome): &(&Case, Outcome)| {
        let answer = match outcome {
            Outcome::Right => "right".to_owned(),
            Outcome::Wrong(why) => format!("**wrong**: {why}"),
            Outcome::Elsewhere(place) => place.clone(),
            Outcome::NotMeasured(why) => format!("not measured: {}", why.lines().next_back().unwrap_or_default()),
        };
        format!("| {} | {} | {} | {answer} |", case.name, case.what, case.right)
    };
    let lines: Vec<String> = rows.iter().map(line).collect();
    let of = |is_it: fn(&Outcome) -> bool| rows.iter().filter(|(_, outcome)| is_it(outcome)).count();
    let (right, wrong) =
        (of(|outcome| matches!(outcome, Outcome::Right)), of(|outcome| matches!(outcome, Outcome::Wrong(_))));
    let elsewhere = of(|outcome| matches!(outcome, Outcome::Elsewhere(_)));
    let sums = format!("Right: {right} of {} that were made here; {elsewhere} are seen elsewhere.", right + wrong);
    format!("{HEAD}{}\n\n{sums}\n", lines.join("\n"))
}

/// `docs/examined.md`.
pub(super) fn render(machine: &str, rows: &[(&Case, Outcome)]) -> String {
    format!(
        "# Questions that were answered wrongly\n\nMade by `cargo xtask examined --write-docs` on {machine}.\n\n{INTRODUCTION}\n{}",
        table(rows)
    )
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
