//! A power cut, as far as a process can tell: it ends between two instructions.

use crate::chaos::ending::{Effect, Ending, NONE};
use crate::chaos::processes::kill_group;
use crate::chaos::verb::Verb;
use rustix::process::Signal;

pub(in crate::chaos) const POWER_CUT: Ending = Ending {
    name: "power-cut",
    made: "SIGKILL for the process group of plimsoll. The kernel goes on: what it was handed is kept, which a machine without \
           power loses if it was not on the disk yet",
    tries: 200,
    verbs: &[Verb::Run, Verb::Sweep, Verb::Serve, Verb::Profile, Verb::ProfiledRun, Verb::ProfiledSweep],
    effect: Effect::Ends,
    signals: &[Signal::KILL.as_raw()],
    strike: |scene, _| kill_group(&scene.child, Signal::KILL),
    ..NONE
};
