//! Against nginx: a server nobody here wrote.

use crate::support::{Findings, Nginx, close_to, count, load_alone, number, plimsoll, text};
use serde_json::Value;

const SMALL: &[u8] = &[b'.'; 64];

#[track_caller]
fn run(url: &str, args: &[&str]) -> Value {
    plimsoll(["run", url, "--warmup", "0s", "--json"].iter().chain(args)).run().exits(4).json()
}

#[test]
fn static_file_is_served_without_a_failure() {
    let _alone = load_alone();
    let nginx = Nginx::start(&[("small", SMALL)]);
    let record = run(&nginx.url("/small"), &["-c", "8", "-d", "1s"]);
    assert_eq!(count(&record, "requests.good"), count(&record, "requests.planned"), "{:#}", record["requests"]);
    assert!(count(&record, "requests.good") > 500);
    assert_eq!(count(&record, "connections.opened"), 8);
    assert_eq!(text(&record["probe"]["fetches"][0], "server").split('/').next(), Some("nginx"));
    Findings(&record).invalid_only_by(&["LD-04"]);
}

#[test]
fn new_connection_for_each_request_works() {
    let _alone = load_alone();
    let nginx = Nginx::start(&[("small", SMALL)]);
    let record = run(&nginx.url("/small"), &["-c", "4", "-n", "500", "--no-keepalive"]);
    assert_eq!(count(&record, "requests.good"), 500, "{:#}", record["requests"]);
    assert_eq!(count(&record, "connections.opened"), 500);
}

#[test]
fn compressed_chunked_page_is_read_to_its_end() {
    let _alone = load_alone();
    let page: String = (0..2000).map(|n| format!("line {n} of a text that compresses\n")).collect();
    let nginx = Nginx::start(&[("page.txt", page.as_bytes())]);
    let url = nginx.url("/page.txt");
    let plain = run(&url, &["-c", "4", "-n", "300"]);
    assert_eq!(count(&plain, "requests.good"), 300, "{:#}", plain["requests"]);
    assert_eq!(count(&plain, "plan.requests.0.contract.size_bytes.min"), page.len() as u64);
    let packed = run(&url, &["-c", "4", "-n", "300", "-H", "Accept-Encoding: gzip"]);
    assert_eq!(count(&packed, "requests.good"), 300, "{:#}", packed["requests"]);
    let size = count(&packed, "plan.requests.0.contract.size_bytes.min");
    assert!((1..page.len() as u64 / 3).contains(&size), "{size} bytes are not compressed");
    assert_eq!(count(&packed, "connections.opened"), 4);
}

#[test]
fn missing_page_needs_to_be_declared() {
    let nginx = Nginx::start(&[]);
    plimsoll(["run", &nginx.url("/missing")]).run().fails(3, &["404", "--expect status=404"]);
}

#[test]
fn sweep_over_connections_rises_and_is_judged() {
    let _alone = load_alone();
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
    let _alone = load_alone();
    let nginx = Nginx::start(&[("small", SMALL)]);
    let url = nginx.url("/small");
    let over = ["sweep", &url, "--over", "rate", "--from", "200", "--to", "800", "--arrivals", "constant"];
    let size = ["-d", "500ms", "--warmup", "100ms", "--iterations", "1", "--points", "3", "--json"];
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
