//! A rate that the server admits whatever the load: the same goodput at each load from the first on, with nothing busy.

use super::{Change, Detection, Signal, figures, path};
use crate::limiter::input::LimiterInput;
use crate::limiter::pools::pools;
use model::human::{percent, rate, time};

/// Goodput of all loads differs by no more than this: work that takes time has a rate that changes a little with the load.
const SPREAD: f64 = 0.01;
/// With busier CPUs, or workers that are occupied for more of their time, the rate is that of the work.
const CPUS_BUSY: f64 = 0.5;
const OCCUPIED: f64 = 0.5;
/// People set rates that are round: 1, 1.5, 2, 2.5, 3 to 9, times a power of ten. A rate is one within this share.
const ROUND: [f64; 12] = [1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0];
const OFF: f64 = 0.005;
/// A server that has answered alone in less than this share of the time between two responses has not worked for all of that time.
const WORKS: f64 = 0.5;

pub(super) fn look(input: &LimiterInput<'_>) -> Detection {
    let (Some(constant), Some(cpus)) = (input.shape.constant, input.server_cpus()) else {
        return Detection::Unchecked("a sweep of at least 4 loads is needed, and the CPUs of the server");
    };
    let is_busy = cpus.used >= CPUS_BUSY || pools(input).iter().any(|pool| pool.occupancy >= OCCUPIED);
    if constant.spread > SPREAD || is_busy {
        return Detection::Clear;
    }
    let between_ns = 1e9 / constant.rate_per_s;
    let alone_ns = path::alone_ns(input.evidence).filter(|alone_ns| *alone_ns < WORKS * between_ns);
    let Some(set) = round(constant.rate_per_s).or_else(|| alone_ns.map(|_| constant.rate_per_s)) else {
        return Detection::Clear;
    };
    let alone = alone_ns.map_or_else(String::new, |alone_ns| {
        format!(
            ", and it has answered within {} before the load, in less than the {} between two of them",
            time(alone_ns),
            time(between_ns)
        )
    });
    Detection::hit(Signal {
        name: "rate-limited (inferred)",
        resource: "rate of requests".to_owned(),
        says: format!(
            "goodput is {} at each load from the first on, within {}, while the load uses {} of the CPUs and no worker is \
             occupied{alone}: something admits a constant rate (nginx: limit_req; HAProxy: stick tables; a quota of an API)",
            rate(constant.rate_per_s),
            percent(constant.spread),
            percent(cpus.used)
        ),
        queue: true,
        ceiling_per_s: Some(set),
        evidence: figures([
            ("rate_per_s", constant.rate_per_s),
            ("spread_share", constant.spread),
            ("cpus_used_share", cpus.used),
        ]),
        change: Some(Change {
            words: format!("a rate of {} instead of {}", rate(2.0 * set), rate(set)),
            setting: None,
            from: Some(set),
            to: Some(2.0 * set),
            factor: 2.0,
        }),
        is_inferred: true,
        ..Signal::default()
    })
}

/// The round number that a rate is, as far as it can be told from it; none where it is none.
fn round(per_s: f64) -> Option<f64> {
    if per_s <= 0.0 {
        return None;
    }
    let power = 10f64.powf(per_s.log10().floor());
    ROUND.iter().map(|first| first * power).find(|set| (per_s / set - 1.0).abs() <= OFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_that_someone_has_set_are_round() {
        assert_eq!(
            [100.0, 99.7, 252.0, 9_960.0, 0.0].map(round),
            [Some(100.0), Some(100.0), None, Some(10_000.0), None]
        );
        assert_eq!([94.0, 183.6, 97.7].map(round), [None; 3], "sleeps of 10 and 5 ms, and what is around them");
    }
}
