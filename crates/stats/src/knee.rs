//! Where more load stops buying throughput: curves fitted to a sweep, never eyeballed.
//!
//! All fits are least squares on the logarithm of the throughput, so that every point counts by its relative
//! error. Points past the peak with less than 0.9 of it, and all points after the first of these, are left out:
//! the models have no falling branch, and the plateau is what was reached before the fall. Loads without
//! throughput are left out too. In the bends a point that is far from the curve counts less (Huber 1964), so that one
//! load that was disturbed does not move the plateau.

use crate::median::DEVIATION_PER_MEDIAN;
use crate::minimise::{descend, minimise};
use model::PoolFit;

/// Sharpness at which the soft pool model is within about 1 % of the hard one everywhere; the hard one is given as this.
pub const SHARPNESS_MAX: f64 = 64.0;
/// Softest bend: `1 / (D/N + 1/C)`, a queueing network without any concurrency to spare.
const SHARPNESS_MIN: f64 = 1.0;
/// Sharpness, and root of a coefficient of the law, from which the slope leads to others.
const SHARPNESS_START: f64 = 12.0;
const COEFFICIENT_START: f64 = 0.05;
/// Fewer points than this say nothing about a bend.
const POINTS_MIN: usize = 4;
/// Past the peak, a smaller share of it than this is a fall, not noise on the plateau.
const RETROGRADE_SHARE: f64 = 0.9;
/// A sweep must reach this multiple of the knee to have seen it; beyond that a fit would be an extrapolation.
const REACH: f64 = 1.5;
/// A rate is held when at least this share of it comes back good.
const HELD_SHARE: f64 = 0.99;
/// A point further from the curve than so many spreads of all points counts less: as if it were that far.
const FAR: f64 = 2.0;
/// Spread of a curve without any noise, in logarithms: no point is far off within a percent.
const SPREAD_MIN: f64 = 0.005;
/// Most fits with weights from the one before, until none of them changes by more.
const ROUNDS: usize = 10;
const WEIGHT_STEP_MIN: f64 = 0.01;
/// Relative errors below this are taken for this when curves are compared; logarithms of zero compare badly.
const ERROR_FLOOR: f64 = 1e-6;

/// One point of a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadPoint {
    /// Connections, or offered requests per second; above 0.
    pub load: f64,
    /// Goodput; per second.
    pub goodput_per_s: f64,
}

/// The pool model fitted to a sweep over connections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoolFitResult {
    /// Parameters and largest error.
    pub fit: PoolFit,
    /// Connections at the knee: `D * C`, by Little's law.
    pub knee: f64,
    /// Corrected Akaike criterion; smaller is better, differences below 4 mean little. Infinite when there are too
    /// few points for it.
    pub aicc: f64,
}

/// The Universal Scalability Law `X = l N / (1 + s (N-1) + k N (N-1))` fitted to a sweep over connections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UslFit {
    /// Throughput of one connection, `l`; per second.
    pub single_per_s: f64,
    /// Contention `s`, 0 to 1.
    pub contention: f64,
    /// Coherency `k`, 0 to 1.
    pub coherency: f64,
    /// Connections at the peak, `sqrt((1-s)/k)`; infinite without coherency cost.
    pub peak_load: f64,
    /// Largest relative error at any point used.
    pub error_max: f64,
    /// Corrected Akaike criterion, comparable with [`PoolFitResult::aicc`] of the same points without a fall.
    pub aicc: f64,
}

/// The line `X = R` bending into a plateau, fitted to a sweep over rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateFit {
    /// Plateau: goodput however much is offered; per second.
    pub plateau_per_s: f64,
    /// Sharpness of the bend; [`SHARPNESS_MAX`] for a corner.
    pub sharpness: f64,
    /// Highest measured rate of which at least 99 % came back good; none when no rate was held.
    pub knee: Option<f64>,
    /// Largest relative error at any point used.
    pub error_max: f64,
    /// Corrected Akaike criterion.
    pub aicc: f64,
}

