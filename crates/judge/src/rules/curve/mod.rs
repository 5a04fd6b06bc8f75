//! SA: what does the curve say, and what does it not?

mod bracket;
mod no_limiter;
mod retrograde;
mod uneven;

use crate::Rule;

pub(crate) static ALL: [Rule; 4] = [bracket::RULE, retrograde::RULE, no_limiter::RULE, uneven::RULE];
