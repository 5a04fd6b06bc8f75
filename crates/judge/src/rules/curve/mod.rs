//! SA: shape of the curve.

pub(crate) mod bracket;
pub(crate) mod no_limiter;
pub(crate) mod retrograde;
pub(crate) mod saturation;
pub(crate) mod uneven;