/// Fits the soft pool model `X = ((D/N)^p + (1/C)^p)^(-1/p)` and its hard limit `X = min(N/D, C)`, and gives the
/// one with the smaller AICc.
///
/// The knee is looked for among the measured loads: where even the first load saturates, the knee is the first
/// load. None below 4 usable points, and none when the sweep did not reach 1.5 times the knee.
#[must_use]
pub fn fit_pool(points: &[LoadPoint]) -> Option<PoolFitResult> {
    pool_of(points, &bend_of(points, Plateau::Free)?.1)
}

/// Points without their fall, with how much each counts, and their best bend; none below 4 usable points.
pub(crate) fn bend_of(points: &[LoadPoint], plateau: Plateau) -> Option<(Curve, Bend)> {
    Some(Curve::of(&without_fall(points))?.bend(plateau))
}

/// The pool of a bend, if the points reach far enough behind it.
pub(crate) fn pool_of(points: &[LoadPoint], bend: &Bend) -> Option<PoolFitResult> {
    let knee = bend.log_knee.exp();
    if !reaches(points, knee) {
        return None;
    }
    let plateau_per_s = bend.log_plateau.exp();
    let fit = PoolFit {
        residence_ns: knee / plateau_per_s * model::NS_PER_S as f64,
        plateau_per_s,
        sharpness: bend.sharpness,
        error_max: error_max(bend.errors.iter().copied()),
    };
    Some(PoolFitResult { fit, knee, aicc: bend.aicc })
}

/// Fits `X = R` bending into a plateau to a sweep over rates.
///
/// None below 4 usable points, and none when every rate was held: then the plateau was never reached.
#[must_use]
pub fn fit_rate(points: &[LoadPoint]) -> Option<RateFit> {
    rate_of(points, &bend_of(points, Plateau::AtKnee)?.1)
}

/// The plateau of a bend, and the highest rate that was held; none when every one was.
pub(crate) fn rate_of(points: &[LoadPoint], bend: &Bend) -> Option<RateFit> {
    let held = |p: &&LoadPoint| p.goodput_per_s >= HELD_SHARE * p.load;
    if points.iter().all(|p| held(&p)) {
        return None;
    }
    Some(RateFit {
        plateau_per_s: bend.log_plateau.exp(),
        sharpness: bend.sharpness,
        knee: points.iter().filter(held).map(|p| p.load).reduce(f64::max),
        error_max: error_max(bend.errors.iter().copied()),
        aicc: bend.aicc,
    })
}

/// Fits the Universal Scalability Law (Gunther) to all points with throughput, the falling ones included, with
/// `s` and `k` between 0 and 1. None below 4 such points.
///
/// It is the second opinion: for a pool of workers it is the wrong law, and its peak moves with the range swept.
#[must_use]
pub fn fit_usl(points: &[LoadPoint]) -> Option<UslFit> {
    let curve = Curve::of(points)?;
    let (best, _) = minimise([0.0; 2], [1.0; 2], |at| curve.law(coefficients(at)).squares);
    Some(curve.law_at(best))
}

impl UslFit {
    /// Throughput at a load; per second.
    #[must_use]
    pub fn at(&self, load: f64) -> f64 {
        self.single_per_s * law(load.ln(), load, (self.contention, self.coherency)).exp()
    }
}

/// AICc of the pool model, the fall included, and of the Universal Scalability Law, all loads counting alike; infinite
/// where the loads are too few for it.
pub(crate) fn aicc_of_both(points: &[LoadPoint]) -> Option<(f64, f64)> {
    let curve = Curve::of(points)?;
    Some((curve.bend_weighted(Plateau::Free).aicc, fit_usl(points)?.aicc))
}

/// True if the sweep has gone so far past `load` that it has seen what is there. Every load with throughput counts, those
/// in a fall included.
pub(crate) fn reaches(points: &[LoadPoint], load: f64) -> bool {
    let reached = points.iter().filter(|p| p.goodput_per_s > 0.0).map(|p| p.load).fold(0.0, f64::max);
    load * REACH <= reached
}

