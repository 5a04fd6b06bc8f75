//! CL: was it the load generator?

pub(super) mod cap;
pub(super) mod draining;
pub(super) mod dropped;
pub(super) mod faults;
pub(super) mod handshakes;
pub(super) mod starved;
pub(super) mod stolen;
pub(super) mod throttled;
