//! Output of results and of progress.

pub(crate) mod deliver;
pub(crate) mod printer;
pub(crate) mod progress;
