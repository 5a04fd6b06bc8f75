//! What of a comparison goes into a paper, of fixed records.

use crate::comparisons::{BLOCKS, compared};
use crate::fixtures::valid_run;
use crate::pages::{charts, item, page};
use model::CompareLoad;
use report::Named;
use report::record::AnyRecord;

#[test]
fn response_times_at_saturation_are_merged_and_have_no_interval() {
    let mut record = compared();
    let slower = record.runs.iter_mut().find(|run| run.arm == "gzip").expect("a variant");
    assert_eq!(slower.load, CompareLoad::Saturated);
    slower.run.latency_ns.response.p99 *= 2;
    let markdown = report::markdown(&[Named { name: "c", record: AnyRecord::Compare(&record) }]);
    let row = markdown.lines().find(|line| line.starts_with("| response p99 | saturation | gzip |")).expect("a row");
    assert!(row.ends_with("| +100 % | - | merged | - |"), "{row}");
    let compared =
        "| server CPU per request | fixed load | gzip | 40.0 µs | 44.8 µs | +12 % | +10.0 to +14.0 % | 8 | worse |";
    assert!(markdown.contains(compared), "{markdown}");
}

#[test]
fn tables_and_figures_are_of_comparisons_alone() {
    let (record, run) = (compared(), valid_run());
    let named =
        [Named { name: "c", record: AnyRecord::Compare(&record) }, Named { name: "r", record: AnyRecord::Run(&run) }];
    assert_eq!(report::latex(&named).matches("\\begin{tabular}").count(), 1);
    assert_eq!(report::overhead(&named).lines().count(), report::overhead(&named[..1]).lines().count());
    assert!(report::overhead(&named).lines().count() > record.metrics.len());
    assert_eq!((report::svg_figures(named[0].record).len(), report::svg_figures(named[1].record).len()), (2, 0));
}

#[test]
fn the_page_has_a_strip_for_what_decides_with_the_canary_beside_it() {
    let record = compared();
    let charts = charts(&page(&[item("c", AnyRecord::Compare(&record), None)]));
    let strip = &charts[2];
    let names: Vec<_> = strip["data"].as_array().expect("lines").iter().map(|line| &line["name"]).collect();
    assert_eq!(names, ["plain", "gzip", "canary (CPU per request)"]);
    let blocks = strip["data"][0]["x"].as_array().map(Vec::len);
    assert_eq!(blocks, Some(BLOCKS), "those that do not count are drawn too");
}
