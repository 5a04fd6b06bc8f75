//! `--har FILE`: what a browser has recorded (HTTP Archive 1.1 and 1.2).
//!
//! Texts of the recording are borrowed from its file, and contents of responses, which are most of it, are skipped: what is
//! read takes less memory than the file.

use super::{Listed, REQUESTS_MAX, add};
use crate::{InputError, TargetUrl};
use model::{Contract, Request};
use serde::Deserialize;
use std::borrow::Cow;
use std::path::Path;

const VERSIONS: [&str; 2] = ["1.1", "1.2"];
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

/// The begin of every version.
#[derive(Deserialize)]
struct AnyHar {
    log: Option<AnyLog>,
}

#[derive(Deserialize)]
struct AnyLog {
    version: Option<String>,
}

#[derive(Deserialize)]
struct Har<'a> {
    #[serde(borrow)]
    log: Log<'a>,
}

#[derive(Deserialize)]
struct Log<'a> {
    #[serde(borrow)]
    entries: Vec<Entry<'a>>,
}

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow)]
    request: Recorded<'a>,
    response: Answered,
}

#[derive(Deserialize)]
struct Recorded<'a> {
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    url: Cow<'a, str>,
    #[serde(borrow, default)]
    headers: Vec<Pair<'a>>,
    #[serde(borrow, rename = "postData")]
    post: Option<Post<'a>>,
}

#[derive(Deserialize)]
struct Answered {
    status: i64,
}

#[derive(Deserialize)]
struct Post<'a> {
    #[serde(borrow, default)]
    text: Cow<'a, str>,
    #[serde(borrow, default)]
    params: Vec<Pair<'a>>,
}

#[derive(Deserialize)]
struct Pair<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    value: Cow<'a, str>,
}

/// The requests in the `text` of the file `path`, those to one server: to `url` if there are any, else to the first one.
pub(crate) fn parse(text: &str, path: &Path, url: Option<&TargetUrl>) -> Result<Listed, InputError> {
    let wrong = |why: String| InputError::new(format!("--har {}: {why}", path.display()));
    let log = log(text).map_err(wrong)?;
    let recorded = server(&log, url).ok_or_else(|| wrong("no answered http or https request is in it".into()))?;
    let mut requests = Vec::new();
    let mut taken = 0;
    let usable = log.entries.iter().filter_map(|entry| Some((place(entry)?, entry)));
    for (place, entry) in usable.filter(|(place, _)| place.is_same_server(&recorded)) {
        taken += 1;
        add(&mut requests, request(&place, entry));
        if requests.len() > REQUESTS_MAX {
            return Err(wrong(format!("a mix has at most {REQUESTS_MAX} requests")));
        }
    }
    let origin = url.unwrap_or(&recorded);
    let to = match origin.is_same_server(&recorded) {
        true => "are in the mix".to_owned(),
        false => format!("go to {}", origin.origin()),
    };
    let total = log.entries.len();
    let note = format!("{taken} of the {total} recorded requests, those to {}, {to}", recorded.origin());
    Ok(Listed { origin: Some(origin.clone()), requests, note })
}

/// The server whose requests are taken; none when nothing can be repeated.
fn server(log: &Log<'_>, url: Option<&TargetUrl>) -> Option<TargetUrl> {
    let mut places = log.entries.iter().filter_map(place).peekable();
    let first = places.peek().cloned()?;
    let named = url.filter(|url| places.any(|place| place.is_same_server(url)));
    Some(named.cloned().unwrap_or(first))
}

fn log(text: &str) -> Result<Log<'_>, String> {
    let text = text.trim_start_matches('\u{feff}');
    let other = |error: serde_json::Error| match (error.is_data(), error.to_string()) {
        (false, why) => format!("it is not JSON: {why}"),
        (true, why) if why.starts_with("missing field") => format!("it is not a HAR: {why}"),
        // What stands there in its place may be a secret of the recording.
        (true, _) => {
            format!("it is not a HAR: line {}, column {} has something else than a HAR", error.line(), error.column())
        }
    };
    // The version first: what another one says may not be readable at all.
    let any: AnyHar = serde_json::from_str(text).map_err(other)?;
    match any.log.and_then(|log| log.version) {
        None => return Err("it is not a HAR: there is no log.version in it".into()),
        Some(version) if !VERSIONS.contains(&version.as_str()) => {
            let (version, known) = (version.escape_debug(), VERSIONS.join(" and "));
            return Err(format!("it is a HAR of version {version}; known are {known}"));
        }
        Some(_) => {}
    }
    serde_json::from_str::<Har<'_>>(text).map(|har| har.log).map_err(other)
}

/// Where a request went; none when it cannot be repeated: not http, not answered, a tunnel, or with a method that is none,
/// which would become another request on the wire.
fn place(entry: &Entry<'_>) -> Option<TargetUrl> {
    let is_sent = super::method(&entry.request.method).is_ok();
    let is_answered = (200..600).contains(&entry.response.status);
    // Browsers leave fragments in; they are not sent.
    let url = entry.request.url.split('#').next()?;
    TargetUrl::parse(url).ok().filter(|_| is_answered && is_sent && url.starts_with("http"))
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
        assert_eq!(listed.note, "4 of the 7 recorded requests, those to https://shop, are in the mix");
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
            ("{}", "no log.version"),
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
        let post = Post { text: "".into(), params: vec![pair("a b", "1&2"), pair("c", "")] };
        assert_eq!(body(&post), b"a+b=1%262&c=");
    }

    #[test]
    fn texts_are_borrowed_and_contents_of_responses_are_not_kept() {
        let entry = serde_json::json!({
            "request": {"method": "GET", "url": "https://shop/a", "headers": [{"name": "A", "value": "b"}]},
            "response": {"status": 200, "content": {"text": "x".repeat(10_000)}},
        });
        let text = har("1.2", &[entry]);
        let log = log(&text).unwrap();
        let Recorded { method, url, headers, .. } = &log.entries[0].request;
        assert!([method, url, &headers[0].name, &headers[0].value].iter().all(|text| matches!(text, Cow::Borrowed(_))));
    }
}
