//! From measured points to the record of a sweep: fits and verdict.

use super::Facts;
use evidence::EvidenceBuilder;
use judge::Carriers;
use judge::limiter::limiter_of_sweep;
use model::{
    Capacity, FORMAT_SWEEP, Knee, Limiter, Measurement, PointSummary, PoolFit, RestsOn, SweepEvidence, SweepPoint,
    SweepRecord,
};
use stats::{fit_pool, fit_rate};

/// One load and everything measured at it.
pub(crate) struct Point {
    /// Connections, or requests per second.
    pub(crate) load: f64,
    /// All iterations merged.
    pub(crate) builder: EvidenceBuilder,
}

/// Takes a measurement in: as a point of its own, or as one more iteration of one there is.
pub(crate) fn keep(points: &mut Vec<Point>, load: f64, builder: EvidenceBuilder) {
    match points.iter_mut().find(|point| point.load == load) {
        None => points.push(Point { load, builder }),
        Some(point) => point.builder.merge(&builder),
    }
}

/// Judges the points, in whatever order they were measured, and puts everything together.
pub(crate) fn sweep_record(facts: &Facts, points: &[Point]) -> SweepRecord {
    let (limit, over_rate, arm) = match &facts.begun.measurement {
        Measurement::Sweep { limit, over_rate, arm } => (*limit, *over_rate, arm.clone()),
        Measurement::Run { .. } => (0.0, false, None),
    };
    let environment = facts.environment();
    let mut points: Vec<&Point> = points.iter().collect();
    points.sort_by(|a, b| a.load.total_cmp(&b.load));
    let evidence =
        SweepEvidence { points: points.iter().map(|point| sweep_point(point, facts)).collect(), limit, over_rate };
    let records: Vec<_> = points
        .iter()
        .zip(&evidence.points)
        .map(|(point, known)| {
            let verdict = judge::judge_run(&known.evidence);
            let (goodput, started) = (point.builder.goodput(), facts.begun.started.clone());
            report::record::run_record(&known.evidence, verdict, goodput, environment.clone(), started)
        })
        .collect();
    let curve: Vec<_> = points
        .iter()
        .zip(&records)
        .map(|(point, record)| PointSummary {
            disturbed: judge::is_disturbed(record.disturbance.as_ref()),
            ..report::record::point_summary(point.load, point.builder.iterations_per_s(), record)
        })
        .collect();
    let saturated = judge::saturated(&evidence);
    let (knee, fit) = fits(&evidence, saturated);
    let peak = report::record::peak(&curve);
    let limiter = limiter_of_sweep(&evidence, &facts.begun.limits).map(|limiter| facts.confirmed(limiter));
    SweepRecord {
        rests_on: rests_on(&evidence, limiter.as_ref()),
        format: FORMAT_SWEEP.into(),
        arm,
        verdict: judge::judge_sweep(&evidence),
        over: if over_rate { "rate" } else { "connections" }.into(),
        capacity: peak.map(|peak| Capacity {
            value: peak.goodput_per_s,
            low: Some(peak.goodput_per_s),
            high: None,
            n: curve.len() as u64,
            reason: if saturated {
                "goodput at the peak; no goal was given, so no load counts as failed".into()
            } else {
                "goodput at the peak; saturation was not reached, the server may hold more".into()
            },
        }),
        points: records,
        curve,
        knee,
        peak,
        fit,
        saturated,
        limiter,
        profile: facts.profiled.clone(),
        profile_unavailable: facts.profile_unavailable.clone(),
        environment,
        started: facts.begun.started.clone(),
        interrupted: facts.interrupted,
    }
}

fn sweep_point(point: &Point, facts: &Facts) -> SweepPoint {
    let (goodput_per_s, iterations_per_s) = (point.builder.goodput_per_s(), point.builder.iterations_per_s());
    SweepPoint { load: point.load, goodput_per_s, iterations_per_s, evidence: facts.evidence(&point.builder) }
}

/// The loads that the answers rest on.
fn rests_on(evidence: &SweepEvidence, limiter: Option<&Limiter>) -> RestsOn {
    let loads = |at: &[usize]| at.iter().map(|i| evidence.points[*i].load).collect();
    let carriers = Carriers::of(evidence).unwrap_or_default();
    let limiter = limiter.and_then(|limiter| limiter.load).into_iter().collect();
    RestsOn { peak: loads(&carriers.peak), knee: loads(&carriers.knee), limiter }
}

/// The knee, as far as the sweep has seen it.
fn fits(evidence: &SweepEvidence, saturated: bool) -> (Option<Knee>, Option<PoolFit>) {
    let curve = judge::fit_points(evidence);
    if !saturated {
        return (None, None);
    }
    if evidence.over_rate {
        let fit = fit_rate(&curve);
        let knee = fit.and_then(|fit| fit.knee.map(|load| Knee { load, goodput_per_s: fit.plateau_per_s }));
        return (knee, None);
    }
    match fit_pool(&curve) {
        Some(found) => {
            let knee = Knee { load: found.knee, goodput_per_s: found.fit.plateau_per_s };
            (Some(knee), Some(found.fit))
        }
        None => (None, None),
    }
}
