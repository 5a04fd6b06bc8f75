//! The terminal goes away: its signal alone, and the terminal as well.

use crate::chaos::ending::{Effect, Ending, NONE};
use crate::chaos::setting::{ORDINARY, Setting, Streams};
use crate::chaos::verb::Verb;
use rustix::process::Signal;

const VERBS: &[Verb] = &[Verb::Run, Verb::Sweep, Verb::Serve];
/// Before it has got so far as to watch for it.
const SIGNALS: &[i32] = &[Signal::HUP.as_raw()];

pub(in crate::chaos) const SIGHUP: Ending = Ending {
    name: "sighup",
    made: "SIGHUP for plimsoll",
    verbs: VERBS,
    effect: Effect::Ends,
    codes: &[130],
    signals: SIGNALS,
    strike: |scene, _| scene.signal(Signal::HUP),
    ..NONE
};

pub(in crate::chaos) const TERMINAL_GONE: Ending = Ending {
    name: "terminal-gone",
    made: "the terminal that plimsoll was started on (`setsid --ctty`) is closed: SIGHUP, and EIO for what is shown; nobody is \
           left to be told",
    verbs: VERBS,
    setting: Setting { streams: Streams::OwnTerminal, wrapper: &["setsid", "--ctty"], ..ORDINARY },
    effect: Effect::Ends,
    // The result is kept and cannot be shown; 1 is that of setsid, before it has become plimsoll.
    codes: &[130, 2, 1],
    signals: SIGNALS,
    strike: |scene, _| {
        scene.terminal = None;
        Ok(())
    },
    ..NONE
};
