//! When the rise of a sweep has ended: what looks like an end is measured once more, and believed only beyond doubt.
//!
//! One measurement says nothing of how much it varies, and the spread within it says little of how much the next differs:
//! where client and server share CPUs, the same load may do 100,000/s and then 13,000/s. So each load that an end rests on
//! is measured at least twice, and the end is believed where these measurements agree on it.

use super::point::Point;
use crate::batch::{mean, student};
use model::RiseEnd;
use statrs::distribution::ContinuousCDF;

/// A doubling that gains less than this over the best before it bought nothing.
const GAIN_MIN: f64 = 1.03;
/// One that gains less than this may have bought nothing: what is measured once is as much off.
const GAIN_DOUBTFUL: f64 = 1.1;
/// Steps in a row that must have bought nothing, loads that must have fallen, or rates not held, to end the ramp.
const FLAT_STEPS: usize = 2;
/// A gain per doubling that must be ruled out before a plateau is believed.
const GAIN_RULED_OUT: f64 = 1.1;
/// Quantile of Student's t at which it is: one side of a 95 % interval.
const RULED_OUT_AT: f64 = 0.975;
/// Less than this share of the peak is a fall.
const FALLEN_SHARE: f64 = 0.9;
/// Measurements of each load that an end rests on.
const MEASUREMENTS_MIN: usize = 2;

/// What the loads measured so far, in rising order, say of the rise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rise {
    /// Going further up is of use.
    GoesOn,
    /// It looks like its end, which rests on this load: to be measured once more.
    Doubtful(f64),
    /// Going further up is no use.
    Ended(RiseEnd),
}

/// What `points` say of the rise, which does not end at fewer than `least` loads of connections.
pub(super) fn rise(points: &[Point], least: usize) -> Rise {
    let Some((end, rests_on)) = suspected(points, least) else { return Rise::GoesOn };
    match rests_on.iter().find(|point| point.outcomes.len() < MEASUREMENTS_MIN) {
        Some(once) => Rise::Doubtful(once.load),
        None if is_certain(end, &rests_on) => Rise::Ended(end),
        None => Rise::GoesOn,
    }
}

/// True if the largest load lies past saturation. Its gain is looked at over one doubling and over two,
/// because noise hides a plateau from the first more often than from both.
pub(super) fn saturated(points: &[Point]) -> bool {
    let Some(last) = points.last().filter(|_| peak(points) > 0.0) else { return false };
    if last.is_rate() {
        return !last.held();
    }
    fell(points, last) || [1, 2].iter().any(|doublings| gains_less(points, last, *doublings, GAIN_MIN))
}

/// Highest goodput.
pub(super) fn peak(points: &[Point]) -> f64 {
    points.iter().map(Point::goodput_per_s).fold(0.0, f64::max)
}

/// What looks like the end of the rise, and the loads that it rests on.
fn suspected(points: &[Point], least: usize) -> Option<(RiseEnd, Vec<&Point>)> {
    let tail = &points[points.len().checked_sub(FLAT_STEPS)?..];
    let both = |end| Some((end, tail.iter().collect()));
    if tail[0].is_rate() {
        return match () {
            () if tail.iter().all(Point::client_behind) => both(RiseEnd::ClientBehind),
            () if tail.iter().all(Point::never_held) => both(RiseEnd::NotHeld),
            () => None,
        };
    }
    if peak(points) == 0.0 {
        return both(RiseEnd::NothingGood);
    }
    // Loads of which nothing is good have broken the server, and more of it says nothing.
    let is_broken = tail.iter().all(|point| point.goodput_per_s() == 0.0);
    if points.len() < least && !is_broken {
        return None;
    }
    if tail.iter().all(|point| fell(points, point)) {
        let highest = points.iter().max_by(|a, b| a.goodput_per_s().total_cmp(&b.goodput_per_s()))?;
        return Some((RiseEnd::Fell, std::iter::once(highest).chain(tail).collect()));
    }
    let is_flat = tail.iter().all(|point| gains_less(points, point, 1, GAIN_DOUBTFUL));
    is_flat.then(|| (RiseEnd::Flat, points[points.len().saturating_sub(FLAT_STEPS + 1)..].iter().collect()))
}

/// True if the measurements of the loads that an end rests on leave no doubt of it.
fn is_certain(end: RiseEnd, rests_on: &[&Point]) -> bool {
    match end {
        RiseEnd::Flat => {
            growth(rests_on).is_some_and(|(growth, at_most)| growth < GAIN_MIN.ln() && at_most < GAIN_RULED_OUT.ln())
        }
        RiseEnd::Fell => {
            let each = |point: &Point| point.outcomes.iter().map(|o| o.goodput_per_s).collect::<Vec<_>>();
            let peak_least = each(rests_on[0]).into_iter().fold(f64::INFINITY, f64::min);
            rests_on[1..].iter().flat_map(|point| each(point)).all(|per_s| per_s < peak_least)
        }
        // Each measurement of each of them was looked at.
        RiseEnd::NotHeld | RiseEnd::ClientBehind | RiseEnd::NothingGood | RiseEnd::Reached => true,
    }
}

