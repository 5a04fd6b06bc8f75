//! A quota of CPU time that the server's control group has, and is held to.

use super::{Change, Detection, Relief, Signal, figures};
use crate::facts::kernel::throttled_share;
use crate::limiter::input::{LimiterInput, OF_SERVER, QUOTA};
use crate::limiter::laws;
use model::human::percent;

/// Throttled for more than this share of the time.
const THROTTLED: f64 = 0.05;
/// Gauge that only the first version of control groups has.
const CFS_QUOTA: &str = "cfs_quota_us";

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    let Some(throttled) = throttled_share(input.evidence) else {
        return Detection::Unchecked("control group of the server not monitored");
    };
    if throttled <= THROTTLED {
        return Detection::Clear;
    }
    let cores = input.quota_cpus().unwrap_or_default();
    let setting = setting(input);
    Detection::hit(Signal {
        name: "cpu-quota-limited",
        resource: QUOTA.to_owned(),
        says: format!("a quota of {cores:.2} CPUs ({setting}) {}", how_often(input, throttled)),
        share: input.quota_used(),
        queue: true,
        ceiling_per_s: laws::ceiling_per_s(input.per_s, input.quota_used().unwrap_or(1.0)),
        evidence: figures([("throttled_share", throttled), ("quota_cpus", cores)]),
        change: (cores > 0.0).then(|| Change {
            words: format!("a quota of {:.2} CPUs instead of {cores:.2}", 2.0 * cores),
            setting: Some(setting.to_owned()),
            from: Some(cores),
            to: Some(2.0 * cores),
            factor: 2.0,
        }),
        relief: Relief::Cpu,
        ..Signal::default()
    })
}

/// How much of the time the server is stopped is told by neither version alike: the kernel adds the stops of all CPUs up.
fn how_often(input: &LimiterInput<'_>, throttled: f64) -> String {
    let of = |name: &str| input.counter(OF_SERVER, name).filter(|n| *n > 0.0);
    match of("throttled_periods").zip(of("periods")) {
        Some((stopped, all)) => format!("stops the server in {} of its periods", percent((stopped / all).min(1.0))),
        None => format!("throttles the server {} of the time", percent(throttled)),
    }
}

/// The file that has the quota, by the version of control groups.
fn setting(input: &LimiterInput<'_>) -> &'static str {
    let gauges = input.observed().and_then(|observed| observed.gauges.get(OF_SERVER));
    match gauges.is_some_and(|gauges| gauges.contains_key(CFS_QUOTA)) {
        true => "cpu.cfs_quota_us",
        false => "cpu.max",
    }
}
