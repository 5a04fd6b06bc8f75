//! The JSON contract: these names may be added to, never renamed.

use crate::fixtures::{arms, bound_run, bound_sweep, invalid_run, valid_sweep};
use crate::golden::WIDE;
use model::{RunRecord, SweepRecord, SweepsRecord};
use report::terminal;
use serde_json::Value;

/// Paths of a run's object; `.0` is the first of a list.
const RUN: &[&str] = &[
    "format",
    "verdict.state",
    "verdict.findings.0.rule",
    "verdict.findings.0.state",
    "verdict.findings.0.message",
    "verdict.findings.0.remedy",
    "verdict.findings.0.evidence",
    "verdict.unchecked",
    "goodput_per_s.value",
    "goodput_per_s.low",
    "goodput_per_s.high",
    "goodput_per_s.n",
    "throughput_per_s",
    "requests.planned",
    "requests.sent",
    "requests.completed",
    "requests.good",
    "requests.status.200",
    "requests.failures.connect_refused",
    "connections.requested",
    "connections.established",
    "connections.opened",
    "connections.reconnects",
    "bytes.received",
    "bytes.sent",
    "generator.threads",
    "generator.cpu_ns_per_request",
    "generator.busy_max",
    "observed.machine.busy_mean",
    "observed.machine.busy_max",
    "observed.machine.steal_mean",
    "observed.machine.cpu_busy_mean",
    "observed.server.cpu_cores",
    "observed.server.cpu_ns_per_request",
    "observed.server.rss_bytes_max",
    "observed.server.processes.0.name",
    "observed.server.processes.0.count",
    "observed.server.processes.0.cpu_cores",
    "observed.server.processes.0.cpu_ns_per_request",
    "observed.server.processes.0.rss_bytes_max",
    "observed.server.ended_unaccounted",
    "observed.server.ended.php-fpm",
    "observed.generator.cpu_cores",
    "observed.generator.threads.0.wait_mean",
    "observed.sockets.server.established",
    "observed.sockets.client.established",
    "observed.sockets.accept_queue_max",
    "observed.seconds.0.machine_cores",
    "observed.seconds.0.server_cores",
    "observed.seconds.0.generator_cores",
    "observed.series.0.figure",
    "observed.series.0.of",
    "observed.series.0.values",
    "observed.unavailable",
    "observed.machine.cpu_shares.0.user",
    "observed.machine.accounted_share",
    "observed.server.processes.0.vms_bytes_max",
    "observed.server.processes.0.pss_bytes_max",
    "observed.server.processes.0.fds_max",
    "observed.server.processes.0.fds_limit",
    "observed.server.threads.0.user_mean",
    "observed.server.threads.0.wait_mean",
    "observed.server.threads.0.voluntary_switches_per_s",
    "observed.server.threads_seen",
    "observed.sockets.accept_backlog",
    "observed.sockets.accept_fullest_max",
    "observed.companions.mariadbd.cpu_cores",
    "observed.others.processes.0.cpu_cores",
    "observed.counters.tcp.RetransSegs",
    "observed.gauges.sockstat.tcp_time_wait.max",
    "observed.sampler.cpu_ns_per_look",
    "observed.sampler.cpu_share",
    "environment.fingerprint.facts.cpu.cores",
    "environment.fingerprint.unavailable.iommu",
    "environment.changes.0.section",
    "environment.check.0.rule",
    "environment.check.0.remedy",
    "plan",
    "environment",
    "started",
    "measured_ns",
];

const SWEEP: &[&str] = &[
    "format",
    "points.0.goodput_per_s.value",
    "knee.load",
    "knee.low",
    "knee.high",
    "plateau.value",
    "plateau.low",
    "plateau.high",
    "retrograde.from_load",
    "retrograde.load",
    "retrograde.loss",
    "retrograde.low",
    "retrograde.high",
    "model",
    "aicc.pool",
    "aicc.usl",
    "peak.load",
    "capacity",
    "limiter.name",
    "limiter.resource",
    "limiter.says",
    "limiter.confidence",
    "limiter.evidence.occupancy",
    "limiter.ceiling_per_s",
    "limiter.next.ceiling_per_s",
    "limiter.prediction.setting",
    "limiter.prediction.expected_per_s",
    "limiter.utilisations.0.ceiling_per_s",
    "limiter.unchecked.0",
    "limiter.load",
    "limiter.confirmation.ratio.low",
    "limiter.confirmation.outcome",
    "verdict.state",
    "verdict.findings",
    "verdict.unchecked",
];

#[test]
fn a_run_has_every_name_of_the_contract() {
    let text = report::json::run(&invalid_run());
    assert!(text.ends_with("}\n"));
    let json: Value = serde_json::from_str(&text).expect("JSON");
    for path in RUN {
        assert!(at(&json, path).is_some(), "{path}");
    }
    for latency in ["response", "service", "slip_client", "slip_blocked"] {
        for figure in ["mean", "p50", "p90", "p99", "p99_9", "max"] {
            assert!(json["latency_ns"][latency][figure].is_number(), "{latency}.{figure}");
        }
    }
    assert_eq!((&json["format"], &json["verdict"]["state"]), (&"plimsoll.run/1".into(), &"invalid".into()));
    assert!(json["goodput_per_s"]["low"].is_null());
}

