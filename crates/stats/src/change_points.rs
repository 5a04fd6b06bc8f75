//! Change points of a series of results: where the level moved, and by how much.
//!
//! E-divisive (Matteson and James, "A Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data",
//! JASA 109(505), 2014), as Hunter and Apache Otava use it on performance histories: the series is split where the energy
//! distance between its two parts is largest, and each part again, until a permutation test finds nothing more. Otava
//! has a t test in the place of that test; at the best of many splits it calls noise a change far more often than its p
//! value says, so that it has to ask for p < 0.001. A permutation test keeps its level for any noise whose order means
//! nothing, and its random numbers come from a seed. As in Otava, changes that are too small to matter are taken back
//! afterwards, the smallest first.
//!
//! All of it is on logarithms, so that effects are ratios.

use crate::batch::{CONFIDENCE, mean, variance};
use model::Estimate;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Fewer values than this between two changes are no level: one or two runs may be led astray together.
pub const LEVEL_MIN: usize = 3;
/// Permutations of each test: p values have steps of a thousandth.
const PERMUTATIONS: u64 = 999;
/// What is equal but for the order of its sum.
const EQUAL: f64 = 1e-9;

/// What counts as a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePointSettings {
    /// Share of series without a change in which one is found, 0.001 to 1.
    pub false_alarms: f64,
    /// Smallest change, as a share of the level before or after it, whichever is lower; 0: any.
    pub change_min: f64,
    /// Seed of the permutations.
    pub seed: u64,
}

/// A place at which the level moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// First value of the new level.
    pub index: usize,
    /// Level after over level before, with Welch's 95 % t interval on logarithms. As the place was chosen for the
    /// distance of both, it is a little too narrow.
    pub ratio: Estimate,
    /// Geometric mean of the values since the change before it.
    pub before: f64,
    /// Number of these.
    pub before_n: usize,
    /// Geometric mean of the values until the change after it.
    pub after: f64,
    /// Number of these.
    pub after_n: usize,
    /// Share of the permutations, this order among them, whose best split is no worse.
    pub p: f64,
}

/// The changes of level in `values`, in their order, with the `values` in the order measured. Values that are not
/// above 0 have no logarithm: with any of them there are no changes.
#[must_use]
pub fn change_points(values: &[f64], settings: ChangePointSettings) -> Vec<ChangePoint> {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    if !logs.iter().all(|log| log.is_finite()) {
        return Vec::new();
    }
    let mut found = divide(&logs, settings);
    loop {
        let changes = describe(&logs, &found);
        let smallest = (0..changes.len()).min_by(|a, b| size(&changes[*a]).total_cmp(&size(&changes[*b])));
        match smallest {
            Some(at) if size(&changes[at]) < settings.change_min => drop(found.remove(at)),
            _ => return changes,
        }
    }
}

/// The least number of values of which `false_alarms` allows any change to be found.
#[must_use]
pub fn change_points_n_min(false_alarms: f64) -> usize {
    // A clear step is two of all orders that differ: the higher level is first, or last.
    let best_p = |n: usize| 2.0 / choose(n, n / 2);
    let enough = (2 * LEVEL_MIN..).find(|n| best_p(*n) <= false_alarms.max(1.0 / (PERMUTATIONS + 1) as f64));
    enough.unwrap_or(2 * LEVEL_MIN)
}

fn choose(n: usize, k: usize) -> f64 {
    (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product()
}

/// A change as a share of the lower of both levels.
fn size(change: &ChangePoint) -> f64 {
    change.ratio.value.ln().abs().exp_m1()
}

/// Splits `logs` while the permutation test agrees: first values of new levels in rising order, with their p values.
fn divide(logs: &[f64], settings: ChangePointSettings) -> Vec<(usize, f64)> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(settings.seed);
    let mut found: Vec<(usize, f64)> = Vec::new();
    loop {
        let levels: Vec<&[f64]> = levels(logs, &found).collect();
        let best = levels.iter().enumerate().filter_map(|(at, level)| Some((at, best_split(level)?)));
        let Some((at, split)) = best.max_by(|(_, a), (_, b)| a.distance.total_cmp(&b.distance)) else { return found };
        let Some(p) = test(&levels, split.distance, settings.false_alarms, &mut rng) else { return found };
        let begin = if at == 0 { 0 } else { found[at - 1].0 };
        found.insert(at, (begin + split.at, p));
    }
}

