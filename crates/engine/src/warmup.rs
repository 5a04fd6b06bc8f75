//! Automatic warm-up: the load runs until MSER-5 finds that its goodput has settled.

use model::NS_PER_S;
use stats::mser5;

/// Goodput is sampled this often.
pub(crate) const SAMPLE_NS: u64 = 50_000_000;
/// Samples before the first judgement: 2 s.
const SAMPLES_MIN: usize = 40;
/// Longest automatic warm-up.
pub(crate) const LONGEST_NS: u64 = 60 * NS_PER_S;

/// Watches the goodput series of a warm-up.
#[derive(Debug, Default)]
pub(crate) struct Settling {
    series: Vec<f64>,
    good_before: u64,
}

/// Whether the warm-up may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    NotYet,
    Yes,
    /// The longest warm-up has passed without settling.
    Never,
}

impl Settling {
    /// Takes the number of good responses so far; to be called every [`SAMPLE_NS`].
    pub(crate) fn sample(&mut self, good_so_far: u64) -> Settled {
        self.series.push((good_so_far - self.good_before) as f64);
        self.good_before = good_so_far;
        if self.series.len() < SAMPLES_MIN {
            return Settled::NotYet;
        }
        if !mser5(&self.series).at_limit {
            Settled::Yes
        } else if self.series.len() as u64 * SAMPLE_NS >= LONGEST_NS {
            Settled::Never
        } else {
            Settled::NotYet
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds a rate per sample; returns the samples taken and the outcome.
    fn feed(rate: impl Fn(usize) -> f64) -> (usize, Settled) {
        let mut settling = Settling::default();
        let mut total = 0.0;
        for i in 0.. {
            total += rate(i);
            match settling.sample(total as u64) {
                Settled::NotYet => {}
                outcome => return (i + 1, outcome),
            }
        }
        unreachable!("the longest warm-up ends it")
    }

    fn noise(i: usize) -> f64 {
        ((i * 7919 + 13) % 101) as f64 / 10.0
    }

    #[test]
    fn a_steady_server_is_warm_after_two_seconds_or_little_more() {
        let (samples, outcome) = feed(|i| 500.0 + noise(i));
        assert_eq!(outcome, Settled::Yes);
        assert!(samples <= 2 * SAMPLES_MIN, "{samples}");
    }

    #[test]
    fn a_slow_start_is_waited_for() {
        let (samples, outcome) = feed(|i| if i < 100 { 50.0 } else { 500.0 } + noise(i));
        assert_eq!(outcome, Settled::Yes);
        assert!(samples > 100, "{samples}");
    }

    #[test]
    fn a_server_that_gets_faster_for_ever_never_settles() {
        let (samples, outcome) = feed(|i| (i as f64).powi(2));
        assert_eq!(outcome, Settled::Never);
        assert_eq!(samples as u64 * SAMPLE_NS, LONGEST_NS);
    }
}
