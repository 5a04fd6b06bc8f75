//! Records from evidence: pure conversion, no judgement.

use model::{
    Bytes, Environment, Estimate, Evidence, FORMAT_RUN, Generator, LatencyRecord, MixCount, MixRecord, NS_PER_S, Peak,
    PointSummary, Request, Requests, RunRecord, SweepRecord, Verdict,
};

/// A result of either kind.
#[derive(Clone, Copy, Debug)]
pub enum AnyRecord<'a> {
    /// One load.
    Run(&'a RunRecord),
    /// Rising load.
    Sweep(&'a SweepRecord),
}

/// The record of one measured load. `started` is RFC 3339, UTC.
#[must_use]
pub fn run_record(
    evidence: &Evidence,
    verdict: Verdict,
    goodput: Estimate,
    environment: Environment,
    started: String,
) -> RunRecord {
    let (flow, cohort, latency) = (&evidence.flow, &evidence.cohort, &evidence.latency);
    RunRecord {
        format: FORMAT_RUN.to_owned(),
        verdict,
        goodput_per_s: goodput,
        throughput_per_s: ratio(flow.completed as f64 * NS_PER_S as f64, evidence.measured_ns as f64),
        requests: Requests {
            planned: cohort.planned,
            sent: cohort.sent,
            completed: cohort.completed,
            good: cohort.good,
            censored: cohort.censored,
            body_checked: cohort.body_checked,
            status: cohort.status.clone(),
            failures: cohort.failures.clone(),
            mix: mix(evidence),
        },
        connections: evidence.connections,
        tls: evidence.tls.clone(),
        latency_ns: LatencyRecord {
            response: latency.response.into(),
            service: latency.service.into(),
            slip_client: latency.slip_client.into(),
            slip_blocked: latency.slip_blocked.into(),
            handshake: latency.handshake.into(),
        },
        bytes: Bytes { received: flow.bytes_received, sent: flow.bytes_sent },
        generator: generator(evidence),
        seconds: evidence.seconds.clone(),
        probe: evidence.probe.clone(),
        plan: evidence.plan.clone(),
        environment,
        started,
        measured_ns: evidence.measured_ns,
        iterations: evidence.iterations,
        interrupted: evidence.interrupted,
    }
}

/// One point of a sweep's curve from its merged record and the goodput of each of its iterations, per second.
/// `load` is connections or requests per second.
#[must_use]
pub fn point_summary(load: f64, iterations_per_s: Vec<f64>, record: &RunRecord) -> PointSummary {
    let requests = &record.requests;
    let failed: u64 = requests.failures.values().sum();
    let attempted = requests.planned.max(requests.good + failed);
    PointSummary {
        load,
        goodput_per_s: ratio(iterations_per_s.iter().sum(), iterations_per_s.len() as f64),
        iterations_per_s,
        response_p50_ns: record.latency_ns.response.p50,
        response_p99_ns: record.latency_ns.response.p99,
        failed_share: ratio(failed as f64, attempted as f64),
        generator_busy_max: record.generator.busy_max,
    }
}

/// The peak of a curve, as [`stats::peak_index`] defines it: the least load within 1 % of the highest goodput, with its
/// own goodput. None for an empty curve.
#[must_use]
pub fn peak(curve: &[PointSummary]) -> Option<Peak> {
    let goodput: Vec<_> = curve.iter().map(|point| point.goodput_per_s).collect();
    let point = &curve[stats::peak_index(&goodput)?];
    Some(Peak { load: point.load, goodput_per_s: point.goodput_per_s })
}

fn mix(evidence: &Evidence) -> Vec<MixRecord> {
    let counted = evidence.plan.requests.iter().zip(&evidence.cohort.mix);
    let record = |(request, count): (&Request, &MixCount)| MixRecord {
        method: request.method.clone(),
        path: request.path.clone(),
        weight: request.weight,
        completed: count.completed,
        good: count.good,
        response_mean_ns: count.response_ns / count.completed.max(1),
    };
    counted.map(record).collect()
}

fn generator(evidence: &Evidence) -> Generator {
    let cpu_ns: u64 = evidence.threads.iter().map(|thread| thread.cpu_ns).sum();
    Generator {
        threads: evidence.threads.len() as u32,
        cpu_ns_per_request: ratio(cpu_ns as f64, evidence.flow.completed as f64),
        busy_max: evidence.threads.iter().map(|thread| thread.busy_max).fold(0.0, f64::max),
    }
}

/// `a / b`, and 0 where there is nothing to divide by.
fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(load: f64, goodput_per_s: f64) -> PointSummary {
        PointSummary {
            load,
            goodput_per_s,
            iterations_per_s: vec![goodput_per_s],
            response_p50_ns: 0,
            response_p99_ns: 0,
            failed_share: 0.0,
            generator_busy_max: 0.0,
        }
    }

    #[test]
    fn the_peak_is_where_the_plateau_begins_with_its_own_goodput() {
        let found = peak(&[point(1.0, 100.0), point(2.0, 199.0), point(4.0, 200.0), point(8.0, 190.0)]);
        assert_eq!(found, Some(Peak { load: 2.0, goodput_per_s: 199.0 }));
        assert_eq!(peak(&[]), None);
    }

    #[test]
    fn nothing_measured_is_zero_not_a_missing_number() {
        assert_eq!((ratio(1.0, 0.0), ratio(3.0, 2.0)), (0.0, 1.5));
    }
}
