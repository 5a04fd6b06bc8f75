//! A quota of CPU time that the server's control group has, and is held to.

use super::{Change, Look, Signal, figures};
use crate::limiter::laws;
use crate::limiter::scene::{QUOTA, Scene};
use model::NS_PER_S;
use model::human::percent;

/// Throttled for more than this share of the time.
const THROTTLED: f64 = 0.05;
const PART: &str = "cgroup/server";

pub(super) fn look(scene: &Scene<'_>) -> Look {
    let Some(throttled) = scene.share_of_time(PART, "throttled_ns") else {
        return Look::Unchecked("the control group of the server was not seen");
    };
    if throttled <= THROTTLED {
        return Look::Clear;
    }
    let cores = quota(scene).unwrap_or_default();
    Look::hit(Signal {
        name: "cpu-quota-limited",
        resource: QUOTA.to_owned(),
        says: format!("a quota of {cores:.2} CPUs (cpu.max) stops it for {} of the time", percent(throttled)),
        share: used(scene),
        queue: true,
        ceiling_per_s: laws::ceiling_per_s(scene.per_s, used(scene).unwrap_or(1.0)),
        evidence: figures([("throttled_share", throttled), ("quota_cpus", cores)]),
        change: (cores > 0.0).then(|| Change {
            words: format!("a quota of {:.2} CPUs instead of {cores:.2}", 2.0 * cores),
            setting: Some("cpu.max".to_owned()),
            from: Some(cores),
            to: Some(2.0 * cores),
            factor: 2.0,
        }),
        ..Signal::default()
    })
}

/// CPUs that the quota amounts to.
fn quota(scene: &Scene<'_>) -> Option<f64> {
    let gauge = scene.observed()?.gauges.get(PART)?.get("cpu_quota_ns_per_s")?;
    (gauge.mean > 0.0).then(|| gauge.mean / NS_PER_S as f64)
}

/// Share of the quota that the server uses; a group may have more in it, which is not known.
pub(in crate::limiter) fn used(scene: &Scene<'_>) -> Option<f64> {
    Some(scene.observed()?.server.as_ref()?.cpu_cores / quota(scene)?)
}
