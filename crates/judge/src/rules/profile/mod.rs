//! PR: profiles.

pub(crate) mod profiled;
