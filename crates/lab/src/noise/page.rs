//! How often the answers were right: as a table for the terminal and as a page.

use std::collections::{BTreeMap, BTreeSet};

use super::Row;
use super::answer::{Quiet, State, TRUTH_PER_S, Try, faults, has_to_be_close, middle, misses_max, off};
use crate::markdown::{Page, Table};

pub(super) const PATH: &str = "docs/lab/noise.md";

const INTRODUCTION: &str = "\
Sweeps of the built-in server, whose capacity is arithmetic (4 workers of 2 ms: 2,000 requests per second), beside noise of
known size.

- *hog*: a program at real-time priority, where permitted, takes a CPU of server or load generator; *client paused*: the load
  generator is stopped (SIGSTOP) and continued. Both in bursts of 20 ms to 3 s, log-uniform, at random places, for the given
  share of the time. *quota*: half-way the process gets a CPU quota that is the given share below what it used until then in
  its busier seconds (upper quartile).
- *right*, up to 20 %: VALID or BOUND, peak and knee within 2 % of the quiet ones, at most 1.5 times the time; one in 20 of
  all tries of a share may miss it. Above: VALID within 2 % of 2,000/s, or BOUND with bounds that hold it, always. INVALID
  is never right.
- *quiet*: a sweep without this noise is made before the tries of each kind and after the last one. The time that the machine
  needs to wake up, and therefore the knee, drifts within an hour, so each try is compared with the mean of the quiet sweeps
  just before and just after it.
- *peak*, *knee*, *time*: medians against the quiet ones; *noise*: its mean size as it came out, of a quota the share of the
  second half in which the process was stopped.
- Noise of other programs is added, and counts against the answers.
";

/// The table of all cases so far.
pub(super) fn table(rows: &[Row], quiet: &Quiet) -> Table {
    let columns = "noise | tries | right | VALID | BOUND | INVALID | peak | knee | time | noise | not right by";
    let mut table = Table::new(columns);
    rows.iter().for_each(|row| add(&mut table, row, quiet));
    table
}

/// `docs/lab/noise.md`.
pub(super) fn render(command: &str, machine: &str, rows: &[Row], quiet: &Quiet) -> Page {
    let page = Page::new("Noise").made_by(command, machine).block(INTRODUCTION);
    let page = page.block(format_args!("Quiet machine, {}.", said_of(quiet))).block(table(rows, quiet));
    page.list(rows.iter().filter_map(remark))
}

/// How the sweeps of the quiet machine ended, as one that is not VALID was not alone on it, and what they gave.
pub(super) fn said_of(quiet: &Quiet) -> String {
    let sweeps = quiet.sweeps();
    let of = |state: State| sweeps.iter().filter(|(answer, _)| answer.state == state).count();
    let rules: BTreeSet<&str> =
        sweeps.iter().flat_map(|(answer, _)| answer.invalid_by.iter().map(String::as_str)).collect();
    let counts = [("VALID", State::Valid), ("BOUND", State::Bound), ("INVALID", State::Invalid)]
        .map(|(word, state)| (word, of(state)));
    let seen: Vec<_> = counts.iter().filter(|(_, n)| *n > 0).map(|(word, n)| format!("{n} {word}")).collect();
    let why = if rules.is_empty() { String::new() } else { format!(" by {}", Vec::from_iter(rules).join(", ")) };
    let number = if sweeps.len() == 1 { "1 sweep".to_owned() } else { format!("{} sweeps", sweeps.len()) };
    let between = |values: Vec<f64>, digits: usize| {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        format!("{low:.digits$} to {high:.digits$}")
    };
    format!(
        "{number} ({}{why}): peak {}/s of {TRUTH_PER_S:.0}/s, knee at {}, {} s",
        seen.join(", "),
        between(sweeps.iter().filter_map(|(answer, _)| answer.peak_per_s).collect(), 0),
        between(sweeps.iter().filter_map(|(answer, _)| answer.knee).collect(), 2),
        between(sweeps.iter().map(|(_, wall_s)| *wall_s).collect(), 0),
    )
}

