//! The real binary as a command: how it tells what is typed wrong, answers that are not HTTP, reports of other tools, output
//! that cannot be written. Hermetic: neither the machine's speed nor its packages nor the user decide any outcome.

#[allow(dead_code, unused_imports, reason = "these tests need less of it than those that measure")]
#[path = "../end_to_end/support/mod.rs"]
mod support;

mod audit;
mod bad_input;
mod broken_peers;
mod built_in_server;
mod capacity;
mod check;
mod compare;
mod experiment;
mod flag_file;
mod help;
mod history;
mod hostile;
mod looks;
mod manual;
mod output;
mod render;
mod rules;
mod stack;
mod tables;
mod thresholds;
