//! Clocks that are set: of the whole machine, and so of none that others work on.

use crate::chaos::ending::{Ending, NONE};
use crate::chaos::verb::Verb;

pub(in crate::chaos) const SUSPENSION_TOLD: Ending = Ending {
    name: "suspension-told",
    made: "a suspension moves BOOTTIME while plimsoll runs, and EN-05 tells it",
    tries: 1,
    verbs: &[Verb::Run],
    missing: || {
        let why = "a time namespace has its offsets before its first process: no clock of a process that runs can be moved; the \
                   change that EN-05 tells is made in a unit test, session::environment";
        Some(why.into())
    },
    ..NONE
};

pub(in crate::chaos) const CLOCK_STEPPED: Ending = Ending {
    name: "stepped-clock",
    made: "the wall clock is set a day ahead or back",
    tries: 1,
    verbs: &[Verb::Run],
    missing: || {
        let why = "no namespace has a wall clock of its own, and that of the machine is everybody's; it is read for names, \
                   dates and certificates only, and all times that are measured come from CLOCK_MONOTONIC (clippy and tidy: one clock)";
        Some(why.into())
    },
    ..NONE
};
