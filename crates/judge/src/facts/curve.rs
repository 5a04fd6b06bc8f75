//! Points that curves are fitted to.
//!
//! CPU time that was taken and is not set aside, as it came in pieces below the threshold, delays a load that waits for its
//! responses: below saturation the goodput of a closed loop falls by the share that client and server lost, one after the
//! other, on the plateau by what the server lost, and by nothing where a pool of waiting workers is the limit. A knee that is
//! fitted to the goodput as it is would be too high by as much.

use super::disturbed::{is_disturbed, left, stands};
use model::{Cause, LatencySummary, SweepEvidence, SweepPoint};
use stats::{LoadPoint, LoadRepeats};

/// Fewer points give no fit.
const POINTS_MIN: usize = 4;
/// A load with this share of the highest goodput is on the plateau.
const PLATEAU: f64 = 0.95;
/// More than this is not made up for: it was no small piece.
const LOST_MAX: f64 = 0.2;
const CLIENT: [Cause; 4] = [Cause::ClientSteal, Cause::ClientWait, Cause::ClientThrottled, Cause::ClientStopped];
const SERVER: [Cause; 2] = [Cause::ServerSteal, Cause::ServerQuota];

/// The loads of a sweep, each over connections with the goodput that it would have had in undisturbed time; those that stayed
/// disturbed only where there are too few others.
#[must_use]
pub fn fit_points(sweep: &SweepEvidence) -> Vec<LoadPoint> {
    let point = |it: LoadRepeats| LoadPoint { load: it.load, goodput_per_s: it.goodput_per_s };
    fit_repeats(sweep).into_iter().map(point).collect()
}

/// As [`fit_points`], each load with the goodput of its iterations as they were.
#[must_use]
pub fn fit_repeats(sweep: &SweepEvidence) -> Vec<LoadRepeats> {
    let is_clean = |point: &&SweepPoint| !is_disturbed(point.evidence.disturbance.as_ref());
    let clean: Vec<&SweepPoint> = sweep.points.iter().filter(is_clean).collect();
    let points = if clean.len() >= POINTS_MIN { clean } else { sweep.points.iter().collect() };
    let most = points.iter().map(|point| point.goodput_per_s).fold(0.0, f64::max);
    let is_full = |point: &SweepPoint| point.goodput_per_s >= PLATEAU * most;
    let is_pool = points.iter().any(|point| is_full(point) && stands(&point.evidence).is_some());
    let lost = |point: &SweepPoint| {
        let by = |causes: &[Cause]| left(&point.evidence, causes).unwrap_or(0.0);
        match (is_full(point), is_pool) {
            _ if sweep.over_rate => 0.0,
            (false, _) => by(&CLIENT) + by(&SERVER),
            (true, false) => by(&SERVER),
            (true, true) => 0.0,
        }
    };
    let service = points.first().map(|point| point.evidence.latency.service.clone()).unwrap_or_default();
    let fitted = |point: &SweepPoint| {
        let windows = point.iterations_per_s.len().max(1) as f64;
        let window_ns = point.evidence.measured_ns as f64 / windows;
        let responses = point.evidence.flow.good as f64 / windows;
        LoadRepeats {
            load: point.load,
            goodput_per_s: point.goodput_per_s / (1.0 - lost(point).min(LOST_MAX)),
            repeats_per_s: point.iterations_per_s.clone(),
            batch_share: (service.mean_ns / window_ns.max(1.0)).min(1.0),
            sampling_error: variation(&service) / responses.max(1.0).sqrt(),
        }
    };
    points.into_iter().map(fitted).collect()
}