/// Contention and coherency of a place on the grid. Fourth powers: coherency matters from 1e-6 on, and a grid must see
/// that.
fn coefficients([x, y]: [f64; 2]) -> (f64, f64) {
    (x.powi(2), y.powi(4))
}

/// Logarithm of `N / (1 + s (N-1) + k N (N-1))` for the load `n` and its logarithm.
fn law(log_load: f64, n: f64, (contention, coherency): (f64, f64)) -> f64 {
    log_load - (1.0 + contention * (n - 1.0) + coherency * n * (n - 1.0)).ln()
}

/// What is known of the plateau beforehand.
#[derive(Clone, Copy)]
pub(crate) enum Plateau {
    /// Nothing: it is a parameter.
    Free,
    /// Below the bend goodput is the load itself, so the plateau is where the bend is.
    AtKnee,
}

/// A line of slope 1 bending into a plateau, in logarithms.
pub(crate) struct Bend {
    pub(crate) log_knee: f64,
    pub(crate) log_plateau: f64,
    sharpness: f64,
    /// Of each point, in logarithms.
    pub(crate) errors: Vec<f64>,
    aicc: f64,
}

/// A curve against the points of a sweep, in logarithms.
struct Fit {
    /// What its shape is lifted by.
    level: f64,
    /// Of the errors, by the weights of their points.
    squares: f64,
    /// Of each point.
    errors: Vec<f64>,
}

/// A sweep in logarithms: (load, goodput), rising in load.
pub(crate) struct Curve {
    pub(crate) points: Vec<(f64, f64)>,
    /// Of each point: there are thousands of looks at it.
    loads: Vec<f64>,
    /// How much each point counts, 0 to 1.
    pub(crate) weights: Vec<f64>,
}

impl Curve {
    /// All points that have a logarithm, or none when they are too few.
    pub(crate) fn of(points: &[LoadPoint]) -> Option<Self> {
        let mut points: Vec<(f64, f64)> = points
            .iter()
            .filter(|p| p.load > 0.0 && p.goodput_per_s > 0.0)
            .map(|p| (p.load.ln(), p.goodput_per_s.ln()))
            .filter(|(u, v)| u.is_finite() && v.is_finite())
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let loads = points.iter().map(|(u, _)| u.exp()).collect();
        (points.len() >= POINTS_MIN).then(|| Self { weights: vec![1.0; points.len()], loads, points })
    }

    /// The best bend, in which points that are far off count less, and the curve with how much each counts.
    pub(crate) fn bend(mut self, plateau: Plateau) -> (Self, Bend) {
        let mut bend = self.bend_weighted(plateau);
        for _ in 0..ROUNDS {
            let weights = weights(&bend.errors);
            if weights.iter().zip(&self.weights).all(|(new, old)| (new - old).abs() < WEIGHT_STEP_MIN) {
                break;
            }
            self.weights = weights;
            bend = self.bend_weighted(plateau);
        }
        (self, bend)
    }

    /// The same loads, counting as much, with other goodputs, in logarithms.
    pub(crate) fn with_goodputs(&self, goodputs: &[f64]) -> Self {
        let points = self.points.iter().zip(goodputs).map(|((u, _), v)| (*u, *v)).collect();
        Self { points, loads: self.loads.clone(), weights: self.weights.clone() }
    }

    /// As [`Curve::bend_weighted`], for goodputs whose bend is close to `near`: a thousandth of the work.
    pub(crate) fn bend_near(&self, plateau: Plateau, near: &Bend) -> Bend {
        let hard = self.bend_between(plateau, [f64::INFINITY; 2]);
        let lowest = [self.lowest(plateau), SHARPNESS_MIN.ln()];
        let highest = [self.highest(), SHARPNESS_MAX.ln()];
        // from the corner there is no way to a soft bend
        let from = [near.log_knee, near.sharpness.min(SHARPNESS_START).ln()];
        let weighted = |[knee, y]: [f64; 2]| {
            let errors = self.hinges(plateau, knee, y.exp()).errors;
            errors.iter().zip(&self.weights).map(|(error, weight)| weight.sqrt() * error).collect()
        };
        let (at, _) = descend(from, [lowest, highest], weighted);
        let soft = self.bend_at(plateau, at[0], at[1].exp());
        if hard.aicc <= soft.aicc { hard } else { soft }
    }

