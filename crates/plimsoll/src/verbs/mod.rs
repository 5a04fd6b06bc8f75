//! One file a verb.

pub(crate) mod agent;
pub(crate) mod audit;
pub(crate) mod capacity;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
mod conclude;
mod confirm;
mod deliver;
mod exit_code;
pub(crate) mod experiment;
pub(crate) mod flag_file;
pub(crate) mod history;
pub(crate) mod man;
mod measured;
pub(crate) mod observe;
pub(crate) mod profile;
pub(crate) mod render;
pub(crate) mod report;
pub(crate) mod rules;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod stack;
pub(crate) mod sweep;
pub(crate) mod target;
