//! A minimum on a rectangle: by a grid that zooms in, deterministic, without derivatives, robust to kinks; or, close to a
//! known one, downhill.

/// Grid lines in each direction.
const LINES: usize = 25;
/// Times the grid is drawn again round the best point found.
const ROUNDS: usize = 18;
/// Side of the next rectangle, as a share of this one's.
const SHRINK: f64 = 0.6;

/// Point of `[low, high]` with the smallest `cost` found, and that cost. A side of length 0 is held fixed.
///
/// The first grid must be fine enough for the valley of the global minimum to show; costs that are not
/// numbers are passed over.
pub(crate) fn minimise(low: [f64; 2], high: [f64; 2], cost: impl Fn([f64; 2]) -> f64) -> ([f64; 2], f64) {
    let mut best = (low, f64::INFINITY);
    let mut side = [high[0] - low[0], high[1] - low[1]];
    let mut from = low;
    for _ in 0..ROUNDS {
        for x in lines(from[0], side[0], high[0]) {
            for y in lines(from[1], side[1], high[1]) {
                let value = cost([x, y]);
                if value < best.1 {
                    best = ([x, y], value);
                }
            }
        }
        side = side.map(|s| s * SHRINK);
        from = [0, 1].map(|i| (best.0[i] - side[i] / 2.0).max(low[i]));
    }
    best
}

/// Steps downhill at most.
const STEPS: usize = 40;
/// Difference by which a slope is measured.
const SLOPE_STEP: f64 = 1e-6;
/// Damping at first, factors after a step that helped and one that did not, and where there is no use in going on.
const DAMPING: f64 = 1e-3;
const EASE: f64 = 0.2;
const STIFFEN: f64 = 5.0;
const DAMPING_MAX: f64 = 1e6;
/// A step that gains less than this share of the cost is the last.
const GAIN_MIN: f64 = 1e-8;

/// Point of the rectangle between two corners where the squares of `errors` have a minimum that is downhill from `from`,
/// and their sum (Levenberg 1944, Marquardt 1963).
pub(crate) fn descend(
    from: [f64; 2],
    [low, high]: [[f64; 2]; 2],
    errors: impl Fn([f64; 2]) -> Vec<f64>,
) -> ([f64; 2], f64) {
    let inside = |at: [f64; 2]| [0, 1].map(|i| at[i].clamp(low[i], high[i]));
    let mut at = inside(from);
    let mut here = errors(at);
    let mut cost = dot(&here, &here);
    let mut damping = DAMPING;
    for _ in 0..STEPS {
        let slopes = [0, 1].map(|i| slope(at, i, high[i], &here, &errors));
        let step = newton(&slopes, &here, damping);
        let next = inside([at[0] + step[0], at[1] + step[1]]);
        let there = errors(next);
        let cost_there = dot(&there, &there);
        if cost_there < cost {
            let gain = cost - cost_there;
            (at, here, cost) = (next, there, cost_there);
            damping *= EASE;
            if gain < GAIN_MIN * cost {
                break;
            }
        } else {
            damping *= STIFFEN;
            if damping > DAMPING_MAX {
                break;
            }
        }
    }
    (at, cost)
}

/// Change of the errors with coordinate `i`.
fn slope(at: [f64; 2], i: usize, high: f64, here: &[f64], errors: impl Fn([f64; 2]) -> Vec<f64>) -> Vec<f64> {
    let step = if at[i] + SLOPE_STEP > high { -SLOPE_STEP } else { SLOPE_STEP };
    let mut beside = at;
    beside[i] += step;
    errors(beside).iter().zip(here).map(|(there, here)| (there - here) / step).collect()
}

/// The step to where the errors would be least if their slopes were the same everywhere, shortened by the damping.
fn newton(slopes: &[Vec<f64>; 2], errors: &[f64], damping: f64) -> [f64; 2] {
    let [x, y] = slopes;
    let damped = |square: f64| square * (1.0 + damping) + f64::MIN_POSITIVE;
    let (a, b, d) = (damped(dot(x, x)), dot(x, y), damped(dot(y, y)));
    let (p, q) = (-dot(x, errors), -dot(y, errors));
    let determinant = a * d - b * b;
    if determinant > 0.0 { [(p * d - q * b) / determinant, (q * a - p * b) / determinant] } else { [0.0; 2] }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn lines(from: f64, side: f64, high: f64) -> impl Iterator<Item = f64> {
    let count = if side > 0.0 { LINES } else { 1 };
    (0..count).map(move |i| (from + side * i as f64 / (LINES - 1) as f64).min(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_bottom_of_a_curved_valley() {
        let rosenbrock = |[x, y]: [f64; 2]| (1.0 - x).powi(2) + 100.0 * (y - x * x).powi(2);
        let ([x, y], cost) = minimise([-2.0, -2.0], [2.0, 3.0], rosenbrock);
        assert!((x - 1.0).abs() < 1e-2 && (y - 1.0).abs() < 2e-2 && cost < 1e-4, "{x} {y} {cost}");
    }

    #[test]
    fn downhill_leads_to_the_same_bottom_or_to_the_edge() {
        let rosenbrock = |[x, y]: [f64; 2]| vec![1.0 - x, 10.0 * (y - x * x)];
        let ([x, y], cost) = descend([0.5, 0.5], [[-2.0, -2.0], [2.0, 3.0]], rosenbrock);
        assert!((x - 1.0).abs() < 1e-3 && (y - 1.0).abs() < 2e-3 && cost < 1e-6, "{x} {y} {cost}");
        let ([x, y], _) = descend([0.5, 0.5], [[0.0; 2], [1.0; 2]], |[x, y]| vec![x - 3.0, y + 2.0]);
        assert_eq!((x, y), (1.0, 0.0));
        let flat = descend([0.5, 0.5], [[0.0; 2], [1.0; 2]], |_| vec![1.0]);
        assert_eq!(flat, ([0.5, 0.5], 1.0));
    }

    #[test]
    fn stays_inside_and_finds_corners() {
        let ([x, y], _) = minimise([0.0, 0.0], [1.0, 1.0], |[x, y]| (x - 3.0).powi(2) + (y + 2.0).powi(2));
        assert_eq!((x, y), (1.0, 0.0));
    }

    #[test]
    fn a_fixed_side_stays_fixed() {
        let ([x, y], _) = minimise([-1.0, 7.0], [1.0, 7.0], |[x, y]| (x - 0.3).abs() + y);
        assert!((x - 0.3).abs() < 1e-4 && y == 7.0);
    }
}
