//! Recordings of a browser (Chromium 156 over its pipe, headers taken out), one message a line. The first line is ours: the
//! URL, and when the navigation began.

use super::{Page, Start};
use crate::events::Event;
use crate::messages::Message;
use model::{CacheState, PageFailureKind, PageLoad};

/// The load of a recording, as far as the browser told within its first `lines`.
fn replay_until(recording: &str, lines: usize) -> PageLoad {
    let read = |line: &str| serde_json::from_str::<Message>(line).expect("a message");
    let head = read(recording.lines().next().expect("a first line")).params;
    let messages: Vec<Message> = recording.lines().skip(1).map(read).collect();
    let answer = messages.iter().find(|message| message.id == Some(1)).expect("an answer to the navigation");
    let frame = answer.result["frameId"].as_str().expect("a frame").to_owned();
    let mut page = Page::new(head["url"].as_str().expect("a URL"), &frame);
    for message in messages.into_iter().take(lines) {
        match message.id {
            Some(_) => page.on_navigation(message.result["errorText"].as_str(), false),
            None => page.on_event(&Event::read(message).expect("a known event")),
        }
    }
    let seconds = |name: &str| head[name].as_f64().expect("a time");
    let start = Start { monotonic_s: seconds("navigation_start_s"), wall_s: Some(seconds("time_origin_ms") / 1e3) };
    page.end(CacheState::Cold, Some(start))
}

fn replay(recording: &str) -> PageLoad {
    replay_until(recording, usize::MAX)
}

/// Kind and words of the failure.
fn failure(load: &PageLoad) -> (PageFailureKind, &str) {
    let failure = load.failure.as_ref().expect("it failed");
    (failure.kind, &failure.message)
}

const PARTLY_CACHED: &str = include_str!("../fixtures/partly_cached.jsonl");

/// Style sheet and image come from the cache; the document, an image that is not there, a frame of another site, which has a
/// session of its own, and the script of that frame from the network.
#[test]
fn times_bytes_and_requests_are_those_of_the_recording() {
    let load = replay(PARTLY_CACHED);
    assert_eq!(load.failure, None);
    assert_eq!((load.status, load.redirects, load.is_settled), (Some(200), 0, true));
    assert_eq!(load.url.as_deref(), Some("http://127.0.0.1:18765/two.html"));
    assert_eq!(load.transferred_bytes, 380 + 335 + 236 + 206);
    assert_eq!((load.requests, load.cached_requests, load.failed_requests), (4, 2, 1));
    let [ttfb, fcp, lcp, loaded] = [load.ttfb_ns, load.fcp_ns, load.lcp_ns, load.load_ns].map(Option::unwrap);
    // Seconds since 1970 in a double are exact to a quarter of a microsecond.
    assert!(lcp.abs_diff(200_000_000) < 1_000, "{lcp}");
    let millisecond = 1_000_000;
    assert!(millisecond < ttfb && ttfb < loaded && ttfb < fcp, "{load:#?}");
    assert!(fcp.abs_diff(lcp) < 5 * millisecond, "one paint, of which the browser rounds the second time: {load:#?}");
}

/// A script of a host that cannot be reached counted as a request: without it a page had "fewer requests".
#[test]
fn a_request_that_no_network_answered_is_none() {
    let is_kept = |line: &&str| !(line.contains("Network.responseReceived\"") && line.contains("\"status\":404"));
    let load = replay(&PARTLY_CACHED.lines().filter(is_kept).collect::<Vec<_>>().join("\n"));
    assert_eq!((load.requests, load.cached_requests), (3, 2));
}

/// The server says of document and frame that they are as they were, and the script is taken from the cache as well.
#[test]
fn on_a_second_visit_less_comes_over_the_network() {
    let load = replay(include_str!("../fixtures/second_visit.jsonl"));
    assert_eq!(load.failure, None);
    assert_eq!((load.transferred_bytes, load.requests, load.cached_requests), (104 + 335 + 104, 3, 3));
}

#[test]
fn a_redirect_on_the_host_is_followed_and_counted() {
    let load = replay(include_str!("../fixtures/redirect.jsonl"));
    assert_eq!(load.failure, None);
    assert_eq!((load.redirects, load.requests, load.transferred_bytes), (1, 2, 145 + 206));
    assert_eq!(load.url.as_deref(), Some("http://127.0.0.1:18765/dir/"));
}

#[test]
fn a_redirect_to_another_host_is_another_page() {
    let elsewhere = include_str!("../fixtures/redirect.jsonl").replace("127.0.0.1:18765/dir/", "other.example/dir/");
    let load = replay(&elsewhere);
    assert_eq!(failure(&load), (PageFailureKind::OtherHost, "the document came from http://other.example/dir/"));
}

#[test]
fn pages_that_say_nothing_of_the_url_are_told_apart() {
    for (recording, kind, why) in [
        (include_str!("../fixtures/refused.jsonl"), PageFailureKind::Network, "net::ERR_CONNECTION_REFUSED"),
        (include_str!("../fixtures/status.jsonl"), PageFailureKind::Status, "the document has HTTP status 404"),
        (include_str!("../fixtures/blank.jsonl"), PageFailureKind::Blank, "no text and no image was painted"),
        (
            include_str!("../fixtures/away.jsonl"),
            PageFailureKind::LeftPage,
            "the page went to http://127.0.0.1:18765/index.html by itself",
        ),
    ] {
        let load = replay(recording);
        assert_eq!(failure(&load), (kind, why));
        assert_eq!(load.value(model::RenderMetric::Requests), None, "what failed is no value");
    }
}

/// However little has come, nothing is made up of it.
#[test]
fn a_load_that_is_cut_off_anywhere_is_no_fast_page() {
    let all = PARTLY_CACHED.lines().count() - 1;
    let cut: Vec<PageLoad> = (0..all).map(|lines| replay_until(PARTLY_CACHED, lines)).collect();
    let failed = cut.iter().take_while(|load| load.failure.is_some()).count();
    assert!(failed > all / 2 && cut[failed..].iter().all(|load| load.failure.is_none()), "{failed} of {all}");
    assert_eq!(failure(&cut[0]).0, PageFailureKind::TimedOut);
}

#[test]
fn an_event_that_is_another_is_no_event_that_did_not_come() {
    let message = Message { method: "Network.loadingFinished".into(), ..Message::default() };
    let why = Event::read(message).expect_err("its facts are missing");
    assert!(why.starts_with("sent an event Network.loadingFinished that is another"), "{why}");
    let unknown = Message { method: "Storage.somethingNew".into(), ..Message::default() };
    assert!(matches!(Event::read(unknown), Ok(Event::Other)));
}

#[test]
fn times_that_cannot_be_are_none() {
    for time_s in [-1e-9, f64::NAN, f64::INFINITY, 1e300] {
        assert_eq!(super::nanoseconds(time_s), None, "{time_s}");
    }
    assert_eq!(super::nanoseconds(0.25), Some(250_000_000));
}
