//! Where the warm-up ends: MSER-5.
//!
//! White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69 (1997):
//! the mean is taken over what remains after the first observations are dropped; drop as many as make its
//! (naively computed) standard error smallest. Groups of five smooth the noise that would mislead it.

/// Observations averaged into one group.
const GROUP: usize = 5;
/// Fewer groups than this cannot show a settled series.
const GROUPS_MIN: usize = 4;
/// A longer truncation must be better by this share of the mean square of the series: rounding errors are not.
const TOLERANCE: f64 = 1e-12;

/// Where to cut a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mser5 {
    /// Observations to drop from the front; a multiple of 5.
    pub truncate: usize,
    /// True if the best cut is the last one allowed (half of the series), or the series is shorter than 20
    /// observations: not settled as far as can be seen, go on measuring.
    pub at_limit: bool,
}

/// MSER-5 of a series of finite values at equal distances, such as goodput per second.
///
/// Minimises `sum_{i>d}(z_i - mean_d)^2 / (n-d)^2` over `d <= n/2`, `z` being means of five observations.
/// A rest of fewer than five at the end is left out.
///
/// ```
/// let mut series = vec![10.0; 20];
/// series.extend(vec![100.0; 60]);
/// assert_eq!(stats::mser5(&series), stats::Mser5 { truncate: 20, at_limit: false });
/// ```
#[must_use]
pub fn mser5(series: &[f64]) -> Mser5 {
    let groups: Vec<f64> = series.chunks_exact(GROUP).map(|g| g.iter().sum::<f64>() / GROUP as f64).collect();
    if groups.len() < GROUPS_MIN {
        return Mser5 { truncate: 0, at_limit: true };
    }
    let limit = groups.len() / 2;
    let tolerance = TOLERANCE * groups.iter().map(|z| z * z).sum::<f64>() / groups.len() as f64;
    let mut best = (0, squared_error(&groups));
    for d in 1..=limit {
        let error = squared_error(&groups[d..]);
        if error < best.1 - tolerance {
            best = (d, error);
        }
    }
    Mser5 { truncate: best.0 * GROUP, at_limit: best.0 == limit }
}

/// Squared standard error of the mean, up to a constant.
fn squared_error(groups: &[f64]) -> f64 {
    let n = groups.len() as f64;
    let mean = groups.iter().sum::<f64>() / n;
    groups.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / (n * n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Noise;

    fn noisy(n: usize, seed: u64, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut noise = Noise::new(seed);
        (0..n).map(|i| noise.jitter(level(i), 0.02)).collect()
    }

    /// Noise makes the last cut the best one now and then; it must stay rare, it costs an extension each time.
    const ALARMS_MAX: usize = 20;

    #[test]
    fn a_step_is_cut_where_it_is() {
        let mut alarms = 0;
        for seed in 0..200 {
            let cut = mser5(&noisy(100, seed, |i| if i < 23 { 600.0 } else { 1000.0 }));
            alarms += usize::from(cut.at_limit);
            assert!(cut.truncate >= 20, "seed {seed}: {cut:?}");
        }
        assert!(alarms < ALARMS_MAX, "{alarms} of 200 called not settled");
        // without noise it is exact: the group that the step falls into goes too
        let exact: Vec<f64> = (0..100).map(|i| if i < 23 { 600.0 } else { 1000.0 }).collect();
        assert_eq!(mser5(&exact), Mser5 { truncate: 25, at_limit: false });
    }

    #[test]
    fn an_exponential_ramp_leaves_little_bias() {
        let (mut alarms, mut bias) = (0, 0.0);
        for seed in 0..200 {
            let series = noisy(120, seed, |i| 1000.0 * (1.0 - 0.3 * (-(i as f64) / 5.0).exp()));
            let cut = mser5(&series);
            alarms += usize::from(cut.at_limit);
            let rest = &series[cut.truncate..];
            bias += rest.iter().sum::<f64>() / rest.len() as f64 / 1000.0 - 1.0;
        }
        assert!(alarms < ALARMS_MAX, "{alarms} of 200 called not settled");
        // -1.4 % with nothing dropped
        assert!((bias / 200.0).abs() < 0.002, "{}", bias / 200.0);
    }

    #[test]
    fn a_ramp_that_never_ends_is_at_the_limit() {
        for seed in 0..50 {
            assert!(mser5(&noisy(120, seed, |i| 500.0 + 4.0 * i as f64)).at_limit, "seed {seed}");
        }
    }

    #[test]
    fn stationary_noise_is_mostly_left_alone() {
        let at_limit = (0..200).filter(|seed| mser5(&noisy(120, *seed, |_| 1000.0)).at_limit).count();
        assert!(at_limit < ALARMS_MAX, "{at_limit} of 200 called not settled");
        let cut: usize = (0..200).map(|seed| mser5(&noisy(120, seed, |_| 1000.0)).truncate).sum();
        assert!(cut < 200 * 25, "on average {} of 120 dropped", cut / 200);
    }

    #[test]
    fn a_constant_series_keeps_everything() {
        assert_eq!(mser5(&[0.1; 43]), Mser5 { truncate: 0, at_limit: false });
        assert_eq!(mser5(&[0.0; 40]), Mser5 { truncate: 0, at_limit: false });
    }

    #[test]
    fn too_short_a_series_says_nothing() {
        for n in [0, 1, 19] {
            assert_eq!(mser5(&vec![1.0; n]), Mser5 { truncate: 0, at_limit: true });
        }
    }
}
