//! Answers that the measured window of an open loop had of the warm-up: what had piled up before it.

use model::Evidence;

/// Fewer are no backlog, and less than this share of what was scheduled changes no rate that is read.
const CARRIED_MIN: f64 = 10.0;
const CARRIED_SHARE: f64 = 0.01;
/// Standard deviations of the requests in flight at either end of the window, which vary as Poisson's do.
const DEVIATIONS: f64 = 3.0;

/// Good responses of the window beyond those to requests that were scheduled in it, whenever these were answered; 0 in a
/// closed loop, whose window schedules nothing, and where they are no more than what is in flight at any time.
#[must_use]
pub fn carried_over(evidence: &Evidence) -> u64 {
    if evidence.plan.load.is_closed() || evidence.measured_ns == 0 {
        return 0;
    }
    let (flow, cohort) = (&evidence.flow, &evidence.cohort);
    let carried = flow.good.saturating_sub(cohort.counts.good);
    let in_flight = flow.outstanding_ns as f64 / evidence.measured_ns as f64;
    let chance = DEVIATIONS * (2.0 * in_flight).sqrt();
    let least = CARRIED_MIN.max(CARRIED_SHARE * cohort.counts.planned as f64).max(chance);
    if carried as f64 > least { carried } else { 0 }
}

/// The part of the window's good responses that is not carried over, 0 to 1.
pub(crate) fn own_part(evidence: &Evidence) -> f64 {
    1.0 - carried_over(evidence) as f64 / evidence.flow.good.max(1) as f64
}
