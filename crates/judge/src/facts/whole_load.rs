//! Seconds in which the whole load was there: none of its agents was lost.

use model::{Evidence, Second};

/// Reason why a rule about the course of a load says nothing: what it would look for has a known cause.
pub(crate) const AGENT_LOST: &str = "an agent was lost (CL-18), and too little of the time had the whole load";

/// True if a part of the load is missing from the window.
pub(crate) fn is_any_lost(evidence: &Evidence) -> bool {
    evidence.seconds.iter().any(|second| second.lost_share > 0.0)
}

/// The ticks of the window with the load of all agents.
pub(crate) fn whole_load(evidence: &Evidence) -> impl Iterator<Item = &Second> {
    evidence.seconds.iter().filter(|second| second.lost_share == 0.0)
}
