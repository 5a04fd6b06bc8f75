//! The disturbance account: ten times a second, what was taken from the CPUs that client and server may use.
//!
//! [`reading`] takes the figures of a moment, [`taken`] (pure) makes of two of them what was taken in between, `foreign`
//! looks for the processes behind CPU time that nobody of the measurement used, and [`sampler`] is the thread that does so at
//! the end of each slice. See [`model::Cause`] for what counts.
//!
//! A wait for a CPU is known when it is over, as the scheduler tells it when the thread runs again: slices are marked
//! backwards. CPU time of others is what nobody of the measurement used; idle time comes in steps of 10 ms, so only
//! what goes beyond all seen before counts, and only as far as processes from outside are found that used it.

mod foreign;
mod reading;
mod sampler;
mod taken;

pub(crate) use reading::Watched;
pub(crate) use sampler::DisturbanceSampler;
pub(crate) use sampler::Setup;
pub use sampler::{LoadClock, Publish};