/// The pieces between the places found.
fn levels<'a>(logs: &'a [f64], found: &[(usize, f64)]) -> impl Iterator<Item = &'a [f64]> + use<'a> {
    let begins = std::iter::once(0).chain(found.iter().map(|(at, _)| *at)).collect::<Vec<_>>();
    let ends = found.iter().map(|(at, _)| *at).chain([logs.len()]).collect::<Vec<_>>();
    begins.into_iter().zip(ends).map(|(begin, end)| &logs[begin..end])
}

/// p value of a split of `distance` in one of the `levels`, each of which is permuted in itself; none when it is above
/// `false_alarms`, which is known long before all permutations have been made (Besag and Clifford, Biometrika 78(2),
/// 1991).
fn test(levels: &[&[f64]], distance: f64, false_alarms: f64, rng: &mut Xoshiro256PlusPlus) -> Option<f64> {
    let all = (PERMUTATIONS + 1) as f64;
    let mut levels: Vec<Vec<f64>> = levels.iter().map(|level| level.to_vec()).collect();
    let mut as_far = 1_u64;
    for _ in 0..PERMUTATIONS {
        levels.iter_mut().for_each(|level| shuffle(level, rng));
        let distances = levels.iter().filter_map(|level| Some(best_split(level)?.distance));
        if distances.fold(0.0, f64::max) >= distance * (1.0 - EQUAL) {
            as_far += 1;
        }
        if as_far as f64 > false_alarms * all + EQUAL {
            return None;
        }
    }
    Some(as_far as f64 / all)
}

/// Fisher and Yates.
fn shuffle(values: &mut [f64], rng: &mut Xoshiro256PlusPlus) {
    for i in (1..values.len()).rev() {
        values.swap(i, (rng.next_u64() % (i as u64 + 1)) as usize);
    }
}

/// A place to split a level.
#[derive(Clone, Copy, Debug)]
struct Split {
    at: usize,
    /// Energy distance of both parts, times `m n / (m + n)`.
    distance: f64,
}

/// The split at which the part before is furthest from the part after, which may end before the last value; none of fewer
/// than two levels.
fn best_split(values: &[f64]) -> Option<Split> {
    let n = values.len();
    if n < 2 * LEVEL_MIN {
        return None;
    }
    let sums = Distances::new(values);
    let mut best: Option<Split> = None;
    for at in LEVEL_MIN..=n - LEVEL_MIN {
        let within = sums.within(0, at);
        for end in at + LEVEL_MIN..=n {
            let (before, after) = (at as f64, (end - at) as f64);
            let between = sums.between(0, at, end) / (before * after);
            let apart = 2.0 * between - mean_of_pairs(within, before) - mean_of_pairs(sums.within(at, end), after);
            let distance = before * after / (before + after) * apart;
            if best.is_none_or(|best| distance > best.distance) {
                best = Some(Split { at, distance });
            }
        }
    }
    best
}

/// Mean distance of the pairs among `n` values whose distances add up to `sum`.
fn mean_of_pairs(sum: f64, n: f64) -> f64 {
    sum / (n * (n - 1.0) / 2.0)
}

/// Sums of the distances between values, over any rectangle of pairs.
struct Distances {
    /// Rows and columns; one more than values.
    side: usize,
    /// At `i * side + j` the sum over the first `i` and the first `j` values.
    sums: Vec<f64>,
}

