//! PH: plausibility of the numbers.

pub(crate) mod accounts;
pub(crate) mod clock;
pub(crate) mod light;
pub(crate) mod link;
pub(crate) mod little;
pub(crate) mod same_work;
pub(crate) mod sequential;
pub(crate) mod utilisation;