/// Adds the row of a case.
fn add(table: &mut Table, row: &Row, quiet: &Quiet) {
    let of = |state: State| row.tries.iter().filter(|seen| seen.answer.state == state).count();
    let against = |value: fn(&Try, &Quiet) -> Option<f64>| {
        middle(&row.tries.iter().filter_map(|seen| value(seen, quiet)).collect::<Vec<_>>())
    };
    let share = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), signed);
    let peak =
        share(against(|seen, quiet| Some(off(seen.answer.peak_per_s?, quiet.beside(seen.quiet_before).peak_per_s))));
    let knee = share(against(|seen, quiet| Some(off(seen.answer.knee?, quiet.beside(seen.quiet_before).knee))));
    let time = against(|seen, quiet| Some(seen.wall_s / quiet.beside(seen.quiet_before).planned_s));
    let noise: f64 = row.tries.iter().map(|seen| seen.noise_share).sum::<f64>() / row.tries.len().max(1) as f64;
    let time = time.map_or_else(|| "-".to_owned(), |time| format!("{time:.2} x"));
    let [valid, bound, invalid] = [State::Valid, State::Bound, State::Invalid].map(of);
    let (times, right, noise, reasons) =
        (row.times(), right(row, quiet), format!("{:.0} %", 100.0 * noise), reasons(row, quiet));
    table.row(&[&row.case, &times, &right, &valid, &bound, &invalid, &peak, &knee, &time, &noise, &reasons]);
}

fn right(row: &Row, quiet: &Quiet) -> String {
    let text = format!("{} of {}", row.right(quiet), row.times());
    // A miss has to be seen in a long table.
    if row.right(quiet) == row.times() { text } else { format!("**{text}**") }
}

/// What was wrong, and how often.
fn reasons(row: &Row, quiet: &Quiet) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let seen = row.tries.iter().flat_map(|seen| faults(row.case, quiet, seen));
    seen.for_each(|fault| *counts.entry(fault).or_default() += 1);
    if !row.errors.is_empty() {
        counts.insert("no answer".to_owned(), row.errors.len());
    }
    counts.iter().map(|(fault, n)| format!("{fault} {n}")).collect::<Vec<_>>().join(", ")
}

/// Why there was no answer, or no such noise.
fn remark(row: &Row) -> Option<String> {
    let why = row.impossible.as_ref().or_else(|| row.errors.last())?;
    Some(format!("{}: {}", row.case, why.lines().next().unwrap_or_default()))
}

/// Each share of noise whose goal is missed by all its cases together, in words.
pub(super) fn missed(rows: &[Row], quiet: &Quiet) -> Vec<String> {
    let percent = |row: &Row| row.case.percent();
    let shares: BTreeSet<u32> = rows.iter().map(percent).collect();
    let of = |share| rows.iter().filter(move |row| percent(row) == share).collect::<Vec<_>>();
    shares.into_iter().filter_map(|share| missed_beside(&of(share), quiet)).collect()
}

/// The same of `rows` of one share.
fn missed_beside(rows: &[&Row], quiet: &Quiet) -> Option<String> {
    let case = rows.first()?.case;
    let (right, times) =
        rows.iter().fold((0, 0), |(right, times), row| (right + row.right(quiet), times + row.times()));
    let most = misses_max(case, times);
    if times - right <= most && !rows.iter().any(|row| row.has_invalid()) {
        return None;
    }
    let what = if has_to_be_close(case) { "close to the quiet machine" } else { "bounds that hold" };
    Some(format!("{} %: {right} of {times} {what}, {most} may miss, and none may be INVALID", case.percent()))
}