/// Standard deviation of times as a share of their mean, by their quantiles, between which they are taken to be as many.
///
/// Of the least load: there the time is that of the server, and at higher ones that in its queue as well.
fn variation(times: &LatencySummary) -> f64 {
    let LatencySummary { min_ns, p50_ns, p90_ns, p99_ns, p99_9_ns, max_ns, .. } = *times;
    let ends = [(0.0, min_ns), (0.5, p50_ns), (0.9, p90_ns), (0.99, p99_ns), (0.999, p99_9_ns), (1.0, max_ns)];
    let ends = ends.map(|(share, ns)| (share, ns as f64));
    let sum = |of: fn(f64, f64) -> f64| -> f64 {
        ends.windows(2).map(|pair| (pair[1].0 - pair[0].0) * of(pair[0].1, pair[1].1)).sum()
    };
    let mean = sum(|a, b| (a + b) / 2.0);
    let square = sum(|a, b| (a * a + a * b + b * b) / 3.0);
    if mean > 0.0 { (square / (mean * mean) - 1.0).max(0.0).sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{clean_sweep, machine};
    use model::{Disturbance, PoolObserved};

    /// A pool of four workers of 2 ms, with so much lost by client and server at each load.
    fn sweep(client: f64, server: f64, is_pool: bool) -> SweepEvidence {
        let mut sweep = clean_sweep(&[1.0, 2.0, 3.0, 4.0, 8.0, 16.0].map(|load: f64| (load, load.min(4.0) * 500.0)));
        for point in &mut sweep.points {
            let lost = if point.load <= 3.0 { client + server } else { f64::from(!is_pool) * server };
            point.goodput_per_s *= 1.0 - lost;
            let left = [(Cause::ClientSteal, client), (Cause::ServerSteal, server)].into();
            point.evidence.disturbance = Some(Disturbance { left, ..Disturbance::default() });
            machine(&mut point.evidence).busy_mean = 0.2;
            let occupancy = if is_pool && point.load >= 4.0 { 1.0 } else { 0.5 };
            let pool = PoolObserved { workers_max: 4, occupancy, running: 0.1, ..PoolObserved::default() };
            point.evidence.observed.as_mut().expect("seen").pools = vec![pool];
        }
        sweep
    }

    fn goodputs(sweep: &SweepEvidence) -> Vec<f64> {
        fit_points(sweep).iter().map(|point| point.goodput_per_s.round()).collect()
    }

    const TRUTH: [f64; 6] = [500.0, 1000.0, 1500.0, 2000.0, 2000.0, 2000.0];

    #[test]
    fn what_small_pieces_of_taken_time_cost_a_load_is_made_up_for() {
        assert_eq!(goodputs(&sweep(0.0, 0.0, true)), TRUTH);
        assert_eq!(goodputs(&sweep(0.02, 0.02, true)), TRUTH, "a pool loses nothing on its plateau");
        assert_eq!(goodputs(&sweep(0.02, 0.02, false)), TRUTH, "a CPU does");
    }

    #[test]
    fn rates_and_what_was_not_accounted_for_stay_as_they_are() {
        let mut rates = sweep(0.02, 0.02, true);
        rates.over_rate = true;
        assert_eq!(goodputs(&rates)[..3], [480.0, 960.0, 1440.0]);
        let mut unknown = sweep(0.02, 0.02, true);
        unknown.points.iter_mut().for_each(|point| point.evidence.disturbance = None);
        assert_eq!(goodputs(&unknown)[..3], [480.0, 960.0, 1440.0]);
    }

    #[test]
    fn loads_that_stayed_disturbed_are_left_out_where_there_are_enough_others() {
        let mut some = sweep(0.0, 0.0, true);
        let left = [(Cause::ClientSteal, 0.3)].into();
        some.points[1].evidence.disturbance = Some(Disturbance { left, ..Disturbance::default() });
        assert_eq!(fit_points(&some).iter().map(|point| point.load).collect::<Vec<_>>(), [1.0, 3.0, 4.0, 8.0, 16.0]);
    }

    /// Three at a time, of which one in 20 takes 100 ms and the others 10 ms: 1,050 responses are off by 4.3 %.
    #[test]
    fn a_window_of_few_responses_knows_how_far_it_may_be_off() {
        let mut sweep = sweep(0.0, 0.0, false);
        for point in &mut sweep.points {
            let service = &mut point.evidence.latency.service;
            (service.min_ns, service.p50_ns, service.p90_ns) = (10_000_000, 10_000_000, 10_000_000);
            (service.p99_ns, service.p99_9_ns, service.max_ns) = (100_000_000, 100_000_000, 100_000_000);
            service.mean_ns = 14.5e6;
            point.evidence.measured_ns = 5_200_000_000;
            point.evidence.flow.good = 2_100;
        }
        let found = &fit_repeats(&sweep)[5];
        assert!((0.035..0.05).contains(&found.sampling_error), "{found:?}");
        assert!((found.batch_share - 14.5 / 2_600.0).abs() < 1e-6, "{found:?}");
    }
}
