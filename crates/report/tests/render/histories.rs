//! Histories of fixed records: thirty runs of which the last twelve are slower, and some that do not belong to them.

use crate::fixtures::{invalid_run, valid_run};
use model::{HistoryRecord, HistorySettings, LeftOut, RunRecord};
use report::Named;
use report::history::{HistoryEntry, entries, history};
use report::record::AnyRecord;

/// Runs of the series, and the first of the new level, from 0.
pub(crate) const RUNS: usize = 30;
pub(crate) const CHANGE_AT: usize = 18;
pub(crate) const SETTINGS: HistorySettings =
    HistorySettings { false_alarms: 0.01, change_min: 0.01, with_bounds: false, by_canary: true, seed: 1 };

pub(crate) fn changed_history() -> HistoryRecord {
    let mut all: Vec<HistoryEntry> = (0..RUNS).flat_map(|day| kept(day, &run_of(day))).collect();
    all.extend(kept(40, &invalid_run()));
    let unread = LeftOut { name: "plimsoll-runs/empty".into(), why: "not a run directory (no run.json in it)".into() };
    history(all, SETTINGS, vec![unread])
}

/// A run whose goodput is 8 % lower and CPU time per request 10 % higher from [`CHANGE_AT`] on, and whose p99 only wobbles.
pub(crate) fn run_of(day: usize) -> RunRecord {
    let mut run = valid_run();
    let wobble = [0.0, 0.004, -0.003, 0.002, -0.005, 0.001, -0.002][day % 7];
    let is_after = day >= CHANGE_AT;
    let goodput = if is_after { 0.92 } else { 1.0 } * (1.0 + wobble);
    run.goodput_per_s.value *= goodput;
    run.latency_ns.response.p99 = (run.latency_ns.response.p99 as f64 * (1.0 - wobble)) as u64;
    if let Some(cpu) = &mut run.server_cpu_ns_per_request {
        cpu.value *= if is_after { 1.1 } else { 1.0 } * (1.0 + wobble / 2.0);
    }
    run.environment.kernel = if is_after { "Linux 6.12.9 x86_64" } else { "Linux 6.12.8 x86_64" }.to_owned();
    run.started = format!("2026-01-{:02}T03:00:00Z", day + 1);
    run
}

fn kept(day: usize, record: &RunRecord) -> Vec<HistoryEntry> {
    entries(Named { name: &format!("night-{:02}", day + 1), record: AnyRecord::Run(record) }).expect("it is a run")
}
