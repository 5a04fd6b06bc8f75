//! `plimsoll render` with a real browser, on pages of known delay, size and number of requests.

use crate::support::{BrokenServer, Peer, count, installed, list, number, plimsoll, shell, text, wait_for};
use procfs::process::{Process, all_processes};
use rustix::process::{Signal, getuid};
use serde_json::Value;
use std::time::Duration;

/// How long the server thinks before it answers with the document.
const DELAY: Duration = Duration::from_millis(150);
const NS_PER_MS: f64 = 1e6;
/// Nothing here takes longer.
const LIMIT: Duration = Duration::from_secs(30);
/// A page with a style sheet, a script, which asks what nobody answers, and an image that is text.
const PAGE: &str = "<!doctype html><title>page</title><link rel=stylesheet href=s.css><link rel=icon href=data:,>\
                    <h1>Known</h1><img src=i.svg width=300 height=200><script src=j.js></script>";
const FILES: [(&str, &str, &str); 3] = [
    ("/s.css", "text/css", "h1 { color: green }"),
    ("/j.js", "text/javascript", "alert('go on?'); window.onbeforeunload = () => 'stay'"),
    (
        "/i.svg",
        "image/svg+xml",
        "<svg xmlns='http://www.w3.org/2000/svg' width='300' height='200'><rect width='300' height='200'/></svg>",
    ),
];

fn answer(status: &str, kind: &str, cache: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nCache-Control: {cache}\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

fn file(kind: &str, body: &str) -> String {
    answer("200 OK", kind, "max-age=3600", body)
}

fn document() -> String {
    answer("200 OK", "text/html", "no-store", PAGE)
}

/// The page is slow, its files are not, and may be kept.
fn serve(peer: &mut Peer) {
    while let Some(request) = peer.request() {
        let path = request.split(' ').nth(1).unwrap_or_default();
        let sent = match FILES.iter().find(|(name, ..)| *name == path) {
            Some((_, kind, body)) => file(kind, body),
            None if path == "/slow.html" => {
                std::thread::sleep(DELAY);
                document()
            }
            None => answer("503 Service Unavailable", "text/html", "no-store", "<h1>Sorry</h1>"),
        };
        if !peer.send(sent.as_bytes()) {
            return;
        }
    }
}

fn figure<'a>(record: &'a Value, metric: &str, cache: &str) -> &'a Value {
    let all = record["arms"][0]["figures"].as_array().expect("a list");
    let found = all.iter().find(|figure| figure["metric"] == metric && figure["cache"] == cache);
    found.unwrap_or_else(|| panic!("no {metric}, {cache}: {record:#}"))
}

/// Also: a dialog, and a page that does not want to be left, hold nothing up.
#[test]
fn delay_bytes_and_requests_of_a_page_are_found() {
    installed("chromium", "chromium");
    let server = BrokenServer::start(serve);
    let ended = plimsoll(["render", &server.url("/slow.html"), "--blocks", "2", "--json"]).run();
    let record = ended.exits(0).json();
    assert_eq!(text(&record, "format"), "plimsoll.render/1");
    assert!(text(&record, "browser.version").contains("Chrome/"), "{record:#}");
    let value = |metric: &str, cache: &str| number(figure(&record, metric, cache), "median.value");
    for cache in ["cold", "warm"] {
        let ttfb = value("ttfb_ns", cache);
        assert!(ttfb >= DELAY.as_secs_f64() * 1e9, "{ttfb} is less than the server took");
        for later in ["fcp_ns", "lcp_ns", "load_ns"] {
            // The browser rounds paints to 4 ms.
            assert!(value(later, cache) > ttfb - 4.0 * NS_PER_MS, "{later}, {cache}: {record:#}");
        }
        assert_eq!(count(figure(&record, "ttfb_ns", cache), "median.n"), 2);
    }
    let files: usize = FILES.iter().map(|(_, kind, body)| file(kind, body).len()).sum();
    let own = document().len();
    assert_eq!((value("requests", "cold"), value("requests", "warm")), (4.0, 1.0), "{record:#}");
    assert_eq!(value("transferred_bytes", "cold") as usize, own + files, "{record:#}");
    assert_eq!(value("transferred_bytes", "warm") as usize, own, "{record:#}");
    let rules: Vec<&str> =
        record["verdict"]["findings"].as_array().expect("a list").iter().map(|finding| text(finding, "rule")).collect();
    assert_eq!(rules, ["RE-07", "ST-06"], "{record:#}");
}

