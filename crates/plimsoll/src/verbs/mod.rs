//! One file a verb.

pub(crate) mod run;
pub(crate) mod sweep;
pub(crate) mod target;
