//! The laws that limits follow: utilisation law, Little's law, asymptotic bounds (P. J. Denning and J. P. Buzen, "The
//! Operational Analysis of Queueing Network Models", ACM Computing Surveys 10(3), 1978).

/// Responses per second at which a resource is used up, given that `per_s` use this share of it; none when nothing does.
#[must_use]
pub fn ceiling_per_s(per_s: f64, share: f64) -> Option<f64> {
    (per_s > 0.0 && share > 0.0).then(|| per_s / share)
}

/// Time that a request occupies a worker of a pool: `W occupancy / X`; ns.
#[must_use]
pub fn occupied_ns(workers: f64, occupancy: f64, per_s: f64) -> Option<f64> {
    (per_s > 0.0 && occupancy > 0.0).then(|| workers * occupancy / per_s * 1e9)
}

/// Responses per second that a pool allows whose workers are occupied for that long by each: `W / S`.
#[must_use]
pub fn pool_ceiling_per_s(workers: f64, occupied_ns: f64) -> f64 {
    workers * 1e9 / occupied_ns
}

/// Requests that wait in front of a pool: those in flight, without those in its workers (Little's law at both levels).
#[must_use]
pub fn waiting(in_flight: f64, workers: f64, occupancy: f64) -> f64 {
    (in_flight - workers * occupancy).max(0.0)
}

/// The whole after a change of one ceiling: the least of all of them.
#[must_use]
pub fn least(changed_per_s: f64, others_per_s: impl IntoIterator<Item = f64>) -> f64 {
    others_per_s.into_iter().fold(changed_per_s, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_of_five_that_takes_5_ms_does_a_thousand() {
        let s = occupied_ns(5.0, 1.0, 1_000.0).unwrap();
        assert_eq!((s, pool_ceiling_per_s(5.0, s), pool_ceiling_per_s(10.0, s)), (5e6, 1_000.0, 2_000.0));
        assert_eq!((waiting(20.0, 5.0, 1.0), waiting(3.0, 5.0, 1.0)), (15.0, 0.0));
    }

    #[test]
    fn half_a_resource_for_half_the_work() {
        assert_eq!(ceiling_per_s(100.0, 0.5), Some(200.0));
        assert_eq!((ceiling_per_s(0.0, 0.5), ceiling_per_s(100.0, 0.0)), (None, None));
    }

    #[test]
    fn the_least_ceiling_counts() {
        assert_eq!(least(2_000.0, [5_000.0, 1_500.0]), 1_500.0);
        assert_eq!(least(2_000.0, []), 2_000.0);
    }
}
