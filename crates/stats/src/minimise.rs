//! A minimum on a rectangle by a grid that zooms in: deterministic, without derivatives, robust to kinks.

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
