//! Faults on demand, as pure arithmetic: when the whole server stalls and which answer is an error.

use super::Stall;

/// An interval during which nothing is read, written or accepted; ns since the server started, end excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StallInterval {
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
}

impl Stall {
    /// The stall that `now_ns` (since the start) lies in. The first begins one period after the start.
    pub(super) const fn at(&self, now_ns: u64) -> Option<StallInterval> {
        let index = now_ns / self.every_ns;
        let interval = self.nth(index);
        if index > 0 && now_ns < interval.end_ns { Some(interval) } else { None }
    }

    /// The `index`-th stall, counted from 1.
    pub(super) const fn nth(&self, index: u64) -> StallInterval {
        let begin_ns = index * self.every_ns;
        StallInterval { begin_ns, end_ns: begin_ns + self.length_ns }
    }
}

/// Answers that are turned into errors: an exact share, evenly spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ErrorShare {
    per_billion: u64,
}

const BILLION: u64 = 1_000_000_000;

impl ErrorShare {
    /// `share` within 0 and 1, taken to the nearest billionth; none when that is 0.
    pub(super) fn new(share: f64) -> Option<Self> {
        let per_billion = (share * BILLION as f64).round() as u64;
        (per_billion > 0).then_some(Self { per_billion: per_billion.min(BILLION) })
    }

    /// Whether the `index`-th answer (from 0) is an error: of the first n answers, floor(n x share) are.
    pub(super) fn hits(self, index: u64) -> bool {
        let errors = |answers: u64| u128::from(answers) * u128::from(self.per_billion) / u128::from(BILLION);
        errors(index.saturating_add(1)) > errors(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stalls_begin_after_one_period_and_end_excluded() {
        let stall = Stall { every_ns: 1_000, length_ns: 200 };
        let second = StallInterval { begin_ns: 2_000, end_ns: 2_200 };
        for (now_ns, expected) in
            [(0, None), (199, None), (999, None), (2_000, Some(second)), (2_199, Some(second)), (2_200, None)]
        {
            assert_eq!(stall.at(now_ns), expected, "{now_ns}");
        }
        assert_eq!(stall.nth(2), second);
    }

    #[test]
    fn errors_are_the_exact_share_and_evenly_spread() {
        for (share, answers, errors) in [(0.1, 1_000, 100), (0.29, 100, 29), (1.0, 7, 7), (0.001, 999, 0)] {
            let hits = ErrorShare::new(share).unwrap();
            assert_eq!((0..answers).filter(|index| hits.hits(*index)).count(), errors, "{share}");
        }
        let every_fourth: Vec<u64> = (0..12).filter(|index| ErrorShare::new(0.25).unwrap().hits(*index)).collect();
        assert_eq!(every_fourth, [3, 7, 11]);
        assert_eq!(ErrorShare::new(0.0), None);
    }

    proptest! {
        #[test]
        fn any_stretch_of_answers_is_within_one_of_its_share(share in 0.0f64..=1.0, from in 0u64..1_000_000) {
            let Some(hits) = ErrorShare::new(share) else { return Ok(()) };
            let count = (from..from + 500).filter(|index| hits.hits(*index)).count() as f64;
            prop_assert!((count - share * 500.0).abs() <= 1.001);
        }
    }
}
