//! Measuring tests: what is observed of real processes, sockets and the kernel's counters, which others move too.

mod kernel;
mod processes;
mod profile;
mod sockets;
mod states;
