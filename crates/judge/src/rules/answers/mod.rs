//! ER: were these the right answers, and did the server give them?

mod bytes;
mod cached;
mod counted;
mod drift;
mod fast_failures;
mod happened;
mod mix_shift;
mod refused;
mod reuse;

use crate::Rule;

pub(crate) static ALL: [Rule; 9] = [
    fast_failures::RULE,
    bytes::RULE,
    counted::RULE,
    refused::RULE,
    reuse::RULE,
    cached::RULE,
    happened::RULE,
    drift::RULE,
    mix_shift::RULE,
];
