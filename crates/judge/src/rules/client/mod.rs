//! CL: the load generator.

pub(crate) mod busy;
pub(crate) mod cap;
pub(crate) mod connections;
pub(crate) mod draining;
pub(crate) mod dropped;
pub(crate) mod faults;
pub(crate) mod handshakes;
pub(crate) mod lost_agent;
pub(crate) mod ports;
pub(crate) mod send_rate;
pub(crate) mod slip;
pub(crate) mod starved;
pub(crate) mod stolen;
pub(crate) mod throttled;
pub(crate) mod unlike_agents;
