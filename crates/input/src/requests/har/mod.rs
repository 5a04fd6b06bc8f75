//! `--har FILE`: what a browser has recorded (HTTP Archive 1.1 and 1.2).
//!
//! What is read takes less memory than the file: `format` reads it, `choice` says which of its requests are taken.

mod choice;
mod format;

use super::{Listed, REQUESTS_MAX, add};
use crate::{InputError, TargetUrl};
use choice::{Answered, Choice};
use format::{Entry, Pair, Post};
use model::{Contract, Request};
use std::path::Path;

/// Headers that belong to the connection, to its length, or to what this browser had in its cache: a visitor who comes
/// for the first time sends none of them.
const DROPPED: [&str; 15] = [
    "cache-control",
    "connection",
    "content-length",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "pragma",
    "range",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// The requests in the `text` of the file `path`, those to one server: to `url` if there are any.
pub(crate) fn parse(text: &str, path: &Path, url: Option<&TargetUrl>) -> Result<Listed, InputError> {
    let wrong = |why: String| InputError::new(format!("--har {}: {why}", path.display()));
    let log = format::log(text).map_err(wrong)?;
    let Choice { server, taken, counts } = Choice::of(&log, url).map_err(wrong)?;
    let mut requests = Vec::new();
    for Answered { place, entry } in &taken {
        add(&mut requests, request(place, entry));
        if requests.len() > REQUESTS_MAX {
            return Err(wrong(format!("a mix has at most {REQUESTS_MAX} requests")));
        }
    }
    let origin = url.unwrap_or(&server);
    let to = match origin.is_same_server(&server) {
        true => "are in the mix".to_owned(),
        false => format!("go to {}", origin.origin()),
    };
    let left_out = counts.left_out().map(|left_out| format!("; left out: {left_out}")).unwrap_or_default();
    let note = format!("{counts}, {to}{left_out}");
    Ok(Listed { origin: Some(origin.clone()), requests, recording: Some(counts), note })
}

fn request(place: &TargetUrl, entry: &Entry<'_>) -> Request {
    let recorded = &entry.request;
    let status = entry.response.status;
    let keep = |name: &str| {
        let name = name.to_ascii_lowercase();
        // A part that was asked for, as of a video, is what a new visitor asks for, too.
        let is_part = status == 206 && name == "range";
        !name.starts_with(':') && (is_part || !DROPPED.contains(&name.as_str()))
    };
    let headers = recorded.headers.iter().filter(|pair| keep(&pair.name) && is_valid(pair));
    let body = recorded.post.as_ref().map(body).unwrap_or_default();
    // Without what was in the browser's cache the page itself comes.
    let status = Some(status as u16).filter(|status| ![304, 412].contains(status));
    Request {
        method: recorded.method.to_ascii_uppercase(),
        headers: headers.map(|pair| (pair.name.to_string(), pair.value.to_string())).collect(),
        body_bytes: body.len() as u64,
        body,
        contract: Contract { status, declared: status.is_some(), ..Contract::default() },
        ..Request::get(&place.path)
    }
}

fn is_valid(header: &Pair<'_>) -> bool {
    http::HeaderName::from_bytes(header.name.as_bytes()).is_ok() && http::HeaderValue::from_str(&header.value).is_ok()
}

fn body(post: &Post<'_>) -> Vec<u8> {
    if !post.text.is_empty() {
        return post.text.as_bytes().to_vec();
    }
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(post.params.iter().map(|pair| (&pair.name, &pair.value)));
    form.finish().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Recording;

    fn entry(method: &str, url: &str, status: i64) -> serde_json::Value {
        let headers = serde_json::json!([
            {"name": ":authority", "value": "shop"}, {"name": "Host", "value": "shop"},
            {"name": "If-None-Match", "value": "x"}, {"name": "Accept", "value": "text/html"}
        ]);
        let request = serde_json::json!({"method": method, "url": url, "headers": headers});
        serde_json::json!({"request": request, "response": {"status": status}})
    }

    fn har(version: &str, entries: &[serde_json::Value]) -> String {
        serde_json::json!({"log": {"version": version, "entries": entries}}).to_string()
    }

    fn listed(text: &str, url: Option<&str>) -> Result<Listed, String> {
        let url = url.map(|url| TargetUrl::parse(url).unwrap());
        parse(text, Path::new("shop.har"), url.as_ref()).map_err(|error| error.message)
    }

    /// The same, with what a browser says of a page and its redirects.
    fn answered(method: &str, url: &str, status: i64, mime: &str, redirect: &str) -> serde_json::Value {
        let mut entry = entry(method, url, status);
        entry["response"]["content"] = serde_json::json!({"size": 3, "mimeType": mime});
        entry["response"]["redirectURL"] = redirect.into();
        entry
    }

    fn page(url: &str) -> serde_json::Value {
        answered("GET", url, 200, "text/html; charset=utf-8", "")
    }

    fn counts(listed: &Listed) -> (&str, [u64; 5]) {
        let Recording { origin, taken, recorded, other_servers, redirects, without_body } =
            listed.recording.as_ref().unwrap();
        (origin, [*taken, *recorded, *other_servers, *redirects, *without_body])
    }

    #[test]
    fn the_requests_to_one_server_are_taken_with_what_a_new_visitor_sends() {
        let entries = [
            entry("GET", "https://shop/#top", 200),
            entry("GET", "https://cdn/x.js", 200),
            entry("GET", "https://shop/a?b=c", 304),
            entry("GET", "https://shop/", 200),
            entry("GET", "https://shop/blocked", 0),
            entry("POST", "https://shop/old", 302),
            entry("GET", "data:text/plain,x", 200),
        ];
        let listed = listed(&har("1.2", &entries), None).unwrap();
        let seen: Vec<_> = listed.requests.iter().map(|r| (r.weight, r.path.as_str(), r.contract.status)).collect();
        assert_eq!(seen, [(2, "/", Some(200)), (1, "/a?b=c", None), (1, "/old", Some(302))]);
        assert_eq!(listed.requests[0].headers, [("Accept".to_owned(), "text/html".to_owned())]);
        let (taken, left_out) = listed.note.split_once("; ").unwrap();
        assert_eq!(taken, "4 of the 5 recorded requests, those to https://shop, are in the mix");
        assert_eq!(left_out, "left out: 1 request to other servers");
        assert_eq!(counts(&listed), ("https://shop", [4, 5, 1, 0, 0]));
    }

    /// Eight uses of an icon were eight requests in the mix: the browser had asked for it once.
    #[test]
    fn what_the_cache_answered_again_is_asked_for_once() {
        let cached = |url: &str| {
            let mut entry = entry("GET", url, 200);
            entry["_fromCache"] = "memory".into();
            entry
        };
        let entries = [entry("GET", "https://shop/", 200), entry("GET", "https://shop/i.png", 200)];
        let again = [cached("https://shop/i.png"), cached("https://shop/i.png"), cached("https://shop/x.css")];
        let listed = listed(&har("1.2", &[&entries[..], &again].concat()), None).unwrap();
        let seen: Vec<_> = listed.requests.iter().map(|r| (r.weight, r.path.as_str())).collect();
        assert_eq!(seen, [(1, "/"), (1, "/i.png"), (1, "/x.css")]);
        assert_eq!(counts(&listed), ("https://shop", [3, 3, 0, 0, 0]));
    }

    /// A recording of WebPageTest begins with two of them, and the responder was loaded with empty bodies.
    #[test]
    fn the_server_of_the_page_is_taken_and_not_the_one_that_the_browser_asked_about_a_certificate() {
        let ocsp = |code: u16| {
            let mut entry = answered("POST", "http://ocsp.example/", i64::from(code), "application/ocsp-response", "");
            (entry["pageref"], entry["request"]["bodySize"]) = ("page_1".into(), 83.into());
            entry
        };
        let mut entries = vec![
            ocsp(200),
            ocsp(200),
            answered("GET", "http://shop.example/", 301, "text/html", "https://www.shop.example/#top"),
            page("https://www.shop.example/"),
        ];
        entries.extend((0..5).map(|n| entry("GET", &format!("https://cdn.example/{n}.js"), 200)));
        entries.iter_mut().for_each(|entry| entry["pageref"] = "page_1".into());
        let pages = serde_json::json!([{"id": "page_1", "title": "shop"}]);
        let text = serde_json::json!({"log": {"version": "1.2", "pages": pages, "entries": entries}}).to_string();
        let listed = listed(&text, None).unwrap();
        assert_eq!(counts(&listed), ("https://www.shop.example", [1, 9, 8, 0, 0]));
        assert_eq!(listed.origin.unwrap().origin(), "https://www.shop.example");
    }

    #[test]
    fn the_page_is_that_of_the_first_page_of_the_recording() {
        let mut entries = [page("https://before/"), page("https://shop/"), page("https://after/")];
        for (entry, id) in entries.iter_mut().zip(["page_0", "page_1", "page_2"]) {
            entry["pageref"] = id.into();
        }
        let origin = |id: &str| {
            let log = serde_json::json!({"pages": [{"id": id}], "entries": entries});
            let listed = listed(&serde_json::json!({ "log": log }).to_string(), None).unwrap();
            counts(&listed).0.to_owned()
        };
        assert_eq!(origin("page_1"), "https://shop");
        assert_eq!(origin("another"), "https://before", "no request is a part of it");
    }

    #[test]
    fn without_a_page_the_server_that_was_asked_most_is_taken() {
        let entries = ["https://one/a", "https://two/a", "https://two/b", "https://three/a"];
        let entries = entries.map(|url| entry("GET", url, 200));
        let listed = listed(&har("1.2", &entries), None).unwrap();
        assert_eq!(counts(&listed), ("https://two", [2, 4, 2, 0, 0]));
    }

    /// A redirect is fast and empty, and was as good as the page.
    #[test]
    fn a_redirect_is_not_measured_in_place_of_a_page() {
        let entries = [
            answered("GET", "https://shop/", 302, "text/html", "/"),
            answered("GET", "https://shop/", 302, "text/html", "home"),
            page("https://shop/home"),
            answered("GET", "https://shop/logo", 307, "", "https://cdn/logo.svg"),
            answered("POST", "https://shop/enter", 303, "", "https://shop/home"),
            answered("POST", "https://shop/cart", 303, "", "/cart/7"),
        ];
        let listed = listed(&har("1.2", &entries), None).unwrap();
        let sent: Vec<_> = listed.requests.iter().map(|r| (r.method.as_str(), r.path.as_str())).collect();
        assert_eq!(sent, [("GET", "/home"), ("POST", "/cart")]);
        assert_eq!(counts(&listed), ("https://shop", [2, 6, 0, 4, 0]));
    }

    #[test]
    fn redirects_without_an_end_are_followed_to_a_bound_and_left_out() {
        let url = |n: usize| format!("https://shop/{n}");
        let turn = |n: usize| answered("GET", &url(n), 302, "text/html", &url((n + 1) % 40));
        let mut entries: Vec<_> = (0..40).map(turn).collect();
        assert!(
            listed(&har("1.2", &entries), None).unwrap_err().contains("40 requests that were answered by a redirect")
        );
        entries.push(entry("GET", "https://cdn/x.js", 200));
        assert_eq!(counts(&listed(&har("1.2", &entries), None).unwrap()), ("https://cdn", [1, 41, 40, 0, 0]));
    }

    /// They were sent empty.
    #[test]
    fn a_request_whose_body_was_not_recorded_is_left_out() {
        let mut lost = entry("POST", "https://shop/cart", 200);
        lost["request"]["bodySize"] = 12.into();
        let mut kept = lost.clone();
        kept["request"]["postData"] = serde_json::json!({"mimeType": "text/plain", "text": "two of these"});
        let mut empty = lost.clone();
        empty["request"]["bodySize"] = 0.into();
        let listed = listed(&har("1.2", &[lost.clone(), kept, empty]), None).unwrap();
        let bodies: Vec<_> = listed.requests.iter().map(|request| request.body.as_slice()).collect();
        assert_eq!(bodies, [&b"two of these"[..], b""]);
        assert_eq!(counts(&listed), ("https://shop", [2, 3, 0, 0, 1]));
        let message = self::listed(&har("1.2", &[lost]), None).unwrap_err();
        assert!(message.contains("no request in it can be sent again: it has 1 request whose body"), "{message}");
    }

    /// The HAR 1.2 specification says that an empty version means 1.1.
    #[test]
    fn a_recording_without_a_version_is_one_of_the_first() {
        let entries = [entry("GET", "https://shop/a", 200)];
        let without = serde_json::json!({"log": {"entries": entries}}).to_string();
        for text in [har("", &entries), without] {
            assert_eq!(listed(&text, None).unwrap().requests.len(), 1, "{text}");
        }
    }

    /// The range was dropped, and each answer with the whole video was a failure. With "Disable cache" ticked in the browser
    /// each request went past the server's own cache.
    #[test]
    fn a_part_is_asked_for_as_it_was_and_caches_are_not_told_to_stand_aside() {
        let mut video = entry("GET", "https://shop/v.mp4", 206);
        for (name, value) in [("Range", "bytes=0-"), ("Cache-Control", "no-cache"), ("Pragma", "no-cache")] {
            let header = serde_json::json!({"name": name, "value": value});
            video["request"]["headers"].as_array_mut().unwrap().push(header);
        }
        let mut whole = video.clone();
        whole["response"]["status"] = 200.into();
        let entries = [video, whole, entry("GET", "https://shop/changed", 412)];
        let listed = listed(&har("1.2", &entries), None).unwrap();
        let names = |one: &Request| one.headers.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>().join(" ");
        let sent: Vec<_> = listed.requests.iter().map(|one| (names(one), one.contract.status)).collect();
        assert!(sent.contains(&("Accept Range".to_owned(), Some(206))), "{sent:?}");
        assert!(sent.contains(&("Accept".to_owned(), Some(200))), "{sent:?}");
        assert!(listed.requests.iter().any(|request| request.path == "/changed" && request.contract.status.is_none()));
    }

    #[test]
    fn the_server_that_was_named_is_taken_wherever_it_stands() {
        let entries = [entry("GET", "https://cdn/x.js", 200), entry("GET", "https://shop/a", 200)];
        let listed = listed(&har("1.2", &entries), Some("https://shop/")).unwrap();
        assert_eq!((listed.requests.len(), listed.requests[0].path.as_str()), (1, "/a"));
        // It has nothing but a redirect there.
        let entries = [answered("GET", "http://shop/", 301, "", "https://shop/"), page("https://shop/")];
        let listed = self::listed(&har("1.2", &entries), Some("http://shop/")).unwrap();
        assert_eq!(counts(&listed), ("https://shop", [1, 2, 1, 0, 0]));
        assert_eq!(listed.origin.unwrap().origin(), "http://shop");
    }

    #[test]
    fn a_recording_can_be_played_to_another_server() {
        let listed = listed(&har("1.1", &[entry("GET", "https://shop/a", 200)]), Some("http://127.0.0.1:81")).unwrap();
        assert_eq!(listed.origin.unwrap().authority, "127.0.0.1:81");
        assert!(listed.note.contains("those to https://shop, go to http://127.0.0.1:81"), "{}", listed.note);
    }

    #[test]
    fn a_foreign_method_does_not_become_another_request() {
        let smuggled = "GET / HTTP/1.1\r\nHost: shop\r\n\r\nDELETE";
        let entries = [entry(smuggled, "https://shop/a", 200), entry("CONNECT", "https://shop/b", 200)];
        assert!(listed(&har("1.2", &entries), None).unwrap_err().contains("no answered http"));
        let header = serde_json::json!([{"name": "A", "value": "b\r\nEvil: c"}, {"name": "A: b\r\nC", "value": "d"}]);
        let request = serde_json::json!({"method": "get", "url": "https://shop/a", "headers": header});
        let entry = serde_json::json!({"request": request, "response": {"status": 200}});
        let listed = listed(&har("1.2", &[entry]), None).unwrap();
        assert_eq!((listed.requests[0].method.as_str(), listed.requests[0].headers.len()), ("GET", 0));
    }

    #[test]
    fn what_is_not_a_recording_is_refused_with_the_reason() {
        let typed = har("1.2", &[serde_json::json!({"request": "Bearer s3cret", "response": {"status": 200}})]);
        assert!(!listed(&typed, None).unwrap_err().contains("s3cret"));
        for (text, why) in [
            ("", "not JSON"),
            ("{}", "there is no log in it"),
            ("[1]", "not a HAR"),
            (r#"{"log": 5}"#, "not a HAR"),
            (&har("2.0", &[]), "version 2.0"),
            (&har("1.2", &[]), "no answered http"),
            (r#"{"log": {"version": "1.2"}}"#, "entries"),
        ] {
            let message = listed(text, None).unwrap_err();
            assert!(message.contains(why) && message.contains("--har"), "{text}: {message}");
        }
    }

    #[test]
    fn forms_without_text_are_put_together() {
        let pair = |name: &'static str, value: &'static str| Pair { name: name.into(), value: value.into() };
        let post = Post { mime: None, text: "".into(), params: vec![pair("a b", "1&2"), pair("c", "")] };
        assert_eq!(body(&post), b"a+b=1%262&c=");
    }
}
