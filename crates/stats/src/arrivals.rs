//! How requests are spread in time: tests of the process that was really sent.

/// Fewer instants say nothing about their distribution.
const GAPS_MIN: usize = 50;
/// Fewer spans have no variance to speak of.
const SPANS_MIN: u64 = 20;

/// Index of dispersion of counts: variance over mean, 1 for a Poisson process, 0 for equal gaps, more for bursts.
/// None for fewer than 20 counts, or none at all counted.
#[must_use]
pub fn dispersion(counts: &[f64]) -> Option<f64> {
    let n = counts.len() as f64;
    dispersion_of(n, counts.iter().sum(), counts.iter().map(|count| count * count).sum())
}

/// The same for the instants (rising, ns) that fall into each span of `span_ns` from the first instant to the last.
#[must_use]
pub fn dispersion_in(instants_ns: &[u64], span_ns: u64) -> Option<f64> {
    let (first, last) = (instants_ns.first()?, instants_ns.last()?);
    // The span of the last instant is not over.
    let spans = (last - first) / span_ns;
    let (mut sum, mut squares) = (0.0, 0.0);
    for same in instants_ns.chunk_by(|a, b| (a - first) / span_ns == (b - first) / span_ns) {
        if (same[0] - first) / span_ns < spans {
            sum += same.len() as f64;
            squares += (same.len() as f64).powi(2);
        }
    }
    dispersion_of(spans as f64, sum, squares)
}

fn dispersion_of(n: f64, sum: f64, squares: f64) -> Option<f64> {
    if n < SPANS_MIN as f64 || sum <= 0.0 {
        return None;
    }
    let mean = sum / n;
    Some((squares - n * mean * mean).max(0.0) / (n - 1.0) / mean)
}

/// Anderson and Darling's statistic for exponential gaps between instants (rising, ns), corrected for the mean being
/// estimated from them: above 1.32 in 5 % and 1.96 in 1 % of Poisson processes.
///
/// Gaps below `resolution_ns` are not told apart: they are taken as evenly spread up to it, as they would be. None for
/// fewer than 50 gaps.
#[must_use]
pub fn exponential_misfit(instants_ns: &[u64], resolution_ns: f64) -> Option<f64> {
    let mut gaps: Vec<f64> = instants_ns.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    if gaps.len() < GAPS_MIN {
        return None;
    }
    gaps.sort_by(f64::total_cmp);
    let short = gaps.partition_point(|gap| *gap < resolution_ns);
    for (i, gap) in gaps[..short].iter_mut().enumerate() {
        *gap = resolution_ns * (i as f64 + 0.5) / short as f64;
    }
    let n = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / n;
    let term = |(i, gap): (usize, &f64)| {
        let below = -(-gap / mean).exp_m1();
        let beyond_of_opposite = -gaps[gaps.len() - 1 - i] / mean;
        (2.0 * i as f64 + 1.0) * (below.ln() + beyond_of_opposite)
    };
    let squared = -n - gaps.iter().enumerate().map(term).sum::<f64>() / n;
    Some(squared * (1.0 + 0.6 / n))
}

/// Slope of `values` by least squares, for each step, and its t statistic; none for fewer than three values.
#[must_use]
pub fn trend(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    if values.len() < 3 {
        return None;
    }
    let (middle, mean) = ((n - 1.0) / 2.0, values.iter().sum::<f64>() / n);
    let points = || values.iter().enumerate().map(|(i, value)| (i as f64 - middle, value - mean));
    let across: f64 = points().map(|(x, _)| x * x).sum();
    let slope = points().map(|(x, y)| x * y).sum::<f64>() / across;
    let left: f64 = points().map(|(x, y)| (y - slope * x).powi(2)).sum();
    let error = (left / (n - 2.0) / across).sqrt();
    // A straight line has no error at all.
    let t = if error > 0.0 { slope / error } else { slope.signum() * f64::INFINITY };
    Some((slope, if slope == 0.0 { 0.0 } else { t }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Noise;

    const RESOLUTION_NS: f64 = 200_000.0;

    /// Instants with exponential gaps of `mean_ns`, each sent up to `late_ns` late and none before the one before it.
    fn poisson(n: usize, mean_ns: f64, late_ns: f64, seed: u64) -> Vec<u64> {
        let mut noise = Noise::new(seed);
        let (mut due, mut sent) = (0.0, 0_u64);
        (0..n)
            .map(|_| {
                due -= noise.uniform().ln() * mean_ns;
                sent = sent.max((due + late_ns * noise.uniform()) as u64);
                sent
            })
            .collect()
    }

    #[test]
    fn poisson_gaps_fit_even_when_each_is_sent_a_little_late() {
        let misfits: Vec<f64> = (0..200)
            .map(|seed| exponential_misfit(&poisson(2000, 2e6, 100e3, seed), RESOLUTION_NS).expect("enough gaps"))
            .collect();
        let beyond = |critical: f64| misfits.iter().filter(|misfit| **misfit > critical).count();
        // 5 % and 1 % of 200, with some room for chance.
        assert!(beyond(1.32) <= 22 && beyond(1.96) <= 8 && beyond(3.92) == 0, "{} {}", beyond(1.32), beyond(1.96));
    }

    #[test]
    fn equal_gaps_and_bursts_do_not_fit() {
        let equal: Vec<u64> = (0..2000).map(|i| i * 2_000_000).collect();
        assert!(exponential_misfit(&equal, RESOLUTION_NS).expect("enough gaps") > 100.0);
        let bursts: Vec<u64> = (0..2000).map(|i| i / 10 * 20_000_000).collect();
        assert!(exponential_misfit(&bursts, RESOLUTION_NS).expect("enough gaps") > 100.0);
        assert_eq!(exponential_misfit(&equal[..50], RESOLUTION_NS), None);
    }

    #[test]
    fn dispersion_tells_equal_random_and_bundled_apart() {
        let equal: Vec<u64> = (0..20_000).map(|i| i * 100_000).collect();
        let random = poisson(20_000, 1e5, 0.0, 1);
        let bundled: Vec<u64> = (0..20_000).map(|i| i / 50 * 5_000_000).collect();
        let of = |instants: &[u64]| dispersion_in(instants, 1_000_000).expect("enough spans");
        assert!(of(&equal) < 0.01 && (0.85..1.15).contains(&of(&random)) && of(&bundled) > 30.0);
        assert_eq!(dispersion_in(&equal[..200], 1_000_000), None, "19 ms");
        assert_eq!(dispersion(&[4.0; 30]), Some(0.0));
        assert_eq!((dispersion(&[4.0; 19]), dispersion(&[0.0; 30])), (None, None));
    }

    #[test]
    fn a_trend_stands_out_of_noise_and_noise_has_none() {
        let mut noise = Noise::new(7);
        let rising: Vec<f64> = (0..30).map(|i| 0.5 * f64::from(i) + noise.normal()).collect();
        let (slope, t) = trend(&rising).expect("enough values");
        assert!((slope - 0.5).abs() < 0.1 && t > 10.0, "{slope} {t}");
        let level: Vec<f64> = (0..30).map(|_| noise.normal()).collect();
        assert!(trend(&level).expect("enough values").1.abs() < 3.0);
        assert_eq!(trend(&[1.0, 2.0, 3.0]), Some((1.0, f64::INFINITY)));
        assert_eq!((trend(&[2.0; 4]), trend(&[1.0, 2.0])), (Some((0.0, 0.0)), None));
    }
}
