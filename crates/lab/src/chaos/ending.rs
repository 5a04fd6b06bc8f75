//! What an ending is: how it is made, and what has to be so afterwards.

use super::moment::Moment;
use super::scene::Scene;
use super::setting::{ORDINARY, Setting};
use super::verb::Verb;
use serde_json::Value;
use std::time::Duration;

/// Tries where nothing else is said.
const TRIES: u32 = 20;

/// What becomes of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It ends, by itself or by a signal.
    Ends,
    /// It goes on to the end of its plan; a server is ended afterwards.
    GoesOn,
}

/// When it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// At an instant that follows from the seed.
    Random,
    /// From the beginning.
    Start,
}

/// A way in which a measurement ends, or might.
pub(super) struct Ending {
    /// For `--only` and for the table.
    pub(super) name: &'static str,
    /// How it is made; for the page.
    pub(super) made: &'static str,
    pub(super) tries: u32,
    /// In turns.
    pub(super) verbs: &'static [Verb],
    pub(super) when: When,
    pub(super) setting: Setting,
    pub(super) effect: Effect,
    /// Exit codes that are right beside 0 and 4, and signals that it may end by.
    pub(super) codes: &'static [i32],
    pub(super) signals: &'static [i32],
    /// One of these stands in the line that says what has happened; empty where there is nothing to say, or nobody to say it to.
    pub(super) says: &'static [&'static str],
    /// True if it has to say so even if the result is whole.
    pub(super) must_say: bool,
    /// True if it ends a measurement before its plan is done, with an exit code that a whole result has too.
    pub(super) cuts: bool,
    /// Within this time of it all agents have ended, and what measures; none if that goes on.
    pub(super) ends_within: Option<Duration>,
    /// True if events that were written stay where they are.
    pub(super) keeps_log: bool,
    /// Why it cannot be made here.
    pub(super) missing: fn() -> Option<String>,
    /// Makes it.
    pub(super) strike: fn(&mut Scene, Moment) -> Result<(), String>,
    /// What is wrong with a result, beside all that is looked at in any.
    pub(super) check: fn(&Value) -> Option<String>,
}

/// One that does nothing: what others say of themselves stands before it.
pub(super) const NONE: Ending = Ending {
    name: "",
    made: "",
    tries: TRIES,
    verbs: &[Verb::Run, Verb::Sweep],
    when: When::Random,
    setting: ORDINARY,
    effect: Effect::GoesOn,
    codes: &[],
    signals: &[],
    says: &[],
    must_say: false,
    cuts: false,
    ends_within: None,
    keeps_log: true,
    missing: || None,
    strike: |_, _| Ok(()),
    check: |_| None,
};

impl Ending {
    /// What its try of that number, from 1, is made of.
    pub(super) fn verb(&self, number: u32) -> Verb {
        self.verbs[(number as usize).saturating_sub(1) % self.verbs.len()]
    }

    /// When.
    pub(super) fn moment(&self, seed: u64, number: u32) -> Moment {
        let verb = self.verb(number);
        match self.when {
            When::Start => Moment::start(),
            When::Random => Moment::new(seed, self.name, number, verb.span(), verb.window().is_some()),
        }
    }
}