/// Nothing was stored: no page, no report, no history, and no comparison of before and after.
#[test]
fn a_result_is_stored_shown_again_and_compared_with_another() {
    installed("chromium", "chromium");
    let server = BrokenServer::start(serve);
    let url = server.url("/slow.html");
    let script = format!(
        r#"set -e
        "$PLIMSOLL" render '{url}' --blocks 2 -o before >first
        "$PLIMSOLL" render '{url}' --blocks 2 -q --json -o after >second
        rm before/report.html
        "$PLIMSOLL" report before >told
        "$PLIMSOLL" report before after --format markdown >both
        "$PLIMSOLL" history . >history
        "$PLIMSOLL" render '{url}' --blocks 1 -o before 2>occupied || true
        "$PLIMSOLL" compare before after --json >changed || test $? = 5"#
    );
    let ended = shell(&script).run();
    ended.exits(0);
    let (first, told) = (ended.file("first"), ended.file("told"));
    assert!(first.ends_with("\nrecord: before\npage: before/report.html\n"), "{first}");
    assert!(
        told.contains("largest contentful paint (LCP)") && told.ends_with("\npage: before/report.html\n"),
        "{told}"
    );
    assert!(ended.file("before/report.html").contains("<h3>Quantities</h3>"));
    assert_eq!(ended.file("second"), ended.file("after/run.json"));
    assert!(ended.file("both").contains("| before |") && ended.file("both").contains("| after |"));
    assert!(ended.file("history").contains("page render, "), "{}", ended.file("history"));
    assert!(ended.file("occupied").contains("there is a result in it already"), "{}", ended.file("occupied"));
    let changed: Value = serde_json::from_str(&ended.file("changed")).expect("JSON");
    assert_eq!((text(&changed, "format"), text(&changed, "effects.0.method")), ("plimsoll.render/1", "rank_sum"));
}

#[test]
fn an_error_page_and_a_server_that_is_not_there_are_no_result() {
    installed("chromium", "chromium");
    let mut server = BrokenServer::start(serve);
    let url = server.url("/other");
    let ended = plimsoll(["render", &url]).run();
    let said = &ended.exits(4).stdout;
    assert!(said.contains("RE-02") && said.contains("HTTP status 503"), "{said}");
    server.die();
    let ended = plimsoll(["render", &url]).run();
    let said = &ended.exits(3).stdout;
    assert!(said.contains("RE-01") && said.contains("net::ERR_CONNECTION_REFUSED"), "{said}");
}

/// Nothing within plimsoll can act then: the supervisor of the browser ends it, and removes its directory.
#[test]
fn the_browser_ends_when_plimsoll_is_killed() {
    installed("chromium", "chromium");
    let server = BrokenServer::start(Peer::hold);
    let started = shell(&format!("TMPDIR=$PWD exec \"$PLIMSOLL\" render {}", server.url("/"))).start();
    wait_for(LIMIT, || (server.connections() > 0).then_some(())).expect("the browser asks for the page");
    let all = all_processes().expect("the kernel tells").flatten();
    let state = started.directory().join(format!("plimsoll-{}", getuid().as_raw()));
    let own = |process: &Process| process.cwd().is_ok_and(|cwd| cwd.starts_with(&state));
    let browsers: Vec<Process> = all.filter(own).collect();
    assert!(!browsers.is_empty(), "it works in its directory");
    started.signal(Signal::KILL);
    let killed = started.end();
    let has_ended = |process: &Process| process.stat().map_or(true, |stat| stat.state == 'Z');
    wait_for(LIMIT, || browsers.iter().all(has_ended).then_some(())).expect("the browser ends");
    let left = || list(&killed.path(&format!("plimsoll-{}", getuid().as_raw())));
    wait_for(LIMIT, || left().is_empty().then_some(())).unwrap_or_else(|| panic!("left: {:?}", left()));
}
