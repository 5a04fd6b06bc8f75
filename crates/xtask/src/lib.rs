//! Common parts of the developer's tasks and of `lab`: the workspace, Debian packages, and bare Debian trees.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a developer's tool talks to its terminal")]

pub mod debian;
pub mod packages;
pub mod workspace;
