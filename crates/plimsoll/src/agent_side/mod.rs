//! What an agent does on its machine: `serve` carries out the orders of a coordinator. Its load waits at a `gate` for the instant
//! agreed on; it may observe a server (`observing`) instead, or start one (`serving`).

mod gate;
mod observing;
pub(crate) mod serve;
mod serving;
