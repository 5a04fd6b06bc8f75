//! Sweeps of nginx: a server nobody here wrote.

use crate::support::{Nginx, close_to, count, decide_watched, number, plimsoll, text};
use serde_json::Value;

const SMALL: &[u8] = &[b'.'; 64];

#[test]
fn sweep_over_connections_rises_and_is_judged() {
    let nginx = Nginx::start(&[("small", SMALL)]);
    let ended = plimsoll(["sweep", &nginx.url("/small"), "-d", "1s", "--warmup", "100ms"].iter().copied().chain([
        "--iterations",
        "1",
        "--points",
        "4",
        "--to",
        "8",
        "--json",
    ]))
    .run();
    let record = swept(&ended.json(), "connections");
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{ended:#?}");
    for load in &record {
        assert!((1.0..=8.0).contains(load), "{record:?}");
    }
    assert_eq!(ended.recorded("run.json"), ended.stdout);
}

#[test]
fn sweep_over_rate_offers_what_it_says() {
    decide_watched(|| {
        let nginx = Nginx::start(&[("small", SMALL)]);
        let url = nginx.url("/small");
        let over = ["sweep", &url, "--over", "rate", "--from", "200", "--to", "800", "--arrivals", "constant"];
        let size =
            ["-d", "500ms", "--warmup", "100ms", "--iterations", "1", "--points", "3", "--budget", "0s", "--json"];
        let ended = plimsoll(over.iter().chain(&size)).run();
        let record = ended.json();
        assert!(matches!(ended.status.code(), Some(0 | 4)), "{ended:#?}");
        let loads = swept(&record, "rate");
        assert_eq!((loads.first(), loads.last()), (Some(&200.0), Some(&800.0)), "{loads:?}");
        for (load, point) in loads.iter().zip(record["points"].as_array().expect("a list")) {
            // Half a second of the rate, to the request; how many came back inside it is the machine's business.
            close_to(count(point, "requests.planned") as f64, load / 2.0, 0.01, "planned requests");
            assert_eq!(count(point, "requests.good"), count(point, "requests.planned"), "{:#}", point["requests"]);
        }
    });
}

/// Checks the shape of a sweep and returns its loads.
#[track_caller]
fn swept(record: &Value, over: &str) -> Vec<f64> {
    assert_eq!(text(record, "format"), "plimsoll.sweep/1");
    assert_eq!(text(record, "over"), over);
    assert!(["valid", "bound", "invalid"].contains(&text(record, "verdict.state")));
    let loads: Vec<f64> = record["curve"].as_array().expect("a list").iter().map(|p| number(p, "load")).collect();
    let points = record["points"].as_array().expect("a list");
    assert!(points.len() >= 2 && points.len() == loads.len(), "{loads:?}");
    assert!(loads.is_sorted_by(|a, b| a < b), "{loads:?}");
    for point in points {
        assert_eq!(text(point, "format"), "plimsoll.run/1");
        assert_eq!(count(point, "requests.good"), count(point, "requests.planned"), "{:#}", point["requests"]);
    }
    let best =
        record["curve"].as_array().expect("a list").iter().map(|p| number(p, "goodput_per_s")).fold(0.0, f64::max);
    assert!(number(record, "peak.goodput_per_s") <= best);
    assert!(loads.contains(&number(record, "peak.load")));
    loads
}
