//! When no rung has evidence: too little load, or something that was not looked for.

use crate::limiter::scene::Scene;
use model::human::{percent, plural, rate, time};
use model::{Load, Utilisation};

/// A resource in use to this share may be a limit.
const USED: f64 = 0.7;

/// CPUs that strangers use, worth telling.
const STRANGERS: f64 = 0.1;

/// Why the load was too small for any limit; none when it was not, or when that cannot be told.
pub(in crate::limiter) fn not_saturated(scene: &Scene<'_>, utilisations: &[Utilisation]) -> Option<String> {
    let has_room = scene.sees_server() && utilisations.iter().all(|used| used.share < USED);
    // A curve that still rises says so itself, whatever is in use.
    if !scene.shape.flat.map_or(has_room, |flat| !flat) {
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
    let strangers =
        scene.observed().and_then(|observed| observed.others.as_ref()).map_or(0.0, |others| others.cpu_cores);
    let strangers = match strangers >= STRANGERS {
        true => format!("; other programs of this machine used {strangers:.2} CPUs"),
        false => String::new(),
    };
    format!(
        "nothing that was looked at is at its limit (most used: {}){strangers}; a profile may tell (--profile)",
        used.join(", ")
    )
}
