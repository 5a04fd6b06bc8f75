//! Operating points: where on the curves of sweeps the knee is with its interval, the peak, and the fixed load of comparisons.
//!
//! Between measured loads a curve is straight over the logarithm of the load. Nothing is drawn beyond what was measured.

use crate::Named;
use crate::bounds::response_quantile;
use crate::record::AnyRecord;
use crate::words::arms::Arm;
use model::{CompareLoad, PointSummary, Quantile, RunRecord};

/// One load of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place {
    /// Connections, or requests per second.
    pub(crate) load: f64,
    pub(crate) goodput_per_s: f64,
    /// p99 of the response time; none where too few requests are behind it. ns
    pub(crate) p99_ns: Option<f64>,
}

/// A curve with what is marked on it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Marked {
    /// What was measured, by rising load.
    pub(crate) places: Vec<Place>,
    pub(crate) peak: Option<Place>,
    pub(crate) knee: Option<Place>,
    /// The part of the curve that the interval of the knee covers, as far as it was measured; empty without an interval.
    pub(crate) knee_range: Vec<Place>,
}

/// The fixed load of a comparison, and what its variants did there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FixedLoad {
    /// Offered rate; per second.
    pub(crate) rate_per_s: f64,
    /// Name of the variant, and what was measured of it in all blocks.
    pub(crate) arms: Vec<(String, Place)>,
}

impl Marked {
    pub(crate) fn of(arm: &Arm<'_>) -> Self {
        let record = arm.record;
        let place = |(at, point): (usize, &PointSummary)| Place {
            load: point.load,
            goodput_per_s: point.goodput_per_s,
            p99_ns: record.points.get(at).and_then(|run| told_p99(run, point.response_p99_ns)),
        };
        let drawn = record.curve.iter().enumerate().filter(|(_, point)| point.load > 0.0);
        let mut places: Vec<Place> = drawn.map(place).collect();
        places.sort_by(|a, b| a.load.total_cmp(&b.load));
        let knee = record.knee.filter(|knee| knee.load > 0.0);
        let ends = knee.and_then(|knee| knee.low.zip(knee.high));
        Self {
            peak: record.peak.and_then(|peak| at(&places, peak.load)),
            knee: knee.and_then(|knee| at(&places, knee.load)),
            knee_range: ends.map_or_else(Vec::new, |(low, high)| between(&places, low, high)),
            places,
        }
    }
}

/// The fixed loads of the comparisons among results.
pub(crate) fn fixed_loads(results: &[Named<'_>]) -> Vec<FixedLoad> {
    let of = |named: &Named<'_>| {
        let AnyRecord::Compare(record) = named.record else { return None };
        let plan = record.plan.as_ref().filter(|plan| plan.loads.contains(&CompareLoad::Fixed))?;
        let rate_per_s = Some(plan.rate_per_s).filter(|rate| *rate > 0.0)?;
        let runs = record.runs.iter().filter(|of| of.load == CompareLoad::Fixed);
        let place = |run: &RunRecord| Place {
            load: rate_per_s,
            goodput_per_s: run.goodput_per_s.value,
            p99_ns: told_p99(run, run.latency_ns.response.p99),
        };
        Some(FixedLoad { rate_per_s, arms: runs.map(|of| (of.arm.clone(), place(&of.run))).collect() })
    };
    results.iter().filter_map(of).collect()
}

/// A p99 that may be told.
fn told_p99(run: &RunRecord, ns: u64) -> Option<f64> {
    response_quantile(&run.verdict, Quantile::P99, ns).map(|known| known.value)
}

/// The curve at `load`; none outside of what was measured.
fn at(places: &[Place], load: f64) -> Option<Place> {
    if let Some(measured) = places.iter().find(|place| place.load == load) {
        return Some(*measured);
    }
    let above = places.iter().position(|place| place.load > load).filter(|above| *above > 0)?;
    let (from, to) = (places[above - 1], places[above]);
    let share = (load / from.load).ln() / (to.load / from.load).ln();
    let mean = |a: f64, b: f64| a + share * (b - a);
    Some(Place {
        load,
        goodput_per_s: mean(from.goodput_per_s, to.goodput_per_s),
        p99_ns: from.p99_ns.zip(to.p99_ns).map(|(a, b)| mean(a.ln(), b.ln()).exp()),
    })
}

/// The part of the curve from `low` to `high`, cut off where nothing was measured.
fn between(places: &[Place], low: f64, high: f64) -> Vec<Place> {
    let ends = places.first().zip(places.last());
    let Some((low, high)) = ends.map(|(first, last)| (low.max(first.load), high.min(last.load))) else {
        return Vec::new();
    };
    let inside = places.iter().filter(|place| place.load > low && place.load < high).copied();
    let begin = at(places, low).filter(|_| low < high);
    let Some((begin, end)) = begin.zip(at(places, high)) else { return Vec::new() };
    std::iter::once(begin).chain(inside).chain([end]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(load: f64, goodput_per_s: f64, p99_ns: f64) -> Place {
        Place { load, goodput_per_s, p99_ns: Some(p99_ns) }
    }

    #[test]
    fn between_loads_the_curve_is_straight_over_the_logarithm_and_nowhere_else_drawn() {
        let places = [place(1.0, 100.0, 1e6), place(4.0, 300.0, 4e6), place(16.0, 300.0, 16e6)];
        let middle = at(&places, 2.0).unwrap();
        assert!(
            (middle.goodput_per_s - 200.0).abs() < 1e-9 && (middle.p99_ns.unwrap() - 2e6).abs() < 1.0,
            "{middle:?}"
        );
        assert_eq!(at(&places, 4.0), Some(places[1]));
        assert_eq!((at(&places, 0.5), at(&places, 17.0)), (None, None), "it was not measured");
        let unknown = [place(1.0, 100.0, 1e6), Place { p99_ns: None, ..places[1] }];
        assert_eq!(at(&unknown, 2.0).unwrap().p99_ns, None);
    }

    #[test]
    fn an_interval_is_cut_off_where_nothing_was_measured() {
        let places = [place(1.0, 100.0, 1e6), place(4.0, 300.0, 4e6), place(16.0, 300.0, 16e6)];
        let loads = |low, high| between(&places, low, high).iter().map(|place| place.load).collect::<Vec<_>>();
        assert_eq!(loads(2.0, 8.0), [2.0, 4.0, 8.0]);
        assert_eq!(loads(0.1, 100.0), [1.0, 4.0, 16.0]);
        assert_eq!((loads(20.0, 30.0), loads(f64::NAN, 3.0)), (vec![], vec![1.0, 3.0]));
        assert!(between(&[], 1.0, 2.0).is_empty());
    }
}
