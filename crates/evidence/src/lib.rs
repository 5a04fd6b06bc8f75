//! From the events of a load to its evidence, and the log of its histograms.
//!
//! A pure function of the events: no I/O beyond a `Write` handed in, no clock, no threads.

mod builder;
mod disturbed;
pub mod interval_log;
mod little;
mod observed;
mod omission;
mod rate;
mod status;

pub use builder::{EvidenceBuilder, goodput, throughput_per_s};
pub use little::cut_off;