    /// As [`fit_usl`], for goodputs whose law is close to `near`.
    pub(crate) fn law_near(&self, near: &UslFit) -> UslFit {
        // at 0 a coefficient has no slope
        let from = [near.contention.sqrt(), near.coherency.sqrt().sqrt()].map(|x| x.max(COEFFICIENT_START));
        let errors = |at: [f64; 2]| self.law(coefficients(at)).errors;
        self.law_at(descend(from, [[0.0; 2], [1.0; 2]], errors).0)
    }

    fn law_at(&self, at: [f64; 2]) -> UslFit {
        let (contention, coherency) = coefficients(at);
        let fit = self.law((contention, coherency));
        UslFit {
            single_per_s: fit.level.exp(),
            contention,
            coherency,
            peak_load: ((1.0 - contention) / coherency).sqrt(),
            error_max: error_max(fit.errors),
            aicc: self.aicc(fit.squares, 3),
        }
    }

    /// The best bend, soft or hard.
    fn bend_weighted(&self, plateau: Plateau) -> Bend {
        let soft = self.bend_between(plateau, [SHARPNESS_MIN, SHARPNESS_MAX]);
        let hard = self.bend_between(plateau, [f64::INFINITY; 2]);
        if hard.aicc <= soft.aicc { hard } else { soft }
    }

    /// The best bend of a sharpness in a range; a range of infinity is the corner, which has one parameter less.
    fn bend_between(&self, plateau: Plateau, sharpness: [f64; 2]) -> Bend {
        let hard = sharpness[0].is_infinite();
        // sharpness goes in as its logarithm; a corner is a fixed side, whatever its place on that axis
        let range = if hard { [0.0; 2] } else { sharpness.map(f64::ln) };
        let of = |y: f64| if hard { f64::INFINITY } else { y.exp() };
        let (low, high) = ([self.lowest(plateau), range[0]], [self.highest(), range[1]]);
        let ([log_knee, y], _) = minimise(low, high, |[knee, y]| self.hinges(plateau, knee, of(y)).squares);
        self.bend_at(plateau, log_knee, of(y))
    }

    /// The bend at a knee, of a sharpness or infinity.
    fn bend_at(&self, plateau: Plateau, log_knee: f64, sharpness: f64) -> Bend {
        let fit = self.hinges(plateau, log_knee, sharpness);
        let parameters = 1 + usize::from(sharpness.is_finite()) + usize::from(matches!(plateau, Plateau::Free));
        Bend {
            log_knee,
            log_plateau: fit.level,
            sharpness: sharpness.min(SHARPNESS_MAX),
            errors: fit.errors,
            aicc: self.aicc(fit.squares, parameters),
        }
    }

    /// The bend with this knee and sharpness; its level is the logarithm of the plateau.
    fn hinges(&self, plateau: Plateau, log_knee: f64, sharpness: f64) -> Fit {
        let shape = self.points.iter().map(|(u, _)| hinge(*u, log_knee, sharpness)).collect();
        let level = matches!(plateau, Plateau::AtKnee).then_some(log_knee);
        self.fit(shape, level)
    }

    /// The law with these coefficients; its level is the logarithm of the throughput of one connection.
    fn law(&self, coefficients: (f64, f64)) -> Fit {
        let shape = self.points.iter().zip(&self.loads).map(|((u, _), n)| law(*u, *n, coefficients)).collect();
        self.fit(shape, None)
    }

    /// Least logarithm of a knee. The plateau of a rate can be below the first load, the knee of a pool cannot.
    fn lowest(&self, plateau: Plateau) -> f64 {
        match plateau {
            Plateau::Free => self.points[0].0,
            Plateau::AtKnee => self.points.iter().map(|(_, v)| *v).fold(f64::INFINITY, f64::min),
        }
    }

