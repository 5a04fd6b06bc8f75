//! Both ends of the agents' protocol in one process, without any socket.

mod fuzzed;
mod simulation;
