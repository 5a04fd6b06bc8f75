//! LD and ST: was it the load that was asked for, and for long enough to say anything?

mod arrivals;
mod backlog;
mod bursts;
mod coarse;
mod colocated;
mod dependent;
mod few_units;
mod modes;
mod omission;
mod outlier;
mod single_url;

use crate::Rule;

pub(crate) static ALL: [Rule; 11] = [
    arrivals::RULE,
    omission::RULE,
    coarse::RULE,
    bursts::RULE,
    single_url::RULE,
    colocated::RULE,
    backlog::RULE,
    modes::RULE,
    dependent::RULE,
    few_units::RULE,
    outlier::RULE,
];
