//! The load generator.
//!
//! *When* ([`schedule`]) x *what* ([`source`]) x *until* (`window`) meet in one worker core
//! (`core`) that knows neither sockets nor a clock: a `transport::Transport` carries its bytes and every
//! call brings `now`. [`run`] puts one core on each load thread, each with its own epoll loop, and turns what
//! they tick into one stream of [`model::Event`]s.

pub mod limits;
pub mod marks;
pub mod probe;
pub mod run;
pub mod schedule;
pub mod source;
pub mod testing;
pub mod tls;

mod core;
mod fnv;
mod merge;
mod opening;
mod prolong;
mod recorder;
#[cfg(test)]
mod sim;
mod sockets;
mod spin;
mod transport;
mod warmup;
mod window;
mod worker;
