//! Two kinds of responses, by the histogram of service times.

use model::SERVICE_BIN_NS;

/// Each kind has at least this share of the responses.
const SHARE_MIN: f64 = 0.1;
/// The slow kind begins at this multiple of where the fast one ends.
const APART: f64 = 3.0;
/// Share of the responses that may lie between them.
const BETWEEN: f64 = 0.02;

/// Responses that are fast, and others that are slow, with hardly any between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Kinds {
    /// Share that is slow.
    pub(crate) slow_share: f64,
    /// Mean service time of the fast ones; ns.
    pub(crate) fast_ns: f64,
    /// The same of the slow ones.
    pub(crate) slow_ns: f64,
}

/// The two kinds that the `bins` of service times fall into; none where they do not.
pub(crate) fn kinds(bins: &[u64]) -> Option<Kinds> {
    let all: u64 = bins.iter().sum();
    let upto: Vec<u64> = bins
        .iter()
        .scan(0, |sum, n| {
            *sum += n;
            Some(*sum)
        })
        .collect();
    let share = |n: u64| n as f64 / all.max(1) as f64;
    // From where each bin ends, how far it is to the bin in which the share has grown by more than may lie between.
    let gap = |ends: usize| {
        let begins = upto.iter().position(|sum| share(*sum) - share(upto[ends]) > BETWEEN)?;
        let is_split = share(upto[ends]) >= SHARE_MIN && share(all - upto[begins - 1]) >= SHARE_MIN;
        (is_split && begins as f64 >= APART * (ends + 1) as f64).then_some((ends, begins))
    };
    let (ends, begins) = (0..bins.len()).find_map(gap)?;
    let mean_ns = |range: std::ops::Range<usize>| {
        let n: u64 = bins[range.clone()].iter().sum();
        let sum: f64 = range.map(|at| (at as f64 + 0.5) * bins[at] as f64).sum();
        sum / n.max(1) as f64 * SERVICE_BIN_NS as f64
    };
    Some(Kinds {
        slow_share: share(all - upto[begins - 1]),
        fast_ns: mean_ns(0..ends + 1),
        slow_ns: mean_ns(begins..bins.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bins(all: &[(usize, u64)]) -> Vec<u64> {
        let mut bins = vec![0; 1_000];
        all.iter().for_each(|(at, n)| bins[*at] += n);
        bins
    }

    #[test]
    fn two_heaps_with_a_gap_are_two_kinds() {
        let found = kinds(&bins(&[(0, 500), (20, 1), (39, 250), (41, 249)])).expect("two kinds");
        assert!((found.slow_share - 0.498).abs() < 2e-3 && found.fast_ns == 2e6, "{found:?}");
        assert!((found.slow_ns - 162e6).abs() < 2e6, "{found:?}");
        assert_eq!(kinds(&bins(&[(0, 950), (40, 50)])), None, "a tail");
        assert_eq!(kinds(&bins(&[(3, 500), (6, 500)])), None, "near to each other");
        assert_eq!(kinds(&bins(&[(0, 300), (1, 200), (3, 200), (7, 300)])), None, "a broad one");
        assert_eq!((kinds(&[]), kinds(&bins(&[(7, 100)]))), (None, None));
    }
}
