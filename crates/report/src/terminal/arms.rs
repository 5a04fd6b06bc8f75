//! Several sweeps in a terminal: who holds how much in a few lines, their curves in one picture, findings in short.

use super::Style;
use super::curve::{curve, curves};
use super::layout::{columns, labelled_bold, table, top_lines, wrap};
use super::sweep::sweep;
use super::verdict::{headline, messages};
use crate::Named;
use crate::words::arms::{Arm, arms, groups, remarks};
use crate::words::fact::Fact;
use crate::words::{STOPPED, interrupted, limiter, sent};

/// Head of the table, and which columns of [`Arm::row`] are its cells.
const WIDE: [(&str, usize); 6] = [("arm", 0), ("verdict", 1), ("peak", 2), ("at", 3), ("knee", 4), ("p99", 6)];
/// Columns of the table without the names, which then stand above it.
const NARROW: [(&str, usize); 4] = [("verdict", 1), ("peak", 2), ("at", 3), ("knee", 4)];

/// The sweeps among `results` side by side: a table, their curves, and what was found of each;
/// a single one in full. Ends with a newline.
#[must_use]
pub fn sweeps(results: &[Named<'_>], style: &Style) -> String {
    let style = *style;
    let arms = arms(results);
    if let [only] = arms.as_slice() {
        return sweep(only.record, &style);
    }
    let mut out = figures(&arms, style);
    for group in groups(&arms) {
        let axis = group[0].over().axis();
        let picture = match group.as_slice() {
            [arm] => curve(arm.record, axis, style.width).map(|picture| format!("{}, {picture}", letter(arm))),
            several => {
                let lettered: Vec<_> = several.iter().map(|arm| (letter(arm), arm.record)).collect();
                curves(&lettered, axis, style.width)
            }
        };
        out.extend(picture.map(|picture| format!("\n{picture}")));
    }
    for remark in remarks(&arms) {
        out.push_str(&format!("\n{}\n", wrap("", &remark, style.width, 0)));
    }
    for arm in &arms {
        out.push('\n');
        out.push_str(&labelled_bold(&letter(arm).to_string(), &arm.label, style));
        out.push_str(&headline(&arm.record.verdict, style));
        let mut facts: Vec<Fact> = interrupted(arm.record.interrupted, STOPPED).into_iter().collect();
        facts.extend(limiter::facts(arm.record.limiter.as_ref()));
        facts.extend(sent::fact(arm.record.sent_in_all));
        out.push_str(&top_lines(&facts, style));
        out.push_str(&messages(&arm.record.verdict, style));
    }
    out
}

/// One line for each arm; on a narrow terminal without its name, which its letter stands for.
fn figures(arms: &[Arm<'_>], style: Style) -> String {
    let of = |shown: &[(&str, usize)], left, gap| {
        let header: Vec<&str> = [""].into_iter().chain(shown.iter().map(|(name, _)| *name)).collect();
        let line = |arm: &Arm<'_>| {
            let row = arm.row();
            let cells = shown.iter().map(|(_, i)| row[*i].clone());
            [letter(arm).to_string()].into_iter().chain(cells).collect()
        };
        let rows: Vec<Vec<String>> = arms.iter().map(line).collect();
        table(&header, &rows, left, gap)
    };
    let candidates = [of(&WIDE, 3, 2), of(&WIDE[1..], 2, 2), of(&NARROW, 2, 1)];
    let [.., narrowest] = &candidates;
    candidates.iter().find(|text| columns(text) <= style.width).unwrap_or(narrowest).clone()
}

/// What stands for an arm in table and picture: A to Z, then from the beginning.
fn letter(arm: &Arm<'_>) -> char {
    char::from(b'A' + (arm.index % 26) as u8)
}
