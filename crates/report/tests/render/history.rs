//! A history in the terminal, as a page and as JSON.

use crate::histories::{CHANGE_AT, RUNS, SETTINGS, changed_history};
use crate::pages::charts;
use model::{HistoryQuantity, HistoryRecord, LeftOut};
use report::history::history;
use report::terminal::{self, Style};
use serde_json::Value;

#[test]
fn changes_are_told_with_run_size_and_interval() {
    let record = changed_history();
    let text = terminal::history(&record, &Style { width: 200, colour: false, verbose: true });
    for part in [
        "series       run, http://127.0.0.1:8080/, closed loop, 64 connections, GET /\n",
        "results      30 results from 2026-01-01T03:00:00Z to 2026-01-30T03:00:00Z\n",
        "worse        goodput -8.0 % (-8.2 % to -7.8 %, p 0.001): ",
        "over 18 results, then ",
        "over 12 results; from night-19 on, 2026-01-19T03:00:00Z\n",
        "also differs kernel release: Linux 6.12.8 x86_64, then Linux 6.12.9 x86_64\n",
        "no change    p99\n",
        "worse        CPU per request +10 %",
        "left out     2 results: plimsoll-runs/empty: not a run directory (no run.json in it); night-41: INVALID (CL-06, ER-01)\n",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    let row = text.lines().find(|line| line.starts_with("goodput ")).expect("a row");
    assert!(row.ends_with("█▁▁▁▁▁▁▁▁▁▁▁▁"), "bars: {row}");
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    let record = changed_history();
    for width in [40, 60, 80, 120] {
        let text = terminal::history(&record, &Style { width, colour: false, verbose: false });
        for line in text.lines() {
            assert!(line.chars().count() <= width && line == line.trim_end(), "{width}: {line:?}");
        }
    }
}

#[test]
fn the_page_draws_each_figure_with_its_levels_and_changes() {
    let page = report::html::history_page(&changed_history()).to_string();
    let charts = charts(&page);
    assert_eq!(charts.len(), 3, "goodput, p99 and CPU per request");
    let goodput = &charts[0];
    let points = goodput["data"][0]["x"].as_array().map(Vec::len);
    assert_eq!(points, Some(RUNS));
    let levels: Vec<f64> =
        goodput["data"][1]["x"].as_array().expect("levels").iter().filter_map(Value::as_f64).collect();
    assert_eq!(levels, [1.0, CHANGE_AT as f64 + 0.5, CHANGE_AT as f64 + 0.5, RUNS as f64]);
    assert_eq!(goodput["layout"]["shapes"][0]["x0"], CHANGE_AT as f64 + 0.5);
    assert_eq!(goodput["layout"]["annotations"][0]["text"], "-8.0 %");
    assert!(charts[1]["data"].as_array().is_some_and(|curves| curves.len() == 1), "p99 has no level");
    assert!(page.contains("night-19") && page.contains("Results in no series"));
}

#[test]
fn json_reads_back_and_names_stay() {
    let record = changed_history();
    let json = report::json::history(&record);
    assert_eq!(serde_json::from_str::<HistoryRecord>(&json).ok(), Some(record));
    let value: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(value["format"], "plimsoll.history/1");
    let change = &value["series"][0]["figures"][0]["changes"][0];
    for name in ["at", "run", "started", "ratio", "before", "before_n", "after", "after_n", "p", "is_worse", "differs"]
    {
        assert!(!change[name].is_null(), "{name} in {change:#}");
    }
    assert_eq!((change["at"].as_u64(), value["is_worse"].as_bool()), (Some(CHANGE_AT as u64), Some(true)));
    let quantities = &value["series"][0]["figures"];
    let names: Vec<_> = quantities.as_array().expect("figures").iter().map(|figure| &figure["quantity"]).collect();
    assert_eq!(names, ["goodput_per_s", "response_p99_ns", "server_cpu_ns_per_request"]);
}

#[test]
fn of_no_results_there_is_a_line_and_a_page() {
    let record = history(Vec::new(), SETTINGS, Vec::new());
    let text = terminal::history(&record, &Style { width: 80, colour: false, verbose: false });
    assert!(text.starts_with("history      no result that could be looked at\n"), "{text}");
    assert!(report::html::history_page(&record).to_string().contains("0 results left out"));
    let left_out = vec![LeftOut { name: "x".into(), why: "y".into() }];
    let page = report::html::history_page(&history(Vec::new(), SETTINGS, left_out)).to_string();
    assert!(page.contains("1 result left out"));
    assert!(HistoryQuantity::ALL.iter().all(|quantity| !quantity.words().is_empty()));
}
