//! Stdout and the terminal: full, closed, stopped.

use crate::chaos::ending::{Effect, Ending, NONE, When};
use crate::chaos::judge::{is_too_much, lost};
use crate::chaos::log::Log;
use crate::chaos::moment::Moment;
use crate::chaos::scene::Scene;
use crate::chaos::setting::{ORDINARY, Setting, Streams};
use crate::chaos::verb::Verb;
use rustix::process::Signal;

pub(in crate::chaos) const FULL_STDOUT: Ending = Ending {
    name: "full-stdout",
    made: "ENOSPC: stdout is `/dev/full`",
    verbs: &[Verb::Run, Verb::Sweep, Verb::Serve],
    when: When::Start,
    setting: Setting { streams: Streams::FullDevice, ..ORDINARY },
    effect: Effect::Ends,
    codes: &[2],
    says: &["No space left on device"],
    must_say: true,
    ..NONE
};

pub(in crate::chaos) const CLOSED: Ending = Ending {
    name: "closed-stdout",
    made: "stdout and stderr are a pipe whose reader goes away; nobody is left to be told",
    verbs: &[Verb::Run, Verb::Sweep, Verb::Serve],
    setting: Setting { streams: Streams::Pipe, ..ORDINARY },
    // Of `serve`, which is ended by ^C, before it has got so far as to watch for it.
    codes: &[130],
    signals: &[Signal::INT.as_raw()],
    strike: |scene, _| {
        drop(scene.reader.take());
        Ok(())
    },
    ..NONE
};

pub(in crate::chaos) const STOPPED: Ending = Ending {
    name: "stopped-terminal",
    made: "^S on the terminal of stdout and stderr, and ^Q 0.7 to 2.5 s later; what was measured until then is on the disk \
           before ^Q",
    setting: Setting { streams: Streams::Terminal, ..ORDINARY },
    strike: stop,
    ..NONE
};

/// Stops the terminal for a while, in which the measurement has to go on.
fn stop(scene: &mut Scene, moment: Moment) -> Result<(), String> {
    let terminal = scene.terminal.as_mut().ok_or("there is no terminal")?;
    terminal.stop().map_err(|error| format!("^S: {error}"))?;
    scene.hold(moment.hold);
    let standing = scene.standing();
    let missing = standing.zip(scene.verb.window()).and_then(|(standing, window)| {
        let missing = lost(&standing, window, Log::of(&standing.log).measured_ns);
        is_too_much(missing, &standing).then_some(missing)
    });
    let terminal = scene.terminal.as_mut().ok_or("there is no terminal")?;
    terminal.resume().map_err(|error| format!("^Q: {error}"))?;
    missing.map_or(Ok(()), |missing| Err(format!("{missing:.2?} are not on the disk while the terminal is stopped")))
}