    fn highest(&self) -> f64 {
        self.points[self.points.len() - 1].0
    }

    /// A curve with this shape, in logarithms at each point, at `level` or where it is closest to the points.
    fn fit(&self, shape: Vec<f64>, level: Option<f64>) -> Fit {
        let apart = self.points.iter().zip(&shape).map(|((_, v), shape)| v - shape);
        let level = level.unwrap_or_else(|| self.sum(apart) / self.weights.iter().sum::<f64>());
        let errors: Vec<f64> = self.points.iter().zip(shape).map(|((_, v), shape)| v - level - shape).collect();
        Fit { level, squares: self.sum(errors.iter().map(|error| error.powi(2))), errors }
    }

    /// Sum of the values of all points by their weights.
    fn sum(&self, values: impl IntoIterator<Item = f64>) -> f64 {
        values.into_iter().zip(&self.weights).map(|(value, weight)| weight * value).sum()
    }

    /// `n ln(RSS/n) + 2k + 2k(k+1)/(n-k-1)`.
    fn aicc(&self, squares: f64, parameters: usize) -> f64 {
        let (n, k) = (self.points.len() as f64, parameters as f64);
        if n - k - 1.0 < 1.0 {
            return f64::INFINITY;
        }
        n * (squares / n).max(ERROR_FLOOR.powi(2)).ln() + 2.0 * k + 2.0 * k * (k + 1.0) / (n - k - 1.0)
    }
}

/// Logarithm of `((K/N)^p + 1)^(-1/p)` for the logarithms of load `N` and knee `K`.
fn hinge(log_load: f64, log_knee: f64, sharpness: f64) -> f64 {
    let below = log_knee - log_load;
    if sharpness.is_infinite() {
        return -below.max(0.0);
    }
    // ln(1 + e^x) without overflow
    let x = sharpness * below;
    -(x.max(0.0) + (-x.abs()).exp().ln_1p()) / sharpness
}

/// Weights of points with these errors.
fn weights(errors: &[f64]) -> Vec<f64> {
    let mut sizes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let spread = (DEVIATION_PER_MEDIAN * sizes[sizes.len() / 2]).max(SPREAD_MIN);
    errors.iter().map(|error| (FAR * spread / error.abs()).min(1.0)).collect()
}

/// The largest of errors in logarithms, relative to its point.
fn error_max(errors: impl IntoIterator<Item = f64>) -> f64 {
    errors.into_iter().map(|error| ((-error).exp() - 1.0).abs()).fold(0.0, f64::max)
}

