//! What the tasks of the developer and the programs of `lab` have in common: where things are, and Debian packages.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a developer's tool talks to its terminal")]

pub mod packages;
pub mod workspace;
