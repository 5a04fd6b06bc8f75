//! Resampled repeats: how far the mean of a load may be off, as its repeats differ from each other.
//!
//! Deviations are logarithms of a repeat over the mean of its load, scaled up by `sqrt(r / (r - 1))`, as the mean of `r`
//! repeats lies too close to them, and taken together over several loads, as two repeats of one say little. A mean drawn
//! is that of as many of them as the load has repeats (Efron 1979), scaled up by Student's t over the normal quantile for
//! their degrees of freedom, without which intervals of few repeats are too narrow.

use crate::batch::student;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use statrs::distribution::ContinuousCDF;

/// Fewer degrees of freedom than this say nothing of a spread.
const FREE_MIN: usize = 2;
/// With fewer repeats of a load nothing is called a 95 % interval: two say next to nothing of how a load varies, and those of other
/// loads need not vary alike.
const REPEATS_MIN: usize = 3;
/// Curves drawn for an interval.
const DRAWS: usize = 400;
/// One seed for all: a result is to be the same each time it is made of its measurements.
const SEED: u64 = 0x0070_1e5c_a1e5;
/// The 97.5 % quantile of the normal distribution.
const NORMAL_QUANTILE: f64 = 1.959_964;
/// Ends of an interval among what was drawn.
const ENDS: [f64; 2] = [0.025, 0.975];

/// One load of a sweep with its repeats.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadRepeats {
    /// Connections, or offered requests per second; above 0.
    pub load: f64,
    /// Goodput; per second.
    pub goodput_per_s: f64,
    /// Goodput of each repeat; per second. Only their ratios count.
    pub repeats_per_s: Vec<f64>,
    /// Share of the goodput that one batch of responses more or less in the window of a repeat is: repeats of few batches are
    /// alike, and all off by as much. 0 where it is not known.
    pub batch_share: f64,
    /// Standard error of the goodput of a repeat as a share of it, by the number of its responses and how the time that they
    /// take differs. 0 where it is not known.
    pub sampling_error: f64,
}

/// Deviations of repeats.
pub(crate) struct Spread {
    deviations: Vec<f64>,
}

impl Spread {
    /// Of these loads; none where the repeats are too few. Loads of which a repeat had no goodput are left out.
    pub(crate) fn of<'a>(loads: impl IntoIterator<Item = &'a LoadRepeats>) -> Option<Self> {
        let (mut deviations, mut free) = (Vec::new(), 0);
        for load in loads {
            let count = load.repeats_per_s.len();
            if count < 2 || load.repeats_per_s.iter().any(|value| *value <= 0.0) {
                continue;
            }
            let logs: Vec<f64> = load.repeats_per_s.iter().map(|value| value.ln()).collect();
            let centre = crate::mean(&logs);
            let scale = (count as f64 / (count - 1) as f64).sqrt();
            deviations.extend(logs.iter().map(|value| scale * (value - centre)));
            free += count - 1;
        }
        let scale = student(free.max(1) as f64).inverse_cdf(ENDS[1]) / NORMAL_QUANTILE;
        deviations.iter_mut().for_each(|deviation| *deviation *= scale);
        (free >= FREE_MIN).then_some(Self { deviations })
    }

    /// Mean square of one deviation.
    pub(crate) fn square(&self) -> f64 {
        self.deviations.iter().map(|deviation| deviation.powi(2)).sum::<f64>() / self.deviations.len() as f64
    }

    /// Error of the mean of so many repeats.
    pub(crate) fn draw(&self, repeats: usize, source: &mut Source) -> f64 {
        let count = repeats.max(1);
        (0..count).map(|_| self.deviations[source.below(self.deviations.len())]).sum::<f64>() / count as f64
    }
}

/// True if each load was repeated often enough for an interval.
pub(crate) fn has_intervals(loads: &[LoadRepeats]) -> bool {
    loads.iter().all(|load| load.repeats_per_s.len() >= REPEATS_MIN)
}

/// Where chance comes from.
pub(crate) struct Source(Xoshiro256PlusPlus);

impl Source {
    fn below(&mut self, count: usize) -> usize {
        (self.0.next_u64() % count as u64) as usize
    }

    /// 1 or -1.
    pub(crate) fn sign(&mut self) -> f64 {
        if self.below(2) == 0 { 1.0 } else { -1.0 }
    }

    /// One of `values`.
    pub(crate) fn one_of(&mut self, values: &[f64]) -> f64 {
        values[self.below(values.len())]
    }
}

/// 95 % intervals of several figures of what is drawn by `draw`.
pub(crate) fn intervals<const N: usize>(mut draw: impl FnMut(&mut Source) -> [f64; N]) -> [(f64, f64); N] {
    let mut source = Source(Xoshiro256PlusPlus::seed_from_u64(SEED));
    let drawn: Vec<[f64; N]> = (0..DRAWS).map(|_| draw(&mut source)).collect();
    std::array::from_fn(|i| {
        let mut values: Vec<f64> = drawn.iter().map(|figures| figures[i]).collect();
        values.sort_by(f64::total_cmp);
        let [low, high] = ENDS.map(|end| values[(end * (DRAWS - 1) as f64).round() as usize]);
        (low, high)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Noise;

    fn load(repeats_per_s: &[f64]) -> LoadRepeats {
        let goodput_per_s = crate::mean(repeats_per_s);
        LoadRepeats { load: 1.0, goodput_per_s, repeats_per_s: repeats_per_s.to_vec(), ..LoadRepeats::default() }
    }

    #[test]
    fn too_few_repeats_have_no_spread() {
        assert!(Spread::of(&[load(&[1.0, 2.0]), load(&[1.0]), load(&[1.0, 0.0, 2.0])]).is_none());
        assert!(Spread::of(&[load(&[1.0, 2.0]), load(&[1.0, 1.1])]).is_some());
    }

    /// Means of two repeats, whose spread is known of six loads alone.
    #[test]
    fn a_mean_is_within_its_interval_as_often_as_is_said() {
        let covered = (0..1000).filter(|seed| {
            let mut noise = Noise::new(*seed);
            let loads: Vec<_> = (0..6).map(|_| load(&[noise.jitter(1.0, 0.02), noise.jitter(1.0, 0.02)])).collect();
            let spread = Spread::of(&loads).unwrap();
            let [(low, high)] = intervals(|source| [spread.draw(2, source)]);
            let off = loads[0].goodput_per_s.ln();
            low <= off && off <= high
        });
        let share = covered.count() as f64 / 1000.0;
        assert!((0.93..=0.98).contains(&share), "{share}");
    }
}
