//! From the events of a load to its evidence, and the log of its histograms.
//!
//! A pure function of the events: no I/O but with readers and writers that are handed in, no clock, no threads. Logs that
//! are read back may come from anywhere: their lines, lengths and numbers are bounded ([`Events`], [`interval_log`]).

mod agents;
mod backlog;
mod builder;
mod carried;
mod content;
mod disturbed;
mod event_log;
pub mod factors;
pub mod interval_log;
mod iterations;
mod lines;
mod little;
mod machines;
mod observed;
mod omission;
mod rate;
mod sample;
mod sent;
mod status;
pub mod testing;
mod threads;

pub use backlog::{backlog, undisturbed_backlog};
pub use builder::{EvidenceBuilder, goodput, throughput_per_s};
pub use carried::carried_over;
pub use content::unseen_wrong;
pub use event_log::{Events, EventsError};
pub use little::cut_off;
pub use sample::{SampleBearing, sample_bearing};
