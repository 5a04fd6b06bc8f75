//! File systems: full, full from the beginning, failing.

use crate::chaos::ending::{Ending, NONE, When};
use crate::chaos::moment::Moment;
use crate::chaos::scene::Scene;
use crate::chaos::setting::{ORDINARY, Place, Setting};
use crate::chaos::verb::Verb;

const NO_SPACE: &str = "No space left on device";

pub(in crate::chaos) const FULL: Ending = Ending {
    name: "full-disk",
    made: "a tmpfs of 8 MiB, in which a file takes all that is left",
    tries: 50,
    verbs: &[Verb::Run, Verb::Sweep, Verb::ProfiledRun],
    setting: Setting { place: Place::Small, ..ORDINARY },
    says: &[NO_SPACE],
    strike: fill,
    ..NONE
};

pub(in crate::chaos) const FULL_PROFILE: Ending = Ending {
    name: "full-disk-profile",
    made: "the same, for a profile, which is written at the end",
    verbs: &[Verb::Profile],
    codes: &[2],
    tries: 10,
    ..FULL
};

pub(in crate::chaos) const NO_ROOM: Ending = Ending {
    name: "no-room",
    made: "ENOSPC from the first byte on: such a tmpfs, full before the start",
    when: When::Start,
    setting: Setting { place: Place::Full, ..ORDINARY },
    says: &[NO_SPACE],
    ..NONE
};

pub(in crate::chaos) const FAILING: Ending = Ending {
    name: "failing-disk",
    made: "EIO: ext2, mounted with `sync`, on a loop device whose file lies on a tmpfs that is filled up",
    setting: Setting { place: Place::Failing, ..ORDINARY },
    // A load of a sweep that cannot get a directory.
    codes: &[2],
    says: &["Input/output error", NO_SPACE],
    strike: fill,
    ..NONE
};

fn fill(scene: &mut Scene, _: Moment) -> Result<(), String> {
    scene.disk.as_ref().ok_or("there is no disk")?.fill()
}