/// The points in rising order of load up to where goodput falls for good.
fn without_fall(points: &[LoadPoint]) -> Vec<LoadPoint> {
    let mut points = points.to_vec();
    points.sort_by(|a, b| a.load.total_cmp(&b.load));
    let Some(peak) = (0..points.len()).max_by(|a, b| points[*a].goodput_per_s.total_cmp(&points[*b].goodput_per_s))
    else {
        return points;
    };
    let floor = RETROGRADE_SHARE * points[peak].goodput_per_s;
    let fall = points[peak..].iter().position(|p| p.goodput_per_s < floor);
    points.truncate(fall.map_or(points.len(), |at| peak + at));
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Noise;

    fn points(curve: impl IntoIterator<Item = (f64, f64)>) -> Vec<LoadPoint> {
        curve.into_iter().map(|(load, goodput_per_s)| LoadPoint { load, goodput_per_s }).collect()
    }

    /// WordPress on two cores, published by ApisCP: concurrency and throughput.
    const TWO_CORES: [(f64, f64); 12] = [
        (1.0, 83.18),
        (2.0, 163.01),
        (3.0, 169.12),
        (4.0, 174.86),
        (5.0, 174.61),
        (6.0, 175.53),
        (7.0, 174.73),
        (8.0, 176.24),
        (9.0, 175.65),
        (10.0, 177.18),
        (15.0, 175.89),
        (20.0, 177.87),
    ];

    #[test]
    fn a_published_table_has_its_knee_at_the_number_of_cores() {
        let table = points(TWO_CORES);
        let pool = fit_pool(&table).unwrap();
        assert!((pool.knee - 2.10).abs() < 0.1, "{pool:?}");
        assert!((pool.fit.plateau_per_s - 175.1).abs() < 1.0, "{pool:?}");
        assert!((pool.fit.residence_ns / 1e6 - 12.0).abs() < 0.2, "{pool:?}");
        assert!((pool.fit.error_max - 0.035).abs() < 0.003, "{pool:?}");
        // the corner wins by a little; the soft bend on its own
        let soft = Curve::of(&table).unwrap().bend_between(Plateau::Free, [SHARPNESS_MIN, SHARPNESS_MAX]);
        assert!((soft.log_knee.exp() - 2.10).abs() < 0.02, "{}", soft.log_knee.exp());
        assert!(soft.aicc > pool.aicc && (soft.aicc + 97.5).abs() < 1.0, "{}", soft.aicc);
        let usl = fit_usl(&table).unwrap();
        assert!((usl.aicc + 52.5).abs() < 1.0, "{usl:?}");
        // 20 % of what the law says, 16.5 % of what was measured
        assert!((usl.error_max - 0.165).abs() < 0.01, "{usl:?}");
        assert!(usl.aicc - pool.aicc > 40.0);
    }

    /// Two percent of noise on a pool of `workers`, 5 ms each, at powers of two and round the knee.
    fn noisy_pool(workers: f64, sharpness: f64, seed: u64) -> Vec<LoadPoint> {
        let mut noise = Noise::new(seed);
        let past = (workers * 4.0).log2().ceil() as i32;
        let mut loads: Vec<f64> = (0..=past).map(|e| 2.0_f64.powi(e)).collect();
        loads.extend([(workers * 0.7).round(), (workers * 1.4).round()]);
        points(loads.iter().map(|n| {
            let exact = workers / 0.005 * hinge(n.ln(), workers.ln(), sharpness).exp();
            (*n, noise.jitter(exact, 0.02))
        }))
    }

    #[test]
    fn the_knee_of_a_noisy_pool_is_its_size() {
        for workers in [4.0, 5.0, 8.0, 16.0, 23.0, 64.0] {
            for sharpness in [4.0, 8.0, f64::INFINITY] {
                for seed in 0..40 {
                    let pool = fit_pool(&noisy_pool(workers, sharpness, seed)).unwrap();
                    let (off, c) = (pool.knee / workers - 1.0, pool.fit.plateau_per_s * 0.005 / workers - 1.0);
                    assert!(off.abs() < 0.1 && c.abs() < 0.05, "{workers} {sharpness} {seed}: {pool:?}");
                }
            }
        }
    }

    #[test]
    fn one_load_far_off_the_plateau_hardly_moves_the_knee() {
        // Measured beside a client that was paused for a fifth of the time: its requests went in step at 6 connections.
        let goodputs = [457.0, 913.0, 1370.0, 1826.0, 1883.0, 1997.0, 2000.0, 2000.0];
        let loads = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0];
        let disturbed = fit_pool(&points(loads.into_iter().zip(goodputs))).unwrap();
        assert!((disturbed.knee / 4.37 - 1.0).abs() < 0.01, "{disturbed:?}");
        assert!(disturbed.fit.error_max > 0.05, "the load is still as far off: {disturbed:?}");
    }

    #[test]
    fn a_corner_and_few_points_are_no_trouble() {
        let pool =
            fit_pool(&points([(1.0, 200.0), (2.0, 400.0), (4.0, 800.0), (8.0, 1000.0), (16.0, 1000.0)])).unwrap();
        assert!((pool.knee - 5.0).abs() < 0.01 && pool.fit.sharpness == SHARPNESS_MAX, "{pool:?}");
        let four = fit_pool(&points([(1.0, 200.0), (4.0, 800.0), (8.0, 1000.0), (16.0, 1000.0)])).unwrap();
        assert!((four.knee - 5.0).abs() < 0.01 && four.aicc.is_finite(), "{four:?}");
        assert_eq!(fit_pool(&points([(1.0, 200.0), (4.0, 800.0), (16.0, 1000.0)])), None);
    }

    #[test]
    fn a_single_worker_has_its_knee_at_one() {
        let pool = fit_pool(&points([(1.0, 101.0), (2.0, 99.0), (4.0, 100.0), (8.0, 100.0)])).unwrap();
        assert!((1.0..1.15).contains(&pool.knee), "{pool:?}");
        assert!((pool.fit.residence_ns / 1e6 - 10.0).abs() < 1.5, "{pool:?}");
    }

    #[test]
    fn an_unbent_line_has_no_knee() {
        assert_eq!(fit_pool(&points((0..6).map(|e| (2.0_f64.powi(e), 90.0 * 2.0_f64.powi(e))))), None);
        assert_eq!(fit_rate(&points((1..6).map(|r| (f64::from(r), f64::from(r) * 0.995)))), None);
        // the knee itself was reached, but nothing past it
        assert_eq!(fit_pool(&points([(1.0, 1.0), (2.0, 2.0), (4.0, 4.0), (8.0, 8.0), (10.0, 8.0)])), None);
    }

    #[test]
    fn a_fall_past_the_plateau_is_left_out() {
        let mut curve = noisy_pool(8.0, f64::INFINITY, 3);
        curve.extend(points([(64.0, 900.0), (128.0, 1580.0), (256.0, 0.0)]));
        let pool = fit_pool(&curve).unwrap();
        assert!((pool.knee / 8.0 - 1.0).abs() < 0.1, "{pool:?}");
        assert!(pool.fit.error_max < 0.1, "{pool:?}");
        // a peak with a cliff behind it has been seen past the knee
        let cliff = points([(1.0, 10.0), (2.0, 20.0), (3.0, 29.0), (4.0, 30.0), (8.0, 5.0)]);
        assert!((fit_pool(&cliff).unwrap().knee - 3.0).abs() < 0.2, "{:?}", fit_pool(&cliff));
    }

    #[test]
    fn usl_finds_its_own_parameters() {
        let law = |n: f64| 50.0 * n / (1.0 + 0.03 * (n - 1.0) + 0.0005 * n * (n - 1.0));
        let usl = fit_usl(&points((0..9).map(|e| (2.0_f64.powi(e), law(2.0_f64.powi(e)))))).unwrap();
        assert!((usl.single_per_s / 50.0 - 1.0).abs() < 1e-3, "{usl:?}");
        assert!((usl.contention - 0.03).abs() < 1e-3 && (usl.coherency - 0.0005).abs() < 1e-5, "{usl:?}");
        assert!((usl.peak_load / 44.05 - 1.0).abs() < 0.01, "{usl:?}");
    }

    #[test]
    fn a_rate_sweep_bends_at_the_capacity() {
        for seed in 0..40 {
            let mut noise = Noise::new(seed);
            let loads = [100.0, 200.0, 400.0, 566.0, 673.0, 800.0, 1600.0];
            let curve = points(loads.map(|r: f64| (r, if r < 700.0 { r } else { noise.jitter(700.0, 0.02) })));
            let fit = fit_rate(&curve).unwrap();
            assert!((fit.plateau_per_s / 700.0 - 1.0).abs() < 0.05, "{fit:?}");
            assert_eq!(fit.knee, Some(673.0));
        }
    }

    #[test]
    fn a_rate_sweep_that_starts_past_capacity_holds_nothing() {
        let fit = fit_rate(&points([(100.0, 50.0), (200.0, 51.0), (400.0, 49.0), (800.0, 50.0)])).unwrap();
        assert!((fit.plateau_per_s - 50.0).abs() < 1.5, "{fit:?}");
        assert_eq!(fit.knee, None);
    }
}