#[test]
fn a_sweep_has_every_name_of_the_contract() {
    let json: Value = serde_json::from_str(&report::json::sweep(&valid_sweep())).expect("JSON");
    for path in SWEEP {
        assert!(at(&json, path).is_some(), "{path}");
    }
    assert_eq!(json["format"], "plimsoll.sweep/1");
    let json: Value = serde_json::from_str(&report::json::sweep(&bound_sweep())).expect("JSON");
    assert!(json["knee"].is_null() && json["capacity"]["low"].is_number());
}

#[test]
fn several_sweeps_have_every_name_of_the_contract() {
    let json: Value = serde_json::from_str(&report::json::sweeps(&arms())).expect("JSON");
    for path in ["format", "verdict.state", "verdict.findings", "verdict.unchecked", "started", "interrupted"] {
        assert!(at(&json, path).is_some(), "{path}");
    }
    for path in SWEEP {
        assert!(at(&json, &format!("sweeps.0.{path}")).is_some(), "{path}");
    }
    assert_eq!((&json["format"], &json["sweeps"][1]["arm"]), (&"plimsoll.sweeps/1".into(), &"apache mpm=event".into()));
    assert_eq!(json["verdict"], serde_json::json!({"state": "bound", "findings": [], "unchecked": ["ST-01"]}));
    assert_eq!(json["started"], "2026-01-02T03:04:05Z");
    // A sweep by itself has no arm, and none from before there were any.
    assert!(!report::json::sweep(&valid_sweep()).contains("\"arm\""));
}

#[test]
fn what_is_written_reads_back() {
    let run: RunRecord = serde_json::from_str(&report::json::run(&bound_run())).expect("a run");
    assert_eq!(run, bound_run());
    let sweep: SweepRecord = serde_json::from_str(&report::json::sweep(&bound_sweep())).expect("a sweep");
    assert_eq!(sweep, bound_sweep());
    let sweeps: SweepsRecord = serde_json::from_str(&report::json::sweeps(&arms())).expect("several sweeps");
    assert_eq!(sweeps, arms());
}

#[test]
fn records_from_before_anything_was_observed_read_back() {
    let mut json: Value = serde_json::from_str(&report::json::sweep(&valid_sweep())).expect("JSON");
    let remove = |value: &mut Value, name: &str| value.as_object_mut().and_then(|object| object.remove(name)).is_some();
    for point in json["points"].as_array_mut().expect("points") {
        assert!(remove(point, "observed"));
    }
    for point in json["curve"].as_array_mut().expect("a curve") {
        assert!(remove(point, "server_cpu_cores") && remove(point, "machine_busy_mean"));
    }
    let sweep: SweepRecord = serde_json::from_value(json).expect("a sweep");
    assert!(sweep.points[0].observed.is_none() && sweep.curve[0].server_cpu_cores.is_none());
    assert_eq!(sweep.curve.len(), valid_sweep().curve.len());
}

#[test]
fn records_from_before_there_were_intervals_read_back() {
    let mut json: Value = serde_json::from_str(&report::json::sweep(&valid_sweep())).expect("JSON");
    let sweep = json.as_object_mut().expect("an object");
    for name in ["plateau", "retrograde", "model", "aicc", "usl"] {
        assert!(sweep.remove(name).is_some(), "{name}");
    }
    for (of, name) in [("knee", "low"), ("knee", "high"), ("peak", "goodput_low_per_s"), ("peak", "goodput_high_per_s")]
    {
        assert!(sweep[of].as_object_mut().and_then(|object| object.remove(name)).is_some(), "{of}.{name}");
    }
    let old: SweepRecord = serde_json::from_value(json).expect("a sweep");
    assert_eq!(old.knee.map(|knee| (knee.load, knee.low)), Some((4.2, None)));
    let text = terminal::sweep(&old, &WIDE);
    assert!(
        text.contains("\nknee         4.2 connections; beyond it, more load only adds queueing delay\nin short"),
        "{text}"
    );
}

/// The value at a path; an underscore stands for the dot inside a failure's name.
fn at<'a>(json: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(json, |value, name| match name.parse::<usize>() {
        Ok(index) if value.is_array() => value.get(index),
        _ => value.get(name).or_else(|| value.get(name.replace('_', "."))),
    })
}

#[test]
fn a_record_is_computed_from_what_passed_by() {
    let run = bound_run();
    assert_eq!(run.throughput_per_s, 6_000.0); // 60,000 responses in 10 s
    assert_eq!(run.generator.cpu_ns_per_request, 500_000.0); // two threads, 15 s of CPU each
    assert_eq!((run.generator.threads, run.generator.busy_max), (2, 0.97));
    let sweep = valid_sweep();
    let last = sweep.curve.last().expect("eleven points");
    assert!((last.failed_share - 640.0 / 89_920.0).abs() < 1e-9, "{}", last.failed_share);
    assert_eq!(sweep.peak.map(|peak| peak.load), Some(4.0));
}