/// Growth per doubling, as a logarithm, of a line through all measurements of `points`, and the upper end of its interval; none
/// where nobody can tell.
fn growth(points: &[&Point]) -> Option<(f64, f64)> {
    let all: Vec<(f64, f64)> = points
        .iter()
        .flat_map(|point| point.outcomes.iter().map(|o| (point.load.log2(), o.goodput_per_s.ln())))
        .collect();
    let freedom = all.len() as f64 - 2.0;
    let (x, y): (Vec<f64>, Vec<f64>) = all.iter().copied().unzip();
    let (mean_x, mean_y) = (mean(&x), mean(&y));
    let across: f64 = all.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    if freedom < 1.0 || across == 0.0 || !mean_y.is_finite() {
        return None;
    }
    let slope = all.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>() / across;
    let residual: f64 = all.iter().map(|(x, y)| (y - mean_y - slope * (x - mean_x)).powi(2)).sum();
    let error = (residual / freedom / across).sqrt();
    Some((slope, student(freedom).inverse_cdf(RULED_OUT_AT).mul_add(error, slope)))
}

/// True if goodput at `point` is well below the peak.
fn fell(points: &[Point], point: &Point) -> bool {
    point.goodput_per_s() < FALLEN_SHARE * peak(points)
}

/// True if `point` gained less than `gain` per doubling over the best at loads smaller by so many doublings, or, where the
/// sweep does not go down that far, over the smallest load.
fn gains_less(points: &[Point], point: &Point, doublings: i32, gain: f64) -> bool {
    let smaller = (point.load / 2f64.powi(doublings)).max(points[0].load);
    if smaller >= point.load {
        return false;
    }
    let before = points.iter().filter(|p| p.load <= smaller).map(Point::goodput_per_s).fold(0.0, f64::max);
    point.goodput_per_s() <= before * gain.powf((point.load / smaller).log2())
}

#[cfg(test)]
mod tests {
    use super::super::point::Outcome;
    use super::*;

    fn points(loads: &[(f64, &[f64])]) -> Vec<Point> {
        let outcome = |per_s: &f64| Outcome { goodput_per_s: *per_s, offered_per_s: None, good_share: 1.0 };
        loads.iter().map(|(load, all)| Point { load: *load, outcomes: all.iter().map(outcome).collect() }).collect()
    }

    /// A sweep up to 128 ended at 2 connections: the first had done 101,455/s once, and 13,348/s when it was too late.
    #[test]
    fn a_load_that_did_much_more_once_is_no_peak_to_fall_from() {
        let handful = points(&[(1.0, &[101_455.0]), (2.0, &[27_042.0])]);
        assert_eq!(rise(&handful, 5), Rise::GoesOn);
        let mut later = points(&[
            (1.0, &[101_455.0]),
            (2.0, &[27_042.0]),
            (4.0, &[40_000.0]),
            (8.0, &[60_000.0]),
            (16.0, &[80_000.0]),
        ]);
        let once_more = |goodput_per_s| Outcome { goodput_per_s, offered_per_s: None, good_share: 1.0 };
        assert_eq!(rise(&later, 5), Rise::Doubtful(1.0));
        later[0].outcomes.push(once_more(13_348.0));
        assert_eq!(rise(&later, 5), Rise::GoesOn);
    }

    #[test]
    fn a_plateau_is_believed_where_its_repeats_rule_growth_out() {
        let steady = points(&[
            (1.0, &[100.0]),
            (2.0, &[170.0]),
            (4.0, &[172.0, 171.0]),
            (8.0, &[173.0, 171.0]),
            (16.0, &[171.0, 172.0]),
        ]);
        assert_eq!(rise(&steady, 5), Rise::Ended(RiseEnd::Flat));
        let mut noisy = steady;
        (noisy[4].outcomes[1].goodput_per_s, noisy[2].outcomes[1].goodput_per_s) = (290.0, 300.0);
        assert_eq!(rise(&noisy, 5), Rise::GoesOn);
    }

    #[test]
    fn a_fall_is_one_when_no_measurement_of_two_loads_reaches_the_peak() {
        let fallen = |next: &[f64], last: &[f64]| {
            let rising = [(1.0, &[100.0][..]), (2.0, &[190.0]), (4.0, &[400.0, 390.0])];
            rise(&points(&[&rising[..], &[(8.0, next), (16.0, last)]].concat()), 5)
        };
        assert_eq!(fallen(&[300.0], &[200.0]), Rise::Doubtful(8.0));
        assert_eq!(fallen(&[300.0, 310.0], &[200.0]), Rise::Doubtful(16.0));
        assert_eq!(fallen(&[300.0, 310.0], &[200.0, 210.0]), Rise::Ended(RiseEnd::Fell));
        assert_eq!(fallen(&[300.0, 310.0], &[200.0, 450.0]), Rise::GoesOn);
        assert_eq!(fallen(&[300.0, 310.0], &[800.0]), Rise::GoesOn);
    }

    #[test]
    fn two_loads_of_which_nothing_is_good_end_it_before_a_handful() {
        let broken = points(&[(1.0, &[100.0, 101.0]), (2.0, &[0.0, 0.0]), (4.0, &[0.0, 0.0])]);
        assert_eq!(rise(&broken, 5), Rise::Ended(RiseEnd::Fell));
        assert_eq!(rise(&points(&[(1.0, &[0.0]), (2.0, &[0.0])]), 5), Rise::Doubtful(1.0));
    }
}
