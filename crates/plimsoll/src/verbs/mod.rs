//! One file a verb.

pub(crate) mod audit;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod man;
pub(crate) mod observe;
pub(crate) mod profile;
pub(crate) mod report;
pub(crate) mod rules;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod sweep;
pub(crate) mod target;
