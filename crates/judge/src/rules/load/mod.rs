//! LD and ST: was it the load that was asked for, and for long enough to say anything?

pub(super) mod arrivals;
pub(super) mod backlog;
pub(super) mod bursts;
pub(super) mod coarse;
pub(super) mod colocated;
pub(super) mod dependent;
pub(super) mod few_units;
pub(super) mod modes;
pub(super) mod omission;
pub(super) mod outlier;
pub(super) mod single_url;
