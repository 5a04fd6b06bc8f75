//! CL: was it the load generator?

pub(super) mod cap;
mod draining;
mod dropped;
mod faults;
mod handshakes;
mod starved;
mod stolen;
mod throttled;

use crate::Rule;

pub(crate) static ALL: [Rule; 8] = [
    stolen::RULE,
    starved::RULE,
    throttled::RULE,
    draining::RULE,
    dropped::RULE,
    cap::RULE,
    faults::RULE,
    handshakes::RULE,
];
