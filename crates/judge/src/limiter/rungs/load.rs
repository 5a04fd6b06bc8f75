//! When no rung has evidence: too little load, or something that was not looked for.

use crate::limiter::scene::Scene;
use model::human::{percent, plural, rate, time};
use model::{Load, Utilisation};

/// A resource in use to this share may be a limit.
const USED: f64 = 0.7;

/// Why the load was too small for any limit; none when it was not, or when that cannot be told.
pub(in crate::limiter) fn not_saturated(scene: &Scene<'_>, utilisations: &[Utilisation]) -> Option<String> {
    let is_used = utilisations.iter().any(|used| used.share >= USED);
    if is_used || scene.shape.flat == Some(true) || !scene.sees_server() {
        return None;
    }
    let mean_ns = scene.evidence.latency.response.mean_ns;
    Some(match scene.evidence.plan.load {
        Load::Closed { connections } => format!(
            "{} ask for no more than {}, as each answer takes {}: a higher rate needs more connections",
            plural(u64::from(connections), "connection"),
            rate(f64::from(connections) * 1e9 / mean_ns.max(1.0)),
            time(mean_ns)
        ),
        Load::Open { rate_per_s, .. } => format!("{} were offered, and held", rate(rate_per_s)),
    })
}

/// What is known when nothing was found.
pub(in crate::limiter) fn unknown(scene: &Scene<'_>, utilisations: &[Utilisation]) -> String {
    if !scene.sees_server() {
        return "the server was not seen: it runs elsewhere, or shows no processes".to_owned();
    }
    let used: Vec<_> =
        utilisations.iter().take(3).map(|used| format!("{} {}", used.resource, percent(used.share))).collect();
    format!("nothing that was looked at is at its limit (most used: {}); a profile may tell (--profile)", used.join(", "))
}
