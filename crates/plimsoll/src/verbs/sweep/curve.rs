//! From measured points to the record of a sweep: fits and verdict.

use crate::store::storable;
use judge::Carriers;
use judge::limiter::{Context, limiter_of_sweep};
use model::{
    Capacity, Environment, Evidence, FORMAT_SWEEP, Knee, Limiter, PointSummary, PoolFit, RestsOn, SweepEvidence,
    SweepPoint, SweepRecord,
};
use stats::{Gather, LoadPoint, SweepSettings, fit_pool, fit_rate};

/// One load and everything measured at it.
pub(super) struct Point {
    /// Connections, or requests per second.
    pub(super) load: f64,
    /// All iterations merged.
    pub(super) gather: Gather,
}

/// Judges the points and puts everything together.
pub(super) fn record(
    points: &[Point],
    search: &SweepSettings,
    environment: &Environment,
    started: String,
    limits: &Context,
) -> SweepRecord {
    let mut points: Vec<&Point> = points.iter().collect();
    points.sort_by(|a, b| a.load.total_cmp(&b.load));
    let evidence = SweepEvidence {
        points: points.iter().map(|point| sweep_point(point, environment)).collect(),
        limit: search.to,
        over_rate: search.over_rate,
    };
    let records: Vec<_> = points
        .iter()
        .zip(&evidence.points)
        .map(|(point, known)| {
            let verdict = judge::judge_run(&known.evidence);
            let goodput = point.gather.goodput();
            report::record::run_record(&known.evidence, verdict, goodput, environment.clone(), started.clone())
        })
        .collect();
    let curve: Vec<_> = points
        .iter()
        .zip(&records)
        .map(|(point, record)| PointSummary {
            disturbed: judge::is_disturbed(record.disturbance.as_ref()),
            ..report::record::point_summary(point.load, point.gather.iterations_per_s(), record)
        })
        .collect();
    let saturated = judge::saturated(&evidence);
    let (knee, fit) = fits(&evidence, saturated);
    let peak = report::record::peak(&curve);
    let limiter = limiter_of_sweep(&evidence, limits);
    SweepRecord {
        rests_on: rests_on(&evidence, limiter.as_ref()),
        format: FORMAT_SWEEP.into(),
        arm: None,
        verdict: judge::judge_sweep(&evidence),
        over: if search.over_rate { "rate" } else { "connections" }.into(),
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
        profile: None,
        profile_unavailable: None,
        environment: environment.clone(),
        started,
        interrupted: false,
    }
}

fn sweep_point(point: &Point, environment: &Environment) -> SweepPoint {
    let mut evidence: Evidence = point.gather.evidence();
    evidence.fingerprint.clone_from(&environment.fingerprint);
    evidence.plan = storable(&evidence.plan);
    evidence.changes.clone_from(&environment.changes);
    let iterations_per_s = point.gather.iterations_per_s();
    let goodput_per_s = iterations_per_s.iter().sum::<f64>() / iterations_per_s.len().max(1) as f64;
    SweepPoint { load: point.load, goodput_per_s, iterations_per_s, evidence }
}

/// The loads that the answers rest on.
fn rests_on(evidence: &SweepEvidence, limiter: Option<&Limiter>) -> RestsOn {
    let loads = |at: &[usize]| at.iter().map(|i| evidence.points[*i].load).collect();
    let carriers = Carriers::of(evidence).unwrap_or_default();
    let limiter = limiter.and_then(|limiter| limiter.load).into_iter().collect();
    RestsOn { peak: loads(&carriers.peak), knee: loads(&carriers.knee), limiter }
}

/// Fewer points give no fit.
const FIT_POINTS_MIN: usize = 4;

/// The points that a curve is fitted to: those that stayed disturbed only where there are too few others.
fn fitted(evidence: &SweepEvidence) -> Vec<LoadPoint> {
    let point = |p: &SweepPoint| LoadPoint { load: p.load, goodput_per_s: p.goodput_per_s };
    let clean = evidence.points.iter().filter(|p| !judge::is_disturbed(p.evidence.disturbance.as_ref()));
    let clean: Vec<LoadPoint> = clean.map(point).collect();
    if clean.len() >= FIT_POINTS_MIN { clean } else { evidence.points.iter().map(point).collect() }
}

/// The knee, as far as the sweep has seen it.
fn fits(evidence: &SweepEvidence, saturated: bool) -> (Option<Knee>, Option<PoolFit>) {
    let curve = fitted(evidence);
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
