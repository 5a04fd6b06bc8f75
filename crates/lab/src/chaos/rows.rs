//! The tally of the tries: a row for each ending and verb.

use super::judge::Kept;
use std::collections::BTreeMap;
use std::time::Duration;

/// What came of a try.
#[derive(Clone, Debug)]
pub(super) struct Tried {
    /// True if the instant came before the end of the program.
    pub(super) struck: bool,
    /// True if it ended by a signal, and could not tidy up.
    pub(super) is_killed: bool,
    pub(super) kept: Kept,
    pub(super) lost: Option<Duration>,
    /// From the kill to the end of all agents, where there are some.
    pub(super) all_ended: Option<Duration>,
    /// The line that says what has happened.
    pub(super) said: Option<String>,
    /// Processes, sockets, mounts and files that were left.
    pub(super) left: usize,
    /// What is not as it should be, the leftovers among it.
    pub(super) problems: Vec<String>,
}

impl Tried {
    /// One that came to nothing.
    pub(super) fn broken(problem: String) -> Self {
        let problems = vec![problem];
        Self {
            struck: false,
            is_killed: true,
            kept: Kept::Broken,
            lost: None,
            all_ended: None,
            said: None,
            left: 0,
            problems,
        }
    }
}

/// All tries of an ending with one verb.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Row {
    pub(super) ending: &'static str,
    pub(super) verb: &'static str,
    pub(super) tries: u64,
    /// The program ended before the instant.
    pub(super) had_ended: u64,
    pub(super) kept: BTreeMap<Kept, u64>,
    pub(super) lost_most: Option<Duration>,
    pub(super) all_ended_most: Option<Duration>,
    pub(super) left: u64,
    pub(super) said: u64,
    /// The first line of those.
    pub(super) line: Option<String>,
    /// Tries with problems.
    pub(super) wrong: u64,
    /// Tries that cannot be made here, and why.
    pub(super) skipped: u64,
    pub(super) reason: Option<String>,
}

impl Row {
    pub(super) fn new(ending: &'static str, verb: &'static str) -> Self {
        Self { ending, verb, ..Self::default() }
    }

    pub(super) fn add(&mut self, tried: &Tried) {
        self.tries += 1;
        self.had_ended += u64::from(!tried.struck && tried.kept != Kept::Broken);
        *self.kept.entry(tried.kept).or_default() += 1;
        self.lost_most = self.lost_most.max(tried.lost);
        self.all_ended_most = self.all_ended_most.max(tried.all_ended);
        self.left += tried.left as u64;
        self.said += u64::from(tried.said.is_some());
        self.line = self.line.take().or_else(|| tried.said.clone());
        self.wrong += u64::from(!tried.problems.is_empty());
    }

    /// Tries that are not made.
    pub(super) fn skip(&mut self, tries: u64, reason: &str) {
        self.skipped += tries;
        self.reason.get_or_insert_with(|| reason.to_owned());
    }

    pub(super) fn kept(&self, kept: Kept) -> u64 {
        self.kept.get(&kept).copied().unwrap_or(0)
    }
}

/// The row of an ending and a verb, which comes last if it is new.
pub(super) fn row<'a>(rows: &'a mut Vec<Row>, ending: &'static str, verb: &'static str) -> &'a mut Row {
    let at = rows.iter().position(|row| (row.ending, row.verb) == (ending, verb));
    let at = at.unwrap_or_else(|| {
        rows.push(Row::new(ending, verb));
        rows.len() - 1
    });
    &mut rows[at]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_are_counted_by_ending_and_verb() {
        let mut rows = Vec::new();
        let whole = Tried { kept: Kept::Whole, problems: Vec::new(), ..Tried::broken(String::new()) };
        row(&mut rows, "sighup", "run").add(&whole);
        row(&mut rows, "sighup", "sweep").skip(3, "no root");
        let said = Tried { struck: true, lost: Some(Duration::from_millis(900)), said: Some("a".into()), ..whole };
        row(&mut rows, "sighup", "run").add(&said);
        let lost = Tried { left: 2, said: Some("b".into()), ..Tried::broken("lost".into()) };
        row(&mut rows, "sighup", "run").add(&lost);
        let [run, sweep] = &rows[..] else { panic!("{rows:#?}") };
        assert_eq!((run.tries, run.had_ended, run.kept(Kept::Whole), run.kept(Kept::Broken)), (3, 1, 2, 1));
        assert_eq!((run.left, run.said, run.wrong, run.line.as_deref()), (2, 2, 1, Some("a")));
        assert_eq!(run.lost_most, Some(Duration::from_millis(900)));
        assert_eq!((sweep.tries, sweep.skipped, sweep.reason.as_deref()), (0, 3, Some("no root")));
    }
}
