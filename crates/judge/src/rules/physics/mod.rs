//! PH: can the numbers be true?

mod accounts;
mod clock;
mod light;
mod link;
mod same_work;
mod sequential;
mod utilisation;

use crate::Rule;

pub(crate) static ALL: [Rule; 7] =
    [utilisation::RULE, link::RULE, sequential::RULE, light::RULE, accounts::RULE, same_work::RULE, clock::RULE];
