//! Pages of fixed records, and what charts they hold.

use model::{Histograms, ProcessRole, Profiled, ProfiledFunction, ProfiledProcess, RunRecord, Second, SweepRecord};
use report::Named;
use report::html::Item;
use report::record::AnyRecord;
use serde_json::Value;

pub(crate) fn profiled(mut record: RunRecord) -> RunRecord {
    let process = |name: &str, role, count, samples: u64| ProfiledProcess {
        name: name.into(),
        role,
        count,
        samples,
        share: samples as f64 / 40.0,
        cpu_us_per_good_request: Some(samples as f64),
        symbol_share: 1.0,
        ..ProfiledProcess::default()
    };
    let function = ProfiledFunction { name: "send_[k]".into(), process: "nginx".into(), samples: 30, share: 0.75 };
    record.profile = Some(Profiled {
        frequency_hz: 99,
        samples: 40,
        sample_us_per_good_request: Some(1.0),
        processes: vec![process("nginx", ProcessRole::Server, 2, 30), process("cron", ProcessRole::Other, 1, 10)],
        functions: vec![function],
        ..Profiled::default()
    });
    record
}

pub(crate) fn of_run(record: &RunRecord) -> String {
    page(&[item("run", AnyRecord::Run(record), Some(&distributions()))])
}

pub(crate) fn of_sweep(record: &SweepRecord) -> String {
    page(&[item("sweep", AnyRecord::Sweep(record), None)])
}

pub(crate) fn page(items: &[Item<'_>]) -> String {
    report::html::page(items).to_string()
}

pub(crate) fn item<'a>(name: &'a str, record: AnyRecord<'a>, distributions: Option<&'a Histograms>) -> Item<'a> {
    Item { named: Named { name, record }, distributions, graphs: &[], base: "" }
}

/// A million values from 1 ms to 11 ms.
pub(crate) fn distributions() -> Histograms {
    let mut found = Histograms::default();
    for i in 0..1_000_000 {
        found.response.record(1_000_000 + 10 * i);
        found.service.record(900_000 + 10 * i);
    }
    found
}

/// The record with a timeline of five seconds, of which one stood still.
pub(crate) fn with_seconds(mut record: RunRecord) -> RunRecord {
    let first = record.seconds[0];
    record.seconds = (0..5).map(|i| Second { from_ns: i * first.length_ns, failed: 10 * i, ..first }).collect();
    record.seconds[3] = Second { good: 0, completed: 0, response_p50_ns: 0, response_p99_ns: 0, ..record.seconds[3] };
    record
}

/// Every chart of a page; fails when one has a curve without points.
#[track_caller]
pub(crate) fn charts(page: &str) -> Vec<Value> {
    let data = page.split(r#"<script type="application/json">"#).skip(1);
    let charts: Vec<Value> = data
        .map(|rest| serde_json::from_str(rest.split("</script>").next().unwrap_or_default()).expect("JSON"))
        .collect();
    for chart in &charts {
        let curves = chart["data"].as_array().expect("curves");
        assert!(!curves.is_empty());
        for curve in curves {
            let length = |axis: &str| curve[axis].as_array().map_or(0, Vec::len);
            if is_strips(curve) {
                let cells = curve["z"].as_array().expect("strips").iter().map(|strip| strip.as_array().map(Vec::len));
                assert!(cells.eq(vec![Some(length("x") - 1); length("y")]) && length("y") > 0, "{curve}");
            } else {
                assert!(length("x") > 0 && length("x") == length("y"), "{curve}");
            }
        }
    }
    charts
}

/// True if it is a row of cells for each name, between edges.
pub(crate) fn is_strips(trace: &Value) -> bool {
    trace["type"] == "heatmap"
}