impl Distances {
    fn new(values: &[f64]) -> Self {
        let side = values.len() + 1;
        let mut sums = vec![0.0; side * side];
        for (i, a) in values.iter().enumerate() {
            let (mut row, above) = (0.0, i * side);
            for (j, b) in values.iter().enumerate() {
                row += (a - b).abs();
                sums[above + side + j + 1] = sums[above + j + 1] + row;
            }
        }
        Self { side, sums }
    }

    /// Over all pairs of one of `from..to` and another of it, each pair once.
    fn within(&self, from: usize, to: usize) -> f64 {
        self.rectangle(from..to, from..to) / 2.0
    }

    /// Over all pairs of one of `from..at` and one of `at..to`.
    fn between(&self, from: usize, at: usize, to: usize) -> f64 {
        self.rectangle(from..at, at..to)
    }

    fn rectangle(&self, rows: std::ops::Range<usize>, columns: std::ops::Range<usize>) -> f64 {
        let at = |i: usize, j: usize| self.sums[i * self.side + j];
        at(rows.end, columns.end) - at(rows.start, columns.end) - at(rows.end, columns.start)
            + at(rows.start, columns.start)
    }
}

/// Levels before and after each place, with the ratio of both.
fn describe(logs: &[f64], found: &[(usize, f64)]) -> Vec<ChangePoint> {
    let levels: Vec<&[f64]> = levels(logs, found).collect();
    let neighbours = levels.windows(2).zip(found);
    let change = |(pair, (index, p)): (&[&[f64]], &(usize, f64))| {
        let (before, after) = (pair[0], pair[1]);
        ChangePoint {
            index: *index,
            ratio: welch(before, after),
            before: mean(before).exp(),
            before_n: before.len(),
            after: mean(after).exp(),
            after_n: after.len(),
            p: *p,
        }
    };
    neighbours.map(change).collect()
}