fn signed(share: f64) -> String {
    format!("{:+.1} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::super::answer::Answer;
    use super::super::case::{Case, Kind, Place};
    use super::*;

    fn seen(state: State, peak_per_s: f64, knee: f64, wall_s: f64) -> Try {
        let answer = Answer {
            state,
            invalid_by: ["CL-09".to_owned()].into_iter().filter(|_| state == State::Invalid).collect(),
            peak_per_s: Some(peak_per_s),
            knee: Some(knee),
            low_per_s: None,
            high_per_s: None,
            server_cpus: Vec::new(),
            client_cpus: Vec::new(),
        };
        Try { answer, wall_s, noise_share: 0.21, quiet_before: 1 }
    }

    /// Sweeps of the quiet machine that ended so.
    fn quiet(states: &[State]) -> Quiet {
        let mut quiet = Quiet::default();
        states.iter().for_each(|state| quiet.add(seen(*state, 2000.0, 4.0, 60.0).answer, 60.0).unwrap());
        quiet
    }

    fn row(tries: Vec<Try>) -> Row {
        Row { tries, ..Row::new(Case { kind: Kind::Hog, place: Place::Client, share: 0.2 }) }
    }

    #[test]
    fn a_row_counts_what_was_right_and_why_the_others_were_not() {
        let bad = row(vec![
            seen(State::Valid, 1990.0, 4.04, 60.0),
            seen(State::Bound, 1980.0, 4.0, 66.0),
            seen(State::Invalid, 1500.0, 4.0, 60.0),
        ]);
        insta::assert_snapshot!("table", table(std::slice::from_ref(&bad), &quiet(&[State::Valid])));
        assert_eq!(
            missed(&[bad], &quiet(&[State::Valid])),
            ["20 %: 2 of 3 close to the quiet machine, 0 may miss, and none may be INVALID"]
        );
    }

    #[test]
    fn one_of_twenty_may_be_off_and_none_may_be_invalid() {
        let with = |last: Try| row((0..19).map(|_| seen(State::Valid, 2000.0, 4.0, 60.0)).chain([last]).collect());
        assert_eq!(missed(&[with(seen(State::Valid, 1900.0, 4.0, 60.0))], &quiet(&[State::Valid])), [""; 0]);
        assert_eq!(missed(&[with(seen(State::Invalid, 2000.0, 4.0, 60.0))], &quiet(&[State::Valid])).len(), 1);
    }

    #[test]
    fn cases_of_a_share_are_held_to_one_goal() {
        let right = |n: usize| (0..n).map(|_| seen(State::Valid, 2000.0, 4.0, 60.0));
        let off = || seen(State::Valid, 1900.0, 4.0, 60.0);
        let hog = row(right(9).chain([off()]).collect());
        let paused = |tries| Row { tries, ..Row::new(Case { kind: Kind::Pause, place: Place::Client, share: 0.2 }) };
        let little = |tries| Row { tries, ..Row::new(Case { kind: Kind::Hog, place: Place::Client, share: 0.05 }) };
        assert_eq!(missed(&[hog, paused(right(10).collect())], &quiet(&[State::Valid])), [""; 0]);
        let hog = row(right(9).chain([off()]).collect());
        assert_eq!(
            missed(&[hog, paused(right(8).collect()), little(right(9).collect())], &quiet(&[State::Valid])).len(),
            1
        );
    }

    #[test]
    fn a_quiet_machine_that_was_not_is_told() {
        let all = quiet(&[State::Valid, State::Invalid, State::Valid]);
        assert_eq!(
            said_of(&all),
            "3 sweeps (2 VALID, 1 INVALID by CL-09): peak 2000 to 2000/s of 2000/s, knee at 4.00 to 4.00, 60 to 60 s"
        );
        assert!(said_of(&quiet(&[State::Valid])).starts_with("1 sweep (1 VALID): "));
    }

    #[test]
    fn what_is_not_possible_here_is_said_and_no_failure() {
        let here = Row { impossible: Some("no control group".into()), ..row(Vec::new()) };
        assert!(missed(std::slice::from_ref(&here), &quiet(&[State::Valid])).is_empty());
        insta::assert_snapshot!("page", render("cargo xtask noise", "a machine", &[here], &quiet(&[State::Valid])));
    }

    #[test]
    fn a_sweep_without_an_answer_counts_as_wrong() {
        let failed = Row { errors: vec!["plimsoll sweep ended with exit status: 3".into()], ..row(Vec::new()) };
        assert_eq!(reasons(&failed, &quiet(&[State::Valid])), "no answer 1");
        assert_eq!(missed(&[failed], &quiet(&[State::Valid])).len(), 1);
    }
}
