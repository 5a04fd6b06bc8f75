//! Promises of what is made of a browser's bytes, whatever they are, for the fuzz target and the tests that fuzz a little.

use crate::events::Event;
use crate::messages::{Message, Reassembly};
use crate::page::{Page, Start};
use crate::said::KEPT_CHARS_MAX;
use model::{CacheState, PageFailureKind, PageLoad, Redacted, RenderMetric};

/// Longest message of an error: a text that was cut, with what is said of it and how redacting makes it longer.
const ERROR_CHARS_MAX: usize = 2 * KEPT_CHARS_MAX;
/// Bytes that are read at once, in turn.
const READS: [usize; 3] = [1, 7, 64];

/// Takes `data` as what a browser writes while it loads a page, with a line end for each NUL: no panic, however the bytes
/// were cut the messages are the same, errors are one short line, and the load has nothing that was not told.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_devtools(data: &[u8]) {
    let stream: Vec<u8> = data.iter().map(|byte| if *byte == b'\n' { 0 } else { *byte }).collect();
    let texts = texts(&stream, usize::MAX);
    for bytes in READS {
        assert_eq!(self::texts(&stream, bytes), texts, "reads of {bytes} bytes changed the messages");
    }
    let messages: Vec<Result<Message, String>> = texts.iter().map(|text| Message::read(text)).collect();
    for error in messages.iter().filter_map(|message| message.as_ref().err()) {
        check_line(error);
    }
    let messages: Vec<Message> = messages.into_iter().flatten().collect();
    let load = load(&messages);
    check(&load, messages.len() as u64);
    let json = serde_json::to_string(&load).expect("JSON");
    assert_eq!(serde_json::from_str::<PageLoad>(&json).expect("a load"), load, "{json}");
    let kept = Redacted::new(load).into_inner();
    assert_eq!(Redacted::new(kept.clone()).into_inner(), kept, "it was redacted already");
}

/// The texts of messages that come of so many bytes at a time.
fn texts(stream: &[u8], bytes: usize) -> Vec<Vec<u8>> {
    let mut reassembly = Reassembly::default();
    let mut found = Vec::new();
    for part in stream.chunks(bytes) {
        reassembly.add(part);
        while let Some(text) = reassembly.next().expect("it is short") {
            found.push(text);
        }
    }
    found
}

/// The load that they tell of. The URL, and the frame of the page, are those that they name first.
fn load(messages: &[Message]) -> PageLoad {
    let url = messages.iter().find_map(|message| message.params["url"].as_str()).unwrap_or("http://h/");
    let frame = messages.iter().find_map(|message| message.result["frameId"].as_str()).unwrap_or_default();
    let mut page = Page::new(url, frame);
    for message in messages {
        match message.id {
            Some(_) => {
                let refused = message.error.as_ref().map(|error| error.message.as_str());
                let is_download = message.result["isDownload"].as_bool() == Some(true);
                page.on_navigation(refused.or_else(|| message.result["errorText"].as_str()), is_download);
            }
            None => match Event::read(message.clone()) {
                Ok(event) => page.on_event(&event),
                Err(why) => {
                    check_line(&why);
                    page.fail(PageFailureKind::Browser, &format!("the browser {why}"));
                }
            },
        }
    }
    let is_whole = page.is_loaded();
    let told = |name: &str| messages.iter().find_map(|message| message.params[name].as_f64());
    let start = told("navigation_start_s").map(|monotonic_s| Start { monotonic_s, wall_s: told("time_origin_ms") });
    let load = page.end(CacheState::Cold, start);
    assert!(is_whole || load.failure.is_some(), "a page without a load event is no page: {load:?}");
    load
}

fn check(load: &PageLoad, messages: u64) {
    let PageLoad { requests, cached_requests, failed_requests, redirects, .. } = *load;
    assert!([requests, cached_requests, failed_requests, redirects].iter().all(|n| *n <= messages), "{load:?}");
    if let Some(failure) = &load.failure {
        check_line(&failure.message);
        assert!(RenderMetric::ALL.iter().all(|metric| load.value(*metric).is_none()), "{load:?}");
    } else {
        assert!(load.status.is_none_or(|status| status < 400), "{load:?}");
    }
}

fn check_line(text: &str) {
    assert!(text.chars().count() <= ERROR_CHARS_MAX && !text.contains(char::is_control), "{text:?}");
}