/// Ratio of the geometric means of two groups of logarithms, with the interval of Welch, "The Generalization of 'Student's'
/// Problem when Several Different Population Variances are Involved", Biometrika 34, 1947.
fn welch(before: &[f64], after: &[f64]) -> Estimate {
    let (m, n) = (before.len() as f64, after.len() as f64);
    let (of_before, of_after) = (variance(before) / m, variance(after) / n);
    let (difference, error) = (mean(after) - mean(before), (of_before + of_after).sqrt());
    let freedom = (of_before + of_after).powi(2) / (of_before.powi(2) / (m - 1.0) + of_after.powi(2) / (n - 1.0));
    // Without any spread there are no degrees of freedom, and no need for them.
    let t = StudentsT::new(0.0, 1.0, freedom).map_or(0.0, |t| t.inverse_cdf(0.5 + CONFIDENCE / 2.0));
    let at = |distance: f64| Some((difference + distance).exp());
    Estimate {
        value: difference.exp(),
        low: at(-t * error),
        high: at(t * error),
        n: (before.len() + after.len()) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Noise;

    const SETTINGS: ChangePointSettings = ChangePointSettings { false_alarms: 0.01, change_min: 0.0, seed: 1 };

    /// A series whose level is 1,000 times the factor that `level` gives for each place, with normal noise.
    fn series(n: usize, noise: f64, seed: u64, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut source = Noise::new(seed);
        (0..n).map(|i| source.jitter(1_000.0 * level(i), noise)).collect()
    }

    fn step(at: usize, factor: f64) -> impl Fn(usize) -> f64 {
        move |i| if i < at { 1.0 } else { factor }
    }

    fn places(values: &[f64], settings: ChangePointSettings) -> Vec<usize> {
        change_points(values, settings).iter().map(|change| change.index).collect()
    }

    /// By hand: of 0, 0, 0 and 3, 3, 3 all nine distances between are 3 and all within 0, so that the energy distance is
    /// 2 x 3 and the statistic 9 / 6 x 6.
    #[test]
    fn the_distance_is_that_of_the_paper() {
        let split = best_split(&[0.0, 0.0, 0.0, 3.0, 3.0, 3.0]).unwrap();
        assert_eq!(split.at, 3);
        assert!((split.distance - 9.0).abs() < 1e-12, "{split:?}");
        // With 1, 2 and 4 within each part: pairs 1, 3 and 2, mean 2, between 10 throughout on average.
        let split = best_split(&[1.0, 2.0, 4.0, 11.0, 12.0, 14.0]).unwrap();
        assert!((split.distance - 1.5 * (20.0 - 2.0 - 2.0)).abs() < 1e-12, "{split:?}");
        assert!(best_split(&[1.0; 5]).is_none(), "too few for two levels");
    }

    /// A brute-force sum agrees with the rectangles.
    #[test]
    fn sums_over_rectangles_are_those_of_the_pairs() {
        let values = series(12, 0.3, 3, |_| 1.0);
        let sums = Distances::new(&values);
        let between: f64 = values[2..5].iter().flat_map(|a| values[5..11].iter().map(move |b| (a - b).abs())).sum();
        let within: f64 =
            (2..7).flat_map(|i| (i + 1..7).map(move |j| (i, j))).map(|(i, j)| (values[i] - values[j]).abs()).sum();
        assert!((sums.between(2, 5, 11) - between).abs() < 1e-6 && (sums.within(2, 7) - within).abs() < 1e-6);
    }

    #[test]
    fn an_injected_change_is_found_at_its_run() {
        let mut exact = 0;
        for seed in 0..100 {
            let values = series(40, 0.01, seed, step(25, 0.95));
            let changes = change_points(&values, SETTINGS);
            let near: Vec<_> = changes.iter().filter(|change| change.index.abs_diff(25) <= 1).collect();
            assert_eq!(near.len(), 1, "seed {seed}: {changes:?}");
            exact += usize::from(near[0].index == 25);
            assert!((near[0].ratio.value - 0.95).abs() < 0.015 && near[0].p <= 0.01, "{:?}", near[0]);
        }
        assert!(exact >= 90, "{exact} of 100 at the very run");
    }

    #[test]
    fn several_changes_are_found_with_the_levels_between_them() {
        let level = |i: usize| if i < 20 { 1.0 } else { step(35, 1.03)(i) * 0.9 };
        let values = series(60, 0.01, 5, level);
        let changes = change_points(&values, SETTINGS);
        assert_eq!(changes.iter().map(|change| change.index).collect::<Vec<_>>(), [20, 35], "{changes:?}");
        assert_eq!((changes[0].before_n, changes[0].after_n, changes[1].after_n), (20, 15, 25));
        let levels = [changes[0].before, changes[0].after, changes[1].after];
        for (level, expected) in levels.into_iter().zip([1_000.0, 900.0, 927.0]) {
            assert!((level / expected - 1.0).abs() < 0.01, "{levels:?}");
        }
        assert_eq!(changes[0].after, changes[1].before);
    }

    /// The first test of a series without a change errs as often as it is allowed to, whatever the noise.
    #[test]
    fn noise_alone_gives_the_nominal_rate_of_false_alarms() {
        // Student's t with 3 degrees of freedom: single runs far off.
        let heavy = |seed| {
            let mut noise = Noise::new(seed);
            let mut wild = || {
                let squares: f64 = (0..3).map(|_| noise.normal().powi(2)).sum();
                1_000.0 * (0.02 * noise.normal() / (squares / 3.0).sqrt()).exp()
            };
            (0..20).map(|_| wild()).collect::<Vec<f64>>()
        };
        let normal = |seed| series(20, 0.02, seed, |_| 1.0);
        type Source<'a> = &'a dyn Fn(u64) -> Vec<f64>;
        for (name, source) in [("normal", &normal as Source<'_>), ("heavy tails", &heavy)] {
            // Four standard deviations of the share of 1,000 on either side, and at least some.
            for (false_alarms, least, most) in [(0.05, 0.022, 0.078), (0.01, 0.002, 0.023)] {
                let settings = ChangePointSettings { false_alarms, ..SETTINGS };
                let alarms =
                    (50_000..51_000).filter(|seed| !change_points(&source(*seed), settings).is_empty()).count();
                let share = alarms as f64 / 1000.0;
                assert!((least..=most).contains(&share), "{name}, {false_alarms}: {share}");
            }
        }
    }

    /// Drift is no noise: what is correlated from run to run is found as changes, far more often than it is allowed to.
    #[test]
    fn drift_is_found_as_changes() {
        let drift = |seed| {
            let mut noise = Noise::new(seed);
            let mut deviation = noise.normal();
            let mut next = || {
                deviation = 0.9 * deviation + (1.0_f64 - 0.81).sqrt() * noise.normal();
                1_000.0 * (1.0 + 0.02 * deviation)
            };
            (0..30).map(|_| next()).collect::<Vec<f64>>()
        };
        let found = (0..100).filter(|seed| !change_points(&drift(*seed), SETTINGS).is_empty()).count();
        assert!(found > 60, "{found} of 100");
    }

    /// The interval of an injected change has the true ratio in it nearly as often as it says.
    #[test]
    fn the_size_of_a_change_is_covered() {
        let (mut covered, mut found) = (0, 0);
        for seed in 0..300 {
            let changes = change_points(&series(40, 0.02, seed, step(20, 0.95)), SETTINGS);
            let near = changes.iter().find(|change| change.index.abs_diff(20) <= 3);
            if let Some(Estimate { low: Some(low), high: Some(high), .. }) = near.map(|change| change.ratio) {
                found += 1;
                covered += usize::from((low..=high).contains(&0.95));
            }
        }
        let share = f64::from(covered as u32) / f64::from(found as u32);
        assert!(found > 285 && (0.90..=0.99).contains(&share), "{covered} of {found}");
    }

    #[test]
    fn changes_too_small_to_matter_are_taken_back_and_levels_join() {
        let level = |i: usize| if i < 20 { 1.0 } else { step(40, 0.8)(i) * 0.995 };
        let values = series(60, 0.001, 2, level);
        assert_eq!(places(&values, SETTINGS), [20, 40]);
        let large = change_points(&values, ChangePointSettings { change_min: 0.02, ..SETTINGS });
        assert_eq!(large.iter().map(|change| (change.index, change.before_n)).collect::<Vec<_>>(), [(40, 40)]);
    }

    #[test]
    fn what_has_no_spread_and_what_is_too_short_has_no_change_but_a_clear_step_has() {
        assert!(change_points(&[5.0; 30], SETTINGS).is_empty());
        assert!(change_points(&[], SETTINGS).is_empty());
        assert!(change_points(&[1.0, 0.0, 2.0], SETTINGS).is_empty(), "no logarithm");
        let mut step = vec![100.0; 6];
        step.extend([50.0; 6]);
        let changes = change_points(&step, SETTINGS);
        assert_eq!(changes.len(), 1);
        let Estimate { value, low: Some(low), high: Some(high), n: 12 } = changes[0].ratio else {
            panic!("{:?}", changes[0])
        };
        assert!([value, low, high].iter().all(|ratio| (ratio - 0.5).abs() < 1e-9), "{:?}", changes[0]);
        // Two of the 252 orders of five and five are steps, and two of the 70 of four and four.
        assert_eq!(change_points_n_min(0.01), 10);
        assert!(change_points(&step[2..10], SETTINGS).is_empty());
        assert_eq!(change_points_n_min(0.05), 8);
    }

    #[test]
    fn the_same_seed_gives_the_same() {
        let values = series(50, 0.02, 9, step(30, 0.97));
        assert_eq!(change_points(&values, SETTINGS), change_points(&values, SETTINGS));
    }
}
