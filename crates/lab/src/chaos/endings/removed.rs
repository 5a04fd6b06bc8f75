//! The directory of the result is taken away.

use crate::chaos::ending::{Ending, NONE};
use crate::chaos::moment::Moment;
use crate::chaos::scene::Scene;
use std::io::ErrorKind;

pub(in crate::chaos) const REMOVED: Ending = Ending {
    name: "removed-directory",
    made: "the directory of the result is renamed and removed with all that is in it; what is measured is printed",
    codes: &[2],
    says: &["No such file or directory"],
    keeps_log: false,
    strike,
    ..NONE
};

fn strike(scene: &mut Scene, _: Moment) -> Result<(), String> {
    // Under another name nothing is added to it any more.
    let aside = scene.folder().join("removed");
    match std::fs::rename(&scene.result, &aside).and_then(|()| std::fs::remove_dir_all(&aside)) {
        // It is too early for it.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(|error| format!("cannot remove it: {error}")),
    }
}
