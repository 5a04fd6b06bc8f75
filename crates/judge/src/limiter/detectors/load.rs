//! No evidence for any limit: too little load, or a limit that is not monitored.

use crate::limiter::input::{LimiterInput, PERHAPS_FULL};
use model::human::{percent, plural, rate, time};
use model::{Load, Utilisation};

/// CPUs used by other processes from which on they are reported.
const STRANGERS: f64 = 0.1;

/// Reason why the load was too small for any limit; none when it was not, or when that is unknown.
pub(in crate::limiter) fn not_saturated(input: &LimiterInput<'_>, utilisations: &[Utilisation]) -> Option<String> {
    let has_room = input.sees_server() && utilisations.iter().all(|used| used.share < PERHAPS_FULL);
    // A curve that still rises says so itself, whatever is in use; one that has risen to here, and no further, does not.
    if !input.shape.flat.map_or(has_room, |flat| !flat) || input.shape.is_passed {
        return None;
    }
    let mean_ns = input.evidence.latency.response.mean_ns;
    Some(match input.evidence.plan.load {
        Load::Closed { connections } if mean_ns <= 0.0 => {
            format!("{} leave it room: a higher rate needs more", plural(u64::from(connections), "connection"))
        }
        Load::Closed { connections } => format!(
            "{} can request at most {} (each response takes {}): a higher rate needs more connections",
            plural(u64::from(connections), "connection"),
            rate(f64::from(connections) * 1e9 / mean_ns),
            time(mean_ns)
        ),
        Load::Open { rate_per_s, .. } => format!("{} was offered and sustained", rate(rate_per_s)),
    })
}

/// Known facts when nothing was found.
pub(in crate::limiter) fn unknown(input: &LimiterInput<'_>, utilisations: &[Utilisation]) -> String {
    if !input.sees_server() {
        return "the server is not visible (remote, or processes hidden)".to_owned();
    }
    let used: Vec<_> =
        utilisations.iter().take(3).map(|used| format!("{} {}", used.resource, percent(used.share))).collect();
    let strangers =
        input.observed().and_then(|observed| observed.others.as_ref()).map_or(0.0, |others| others.cpu_cores);
    let strangers = match strangers >= STRANGERS {
        true => format!("; other processes used {strangers:.2} CPUs"),
        false => String::new(),
    };
    format!(
        "no monitored resource is at its limit (highest: {}){strangers}; a profile may show more (--profile)",
        used.join(", ")
    )
}
