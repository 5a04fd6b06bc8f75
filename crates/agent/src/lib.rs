//! Load from several machines, and the server's machine observed: the protocol between a coordinator and its agents, without
//! I/O.
//!
//! One byte stream leads to each agent, which speaks first. [`Agent`] is the machine at its end and [`Fleet`] that of the
//! coordinator, over all streams: bytes and `now` go in, bytes, events and a deadline come out. Neither owns a stream, reads a
//! clock or starts a thread, so that both run in virtual time; how the bytes were cut into reads never changes what they say.
//!
//! The agents stay for several loads, one after the other. A load: plan, ready, clocks compared ([`sync`]), start at an instant
//! of each agent's own clock, armed; then no message is needed. Ticks come with their histograms and are added up ([`merge`]);
//! totals are held against their sum ([`totals`]). Both ends send something each second, loaded or not, and neither goes on
//! without the other: see [`limits`].
//!
//! [`RemoteObserver`] is the coordinator's end of the stream to the agent on the server's machine. Each sample is ordered by the
//! coordinator, after a tick, so that samples and ticks have the same phases; the agent's own clock says when it was taken.
//!
//! [`RemoteServer`] is that of the stream to an agent that starts a server on its machine, restarts it, and ends it with the
//! stream.
//!
//! Before the first load both kinds of agents may probe the [`bandwidth`] between them.
//!
//! Before an agent speaks, the shell of its host says lines ([`shell`]), or a cluster what its pod does ([`pods`]).
//!
//! A peer may be hostile: [`frame`] bounds lengths, [`checked`] numbers and texts.

pub mod agent;
pub mod bandwidth;
pub mod checked;
mod error;
pub mod fleet;
pub mod frame;
pub mod limits;
mod link;
pub mod merge;
pub mod message;
pub mod observer;
pub mod pods;
pub mod segment;
pub mod server;
pub mod shell;
pub mod sync;
pub mod testing;
pub mod totals;

pub use agent::{Agent, Gone, Order, Report};
pub use error::FleetError;
pub use fleet::{Fleet, FleetEvent, OnLoss};
pub use message::{Hello, ObserveMessage, ObservedHost, PROTOCOL, ServerRuns, StartServer};
pub use observer::{ObserverEvent, RemoteObserver};
pub use server::{RemoteServer, ServerEvent, ServerOrder};
