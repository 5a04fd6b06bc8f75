//! No more descriptors: EMFILE for whatever is opened from now on.

use crate::chaos::ending::{Ending, NONE};
use crate::chaos::moment::Moment;
use crate::chaos::scene::Scene;
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::time::Duration;

/// The standard streams: all that are opened later have higher numbers.
const LIMIT: u64 = 3;
/// By then the program is loaded: who loads it needs descriptors, and says so in words of its own.
const LOADED: Duration = Duration::from_millis(50);

pub(in crate::chaos) const NO_DESCRIPTORS: Ending = Ending {
    name: "no-descriptors",
    made: "EMFILE: prlimit(2) sets the limit of open files of plimsoll, and of what it starts, to 3",
    // Too early for a server or for connections: told, and nothing was measured.
    codes: &[2, 3],
    says: &["Too many open files"],
    strike,
    ..NONE
};

fn strike(scene: &mut Scene, _: Moment) -> Result<(), String> {
    scene.hold(LOADED);
    let limit = Rlimit { current: Some(LIMIT), maximum: Some(LIMIT) };
    let set = prlimit(Some(Pid::from_child(&scene.child)), Resource::Nofile, limit);
    set.map(drop).map_err(|error| format!("prlimit: {error}"))
}
