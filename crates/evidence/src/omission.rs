//! Coordinated omission: requests that a closed loop would have sent while it waited.

use model::MergedHistogram;

/// 99th percentile of `service` after HdrHistogram's correction for coordinated omission: a value of several intervals
/// stands for all the requests that would have been sent in the meantime, each an interval later than the one before.
/// `interval_ns` is the time from one request of a connection to its next; 0 for an empty histogram.
pub(crate) fn corrected_p99_ns(service: &MergedHistogram, interval_ns: u64) -> u64 {
    let (Some((longest_ns, _)), true) = (service.buckets().last(), interval_ns > 0) else { return 0 };
    let beyond = |ns: u64| -> u128 {
        service.buckets().map(|(value_ns, n)| u128::from(n) * above(value_ns, interval_ns, ns)).sum()
    };
    let all: u128 = service.buckets().map(|(value_ns, n)| u128::from(n) * (1 + added(value_ns, interval_ns))).sum();
    // The smallest value that at most one in a hundred lies beyond.
    let (mut low, mut high) = (0, longest_ns);
    while low < high {
        let middle = low + (high - low) / 2;
        if 100 * beyond(middle) <= all { high = middle } else { low = middle + 1 }
    }
    low
}

/// Requests that a value of `value_ns` has kept from being sent: those of `value - interval`, `value - 2 x interval`
/// ... down to one interval.
fn added(value_ns: u64, interval_ns: u64) -> u128 {
    u128::from((value_ns / interval_ns).saturating_sub(1))
}

/// How many of a value and of what it has kept from being sent are longer than `ns`.
fn above(value_ns: u64, interval_ns: u64, ns: u64) -> u128 {
    if value_ns <= ns {
        return 0;
    }
    // value - j x interval > ns
    let longer = u128::from((value_ns - ns - 1) / interval_ns);
    1 + longer.min(added(value_ns, interval_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(values: &[(u64, usize)]) -> MergedHistogram {
        let mut histogram = MergedHistogram::new();
        values.iter().for_each(|(ns, times)| (0..*times).for_each(|_| histogram.record(*ns)));
        histogram
    }

    /// The correction as HdrHistogram does it: value by value.
    fn by_hand(values: &[(u64, usize)], interval_ns: u64) -> u64 {
        let mut all = Vec::new();
        for &(ns, times) in values {
            for _ in 0..times {
                all.push(ns);
                let mut missing_ns = ns.saturating_sub(interval_ns);
                while missing_ns >= interval_ns {
                    all.push(missing_ns);
                    missing_ns -= interval_ns;
                }
            }
        }
        all.sort_unstable();
        all[(all.len() as f64 * 0.99).ceil() as usize - 1]
    }

    #[test]
    fn the_requests_that_a_stall_kept_back_are_added() {
        for (values, interval_ns) in [
            (vec![(1_000, 10_000), (1_400_000, 10)], 1_000),
            (vec![(1_000, 100), (2_500, 3), (900_000, 1)], 1_100),
            (vec![(5, 1_000)], 5),
        ] {
            let (found, exact) = (corrected_p99_ns(&histogram(&values), interval_ns), by_hand(&values, interval_ns));
            let off = (found as f64 - exact as f64).abs() / exact as f64;
            assert!(off < 0.005, "{found} is not {exact}");
        }
    }

    #[test]
    fn without_a_long_value_nothing_changes_and_nothing_is_nothing() {
        let even = histogram(&[(1_000, 98), (1_500, 2)]);
        assert_eq!(corrected_p99_ns(&even, 1_000), even.quantile(0.99));
        assert_eq!(corrected_p99_ns(&MergedHistogram::new(), 1_000), 0);
        assert_eq!(corrected_p99_ns(&even, 0), 0);
    }
}
