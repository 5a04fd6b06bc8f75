//! Output to the terminal: results, and progress.

mod ascii;
pub(crate) mod printer;
pub(crate) mod progress;
