//! `--har FILE`: what a browser has recorded (HTTP Archive 1.1 and 1.2).

use super::{Listed, REQUESTS_MAX, add, text};
use crate::exit::CommandError;
use crate::settings::target_url::TargetUrl;
use model::{Contract, Request};
use serde::Deserialize;
use std::path::Path;

const VERSIONS: [&str; 2] = ["1.1", "1.2"];
/// Headers that belong to the connection, to its length, or to what this browser had in its cache: a visitor who comes
/// for the first time sends none of them.
const DROPPED: [&str; 13] = [
    "connection",
    "content-length",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "range",
    "te",
    "transfer-encoding",
    "upgrade",
];

#[derive(Deserialize)]
struct Har {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    request: Recorded,
    response: Answered,
}

#[derive(Deserialize)]
struct Recorded {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<Pair>,
    #[serde(rename = "postData")]
    post: Option<Post>,
}

#[derive(Deserialize)]
struct Answered {
    status: i64,
}

#[derive(Deserialize)]
struct Post {
    #[serde(default)]
    text: String,
    #[serde(default)]
    params: Vec<Pair>,
}

#[derive(Deserialize)]
struct Pair {
    name: String,
    #[serde(default)]
    value: String,
}

/// The requests recorded in the file `path`, those to one server: to `url` if there are any, else to the first one.
pub(super) fn read(path: &Path, url: Option<&TargetUrl>) -> Result<Listed, CommandError> {
    let text = text("--har", path)?;
    let wrong = |why: String| CommandError::usage(format!("--har {}: {why}", path.display()));
    let log = parse(&text).map_err(wrong)?;
    let total = log.entries.len();
    let usable: Vec<_> = log.entries.iter().filter_map(|entry| Some((place(entry)?, entry))).collect();
    let (first, _) = usable.first().ok_or_else(|| wrong("no answered http or https request is in it".into()))?;
    let recorded = url.filter(|url| usable.iter().any(|(place, _)| place.is_same_server(url))).unwrap_or(first);
    let mut requests = Vec::new();
    let mut taken = 0;
    for (place, entry) in usable.iter().filter(|(place, _)| place.is_same_server(recorded)) {
        taken += 1;
        add(&mut requests, request(place, entry));
        if requests.len() > REQUESTS_MAX {
            return Err(wrong(format!("a mix has at most {REQUESTS_MAX} requests")));
        }
    }
    let origin = url.unwrap_or(recorded);
    let to = match origin.is_same_server(recorded) {
        true => "are in the mix".to_owned(),
        false => format!("go to {}", origin.origin()),
    };
    let note = format!("{taken} of the {total} recorded requests, those to {}, {to}", recorded.origin());
    Ok(Listed { origin: Some(origin.clone()), requests, note })
}

fn parse(text: &str) -> Result<Log, String> {
    // The version first: what another one says may not be readable at all.
    let value: serde_json::Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| format!("it is not JSON: {error}"))?;
    let version = value.pointer("/log/version").and_then(|version| version.as_str());
    match version {
        None => return Err("it is not a HAR: there is no log.version in it".into()),
        Some(version) if !VERSIONS.contains(&version) => {
            return Err(format!("it is a HAR of version {version}; known are {}", VERSIONS.join(" and ")));
        }
        Some(_) => {}
    }
    serde_json::from_value::<Har>(value).map(|har| har.log).map_err(|error| format!("it is not a HAR: {error}"))
}

/// Where a request went; none when it cannot be repeated: not http, not answered, or a tunnel.
fn place(entry: &Entry) -> Option<TargetUrl> {
    let tunnel = entry.request.method.eq_ignore_ascii_case("CONNECT");
    let answered = (200..600).contains(&entry.response.status);
    // Browsers leave fragments in; they are not sent.
    let url = entry.request.url.split('#').next()?;
    TargetUrl::parse(url).ok().filter(|_| answered && !tunnel && url.starts_with("http"))
}

fn request(place: &TargetUrl, entry: &Entry) -> Request {
    let recorded = &entry.request;
    let keep = |name: &str| !name.starts_with(':') && !DROPPED.contains(&name.to_ascii_lowercase().as_str());
    let valid = |pair: &&Pair| {
        http::HeaderName::from_bytes(pair.name.as_bytes()).is_ok() && http::HeaderValue::from_str(&pair.value).is_ok()
    };
    let headers = recorded.headers.iter().filter(|pair| keep(&pair.name)).filter(valid);
    let body = recorded.post.as_ref().map(body).unwrap_or_default();
    // Without what was in the browser's cache the page itself comes.
    let status = Some(entry.response.status as u16).filter(|status| *status != 304);
    Request {
        method: recorded.method.to_ascii_uppercase(),
        headers: headers.map(|pair| (pair.name.clone(), pair.value.clone())).collect(),
        body_bytes: body.len() as u64,
        body,
        contract: Contract { status, declared: status.is_some(), ..Contract::default() },
        ..Request::get(&place.path)
    }
}

fn body(post: &Post) -> Vec<u8> {
    if !post.text.is_empty() {
        return post.text.clone().into();
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
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let url = url.map(|url| TargetUrl::parse(url).unwrap());
        read(file.path(), url.as_ref()).map_err(|error| error.message)
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

    #[test]
    fn a_recording_can_be_played_to_another_server() {
        let listed = listed(&har("1.1", &[entry("GET", "https://shop/a", 200)]), Some("http://127.0.0.1:81")).unwrap();
        assert_eq!(listed.origin.unwrap().authority, "127.0.0.1:81");
        assert!(listed.note.contains("those to https://shop, go to http://127.0.0.1:81"), "{}", listed.note);
    }

    #[test]
    fn what_is_not_a_recording_is_refused_with_the_reason() {
        for (text, why) in [
            ("", "not JSON"),
            ("{}", "no log.version"),
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
        let pair = |name: &str, value: &str| Pair { name: name.into(), value: value.into() };
        let post = Post { text: String::new(), params: vec![pair("a b", "1&2"), pair("c", "")] };
        assert_eq!(body(&post), b"a+b=1%262&c=");
    }
}
