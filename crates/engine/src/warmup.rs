//! Automatic warm-up: the load runs until MSER-5 finds that its goodput has settled.
//!
//! MSER-5 finds where a start-up ends, but takes a series that grows for ever for settled. So what remains after
//! its cut must also be level: its halves may differ by a few percent or by what its noise explains.

use model::NS_PER_S;
use stats::{mean, mser5, variance};

/// Goodput is sampled this often.
pub(crate) const SAMPLE_NS: u64 = 50_000_000;
/// Samples before the first judgement: 2 s.
const SAMPLES_MIN: usize = 40;
/// Longest automatic warm-up.
pub(crate) const LONGEST_NS: u64 = 60 * NS_PER_S;

/// The halves of a settled series differ by at most this share of its mean ...
const LEVEL_SHARE: f64 = 0.03;
/// ... or by this many standard errors of their difference. It is asked again with each sample, so that many chances are taken
/// to call a goodput settled that is not; a lower figure only asks for some more samples now and then.
const LEVEL_ERRORS: f64 = 1.5;
/// The standard error of a half comes from the means of so many stretches of it. Requests that come in step make a sample
/// differ from the next one by far more than stretches do, and its noise would explain any fall.
const STRETCHES: usize = 5;

/// Watches the goodput series of a warm-up.
#[derive(Debug, Default)]
pub(crate) struct Settling {
    series: Vec<f64>,
    good_before: u64,
}

/// True if the warm-up may end.
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
        let cut = mser5(&self.series);
        if !cut.at_limit && is_level(&self.series[cut.truncate..]) {
            Settled::Yes
        } else if self.series.len() as u64 * SAMPLE_NS >= LONGEST_NS {
            Settled::Never
        } else {
            Settled::NotYet
        }
    }
}

/// True if the two halves of a series have the same mean, as far as its noise lets one say.
fn is_level(series: &[f64]) -> bool {
    let (first, second) = series.split_at(series.len() / 2);
    let (a, b) = (mean(first), mean(second));
    let error = (square_error(first) + square_error(second)).sqrt();
    (a - b).abs() <= (LEVEL_SHARE * (a + b) / 2.0).max(LEVEL_ERRORS * error)
}

/// Square of the standard error of a mean, by the method of batch means.
fn square_error(series: &[f64]) -> f64 {
    let length = (series.len() / STRETCHES).max(1);
    let stretches: Vec<f64> = series.chunks_exact(length).map(mean).collect();
    variance(&stretches) / stretches.len().max(1) as f64
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
        // Time constant 3 s: after 2 s the rate is at half its height, after 9 s at 95 %.
        let (samples, outcome) = feed(|i| 500.0 * (1.0 - (-(i as f64) / 60.0).exp()) + noise(i));
        assert_eq!(outcome, Settled::Yes);
        assert!(samples > 3 * 60, "{samples}");
    }

    #[test]
    fn a_server_that_gets_slower_in_step_with_its_clients_never_settles() {
        // 64 connections, each answer some µs later than the one before: whole batches of 64 end in a sample, later on in
        // every other one only.
        for growth_s in [2e-7, 2e-6] {
            let answers = |t_s: f64| (2.0 * 64.0 * t_s / growth_s).sqrt();
            let batches = |i: usize| (answers(i as f64 * 0.05) / 64.0).floor();
            let (samples, outcome) = feed(|i| 64.0 * (batches(i + 1) - batches(i)));
            assert_eq!((samples as u64 * SAMPLE_NS, outcome), (LONGEST_NS, Settled::Never), "{growth_s}");
        }
    }

    #[test]
    fn requests_that_come_in_step_on_a_steady_server_are_settled_soon() {
        // 64 answers every 130 ms: two samples without any, one with all.
        let batches = |i: usize| (i as f64 * 0.05 / 0.13).floor();
        let (samples, outcome) = feed(|i| 64.0 * (batches(i + 1) - batches(i)));
        assert_eq!(outcome, Settled::Yes);
        assert!(samples <= 2 * SAMPLES_MIN, "{samples}");
    }

    #[test]
    fn a_server_that_gets_faster_for_ever_never_settles() {
        let (samples, outcome) = feed(|i| i as f64);
        assert_eq!(outcome, Settled::Never);
        assert_eq!(samples as u64 * SAMPLE_NS, LONGEST_NS);
    }
}
