//! LD and ST: load and statistics.

pub(crate) mod arrivals;
pub(crate) mod backlog;
pub(crate) mod bursts;
pub(crate) mod closed_loop;
pub(crate) mod coarse;
pub(crate) mod colocated;
pub(crate) mod dependent;
pub(crate) mod few_units;
pub(crate) mod modes;
pub(crate) mod omission;
pub(crate) mod outlier;
pub(crate) mod recording;
pub(crate) mod settled;
pub(crate) mod single_url;
pub(crate) mod too_short;
pub(crate) mod unstable;
