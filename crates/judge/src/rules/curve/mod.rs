//! SA: what does the curve say, and what does it not?

pub(super) mod bracket;
pub(super) mod no_limiter;
pub(super) mod retrograde;
pub(super) mod uneven;
