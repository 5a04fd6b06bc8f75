//! From measured points to the record of a sweep: fits and verdict.

use super::Facts;
use evidence::EvidenceBuilder;
use judge::Carriers;
use judge::limiter::limiter_of_sweep;
use model::{
    Capacity, FORMAT_SWEEP, Limiter, MeasurementKind, Peak, PointSummary, RestsOn, SweepEvidence, SweepPoint,
    SweepRecord, SweepsRecord,
};
use report::record::AnyRecord;
use stats::{CurveShape, LoadRepeats, curve_shape, goodput_interval};

/// One load and everything measured at it.
#[derive(Clone)]
pub(super) struct Point {
    /// Connections, or requests per second.
    pub(super) load: f64,
    /// All iterations merged.
    pub(super) builder: EvidenceBuilder,
}

/// Takes a measurement in: as a point of its own, or as one more iteration of one there is.
pub(super) fn keep(points: &mut Vec<Point>, load: f64, builder: EvidenceBuilder) {
    match points.iter_mut().find(|point| point.load == load) {
        None => points.push(Point { load, builder }),
        Some(point) => point.builder.merge(&builder),
    }
}

/// Why the highest goodput is no capacity.
const fn why_no_more_is_known(is_saturated: bool) -> &'static str {
    match is_saturated {
        true => "goodput at the peak; no goal was given, so no load counts as failed",
        false => "goodput at the peak; saturation was not reached, the server may hold more",
    }
}

/// Judges the points, in whatever order they were measured, and puts everything together.
pub(super) fn sweep_record(facts: &Facts, points: &[Point]) -> SweepRecord {
    let (limit, over_rate, arm) = match &facts.begun.measurement {
        MeasurementKind::Sweep { limit, over_rate, arm, .. } => (*limit, *over_rate, arm.clone()),
        MeasurementKind::Run { .. } | MeasurementKind::Capacity { .. } | MeasurementKind::Compare { .. } => {
            (0.0, false, None)
        }
    };
    let environment = facts.environment();
    let mut points: Vec<&Point> = points.iter().collect();
    points.sort_by(|a, b| a.load.total_cmp(&b.load));
    let evidence =
        SweepEvidence { points: points.iter().map(|point| sweep_point(point, facts)).collect(), limit, over_rate };
    let records: Vec<_> = points
        .iter()
        .zip(&evidence.points)
        .map(|(point, known)| facts.load_record(&known.evidence, &point.builder))
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
    let repeats = judge::fit_repeats(&evidence);
    // Knee, plateau and fall, as far as the sweep has seen them.
    let shape = if saturated { curve_shape(&repeats, over_rate) } else { CurveShape::default() };
    let peak = report::record::peak(&curve).map(|peak| with_interval(peak, &repeats));
    let limiter = limiter_of_sweep(&evidence, &facts.begun.limits).map(|limiter| facts.confirmed(limiter));
    let verdict = judge::beside_limiter(judge::judge_sweep(&evidence), limiter.as_ref());
    let record = SweepRecord {
        thresholds: Vec::new(),
        rests_on: rests_on(&evidence, limiter.as_ref()),
        format: FORMAT_SWEEP.into(),
        arm,
        verdict,
        over: if over_rate { "rate" } else { "connections" }.into(),
        capacity: peak.map(|peak| Capacity {
            value: peak.goodput_per_s,
            low: Some(peak.goodput_per_s),
            high: None,
            n: curve.len() as u64,
            reason: why_no_more_is_known(saturated).into(),
        }),
        sent_in_all: facts.sent_in_all(points.iter().map(|point| &point.builder)),
        points: records,
        curve,
        knee: shape.knee,
        peak,
        plateau: shape.plateau,
        plateau_range_per_s: shape.plateau_range_per_s,
        retrograde: shape.retrograde,
        model: shape.model,
        aicc: shape.aicc,
        fit: shape.pool,
        usl: shape.usl,
        saturated,
        limit: (limit > 0.0).then_some(limit),
        rise_end: facts.rise_end,
        limiter,
        profile: facts.profiled.clone(),
        profile_unavailable: facts.profile_unavailable.clone(),
        environment,
        started: facts.begun.started.clone(),
        interrupted: facts.interrupted,
        agent_lost: facts.agent_lost.clone(),
    };
    let thresholds = facts.asked.judge(AnyRecord::Sweep(&record));
    SweepRecord { thresholds, ..record }
}

/// The record of several servers, from their labels and sweeps, of which there were to be so many. It is that of an
/// interrupted measurement also where each sweep in it has ended.
pub(crate) fn sweeps_record(arms: Vec<(String, SweepRecord)>, planned: u64) -> SweepsRecord {
    let are_fewer = (arms.len() as u64) < planned;
    let record = report::record::sweeps_record(arms);
    SweepsRecord { interrupted: record.interrupted || are_fewer, ..record }
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

/// The peak with the interval of its goodput.
fn with_interval(peak: Peak, repeats: &[LoadRepeats]) -> Peak {
    let interval = goodput_interval(repeats, peak.load);
    Peak {
        goodput_low_per_s: interval.map(|(low, _)| low * peak.goodput_per_s),
        goodput_high_per_s: interval.map(|(_, high)| high * peak.goodput_per_s),
        ..peak
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It was stored as whole, and made again from its events as interrupted.
    #[test]
    fn sweeps_that_were_cut_between_two_servers_are_interrupted() {
        let text = include_str!("../../../report/tests/stored/sweep");
        let sweep: SweepRecord = serde_json::from_str(text).expect("a sweep");
        let sweep = SweepRecord { interrupted: false, ..sweep };
        let arm = |label: &str| (label.to_owned(), sweep.clone());
        let is_interrupted = |arms: Vec<_>, planned| sweeps_record(arms, planned).interrupted;
        assert!(is_interrupted(vec![arm("nginx")], 2));
        assert!(!is_interrupted(vec![arm("nginx"), arm("apache")], 2));
        let cut = ("apache".to_owned(), SweepRecord { interrupted: true, ..sweep.clone() });
        assert!(is_interrupted(vec![arm("nginx"), cut], 2));
    }
}
