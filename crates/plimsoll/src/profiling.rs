//! Profiles: who is looked at, what is written, and sampling exactly the measured window of a load.

use crate::exit::Trouble;
use crate::target_url::is_local;
use engine::clock;
use model::{Address, Event, Phase, Profiled};
use observe::profile::{Profile, Profiler, Scope, behind_address};
use report::flame::{self, Scale};
use std::path::Path;

/// The stacks, and the graph of them.
pub(crate) const FOLDED: &str = "profile.folded";
pub(crate) const GRAPH: &str = "profile.svg";

/// Samples during the measured window of one load.
pub(crate) struct Sampling {
    state: State,
    scope: Scope,
    begin_ns: u64,
    window_ns: Option<u64>,
}

enum State {
    /// Before, within or after the window.
    Ready(Profiler),
    /// Why there is nothing.
    Unavailable(String),
}

/// What came of it.
pub(crate) enum Sampled {
    Profile(Box<Profile>),
    Unavailable(String),
}

impl Sampling {
    /// Gets ready for a load on `address` with a window of `window_ns`, or until its requests are done.
    pub(crate) fn new(address: &Address, window_ns: Option<u64>) -> Self {
        let mut scope = Scope { own_name: "load_generator", ..Scope::default() };
        let state = match is_local(address) {
            false => State::Unavailable("the server is not on this machine; run plimsoll profile there".into()),
            true => match (behind_address(address), Profiler::new(clock::thread_cpu_ns)) {
                (Err(missing), _) => State::Unavailable(missing.to_string()),
                (_, Err(error)) => State::Unavailable(error.to_string()),
                (Ok(server), Ok(profiler)) => {
                    scope.server = server;
                    State::Ready(profiler)
                }
            },
        };
        Self { state, scope, begin_ns: 0, window_ns }
    }

    /// Why nothing will be sampled.
    pub(crate) fn why_not(&self) -> Option<&str> {
        match &self.state {
            State::Unavailable(why) => Some(why),
            State::Ready(_) => None,
        }
    }

    /// Switches on where the window begins and off where it ends.
    pub(crate) fn follow(&mut self, event: &Event) {
        let State::Ready(profiler) = &self.state else { return };
        match event {
            Event::Warmed { at_ns, .. } => {
                self.begin_ns = *at_ns;
                profiler.switch_on();
            }
            Event::Tick(tick) if tick.phase == Phase::Drain => profiler.switch_off(),
            Event::Tick(tick) if tick.phase == Phase::Measure => {
                if self.window_ns.is_some_and(|window_ns| tick.to_ns >= self.begin_ns + window_ns) {
                    profiler.switch_off();
                }
            }
            Event::Ended { .. } => profiler.switch_off(),
            Event::Probed(_)
            | Event::Started { .. }
            | Event::Connected { .. }
            | Event::Tick(_)
            | Event::Observed(_) => {}
        }
    }

    /// Names what was sampled, while the server still runs: its maps are needed.
    pub(crate) fn finish(self) -> Sampled {
        match self.state {
            State::Unavailable(why) => Sampled::Unavailable(why),
            State::Ready(profiler) => Sampled::Profile(Box::new(profiler.finish().resolve(&self.scope))),
        }
    }
}

/// Writes stacks and graph into `directory`.
pub(crate) fn write(directory: &Path, profile: &Profile, title: &str, scale: Scale) -> Result<(), Trouble> {
    write_file(&directory.join(FOLDED), &profile.folded)?;
    match flame::graph(&profile.folded, title, scale) {
        Some(svg) => write_file(&directory.join(GRAPH), &svg),
        None => Ok(()),
    }
}

pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), Trouble> {
    std::fs::write(path, text).map_err(|error| Trouble::usage(format!("cannot write {}: {error}", path.display())))
}

/// In what the graph of a profile under a load is counted.
pub(crate) fn scale(profiled: &Profiled, good: u64) -> Scale {
    match good {
        0 => Scale::Samples,
        n => Scale::UsPerGood { sample_us: profiled.sample_us() / n as f64 },
    }
}
