//! Output to the terminal: results, and progress.

pub(crate) mod printer;
pub(crate) mod progress;
