//! What the number and the spread of the responses bear, where a run is too short for batches of seconds.
//!
//! By Little's law the rate is the requests in flight over the mean service time, so that it is as uncertain as that mean. What
//! slows the server slows all that is in flight: only as many service times are independent as came one after the other.

use model::{Evidence, Load};
use stats::relative_half_width;

/// How far the rate of a load is known from its responses alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleBearing {
    /// Responses that came one after the other: all of them over those in flight at a time.
    pub rounds: f64,
    /// Half of the 95 % interval of the rate, relative to it; none below two rounds.
    pub half: Option<f64>,
}

/// See [`SampleBearing`].
#[must_use]
pub fn sample_bearing(evidence: &Evidence) -> SampleBearing {
    let service = &evidence.latency.service;
    let in_flight = match evidence.plan.load {
        // As many as are asked for: how many there were on average differs from run to run, and so would the verdict.
        Load::Closed { connections } => f64::from(connections) * f64::from(evidence.plan.pipeline),
        Load::Open { .. } => evidence.outstanding.mean,
    };
    let rounds = service.n as f64 / in_flight.max(1.0);
    let spread = match evidence.plan.load {
        Load::Closed { .. } if service.mean_ns > 0.0 => evidence.latency.service_sd_ns / service.mean_ns,
        // A schedule says when requests are sent; Poisson arrivals vary by the square root of their number.
        Load::Closed { .. } | Load::Open { .. } => 1.0,
    };
    SampleBearing { rounds, half: relative_half_width(spread, rounds) }
}
