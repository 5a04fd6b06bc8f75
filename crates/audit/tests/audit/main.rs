//! Saved outputs of other tools: what is read, what is judged, and what is refused.

mod bad_input;
mod captured;
mod forms;
mod fuzz;
mod ledger;
mod outputs;
mod public;
mod samples;
mod strangers;
mod support;
mod variants;
