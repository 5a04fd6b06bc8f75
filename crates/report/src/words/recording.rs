//! The recording that the requests of a load are from.

use crate::words::fact::{About, Fact};
use model::Plan;

/// What was taken of it.
pub(crate) fn fact(plan: &Plan) -> Option<Fact> {
    Fact::known(About::Target, "recording", plan.recording.as_ref().map(ToString::to_string))
}
