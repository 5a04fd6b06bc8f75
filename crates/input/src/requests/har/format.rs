//! The part of a HAR file that says which requests a browser has sent, and what was answered.
//!
//! The many and long texts are borrowed from the file, and contents of responses, which are most of it, are skipped.

use serde::Deserialize;
use std::borrow::Cow;

/// Versions that can be read. The HAR 1.2 specification says that a file without a version is one of the first.
const VERSIONS: [&str; 2] = ["1.1", "1.2"];

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
pub(super) struct Log<'a> {
    #[serde(borrow)]
    pub(super) pages: Option<Vec<Page<'a>>>,
    #[serde(borrow)]
    pub(super) entries: Vec<Entry<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Page<'a> {
    #[serde(borrow, default)]
    pub(super) id: Cow<'a, str>,
}

#[derive(Deserialize)]
pub(super) struct Entry<'a> {
    /// Id of the page that it is a part of.
    #[serde(rename = "pageref")]
    pub(super) page: Option<String>,
    /// Chrome's word for the cache that answered in place of the server.
    #[serde(rename = "_fromCache")]
    pub(super) cache: Option<String>,
    #[serde(borrow)]
    pub(super) request: Recorded<'a>,
    pub(super) response: Response,
}

#[derive(Deserialize)]
pub(super) struct Recorded<'a> {
    #[serde(borrow)]
    pub(super) method: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) url: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) headers: Vec<Pair<'a>>,
    #[serde(borrow, rename = "postData")]
    pub(super) post: Option<Post<'a>>,
    /// -1 where the browser does not know it.
    #[serde(rename = "bodySize")]
    pub(super) body_bytes: Option<f64>,
}

#[derive(Deserialize)]
pub(super) struct Response {
    pub(super) status: i64,
    #[serde(rename = "redirectURL")]
    pub(super) redirect: Option<String>,
    content: Option<Content>,
}

#[derive(Deserialize)]
struct Content {
    #[serde(rename = "mimeType")]
    mime: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Post<'a> {
    #[serde(rename = "mimeType")]
    pub(super) mime: Option<String>,
    #[serde(borrow, default)]
    pub(super) text: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) params: Vec<Pair<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Pair<'a> {
    #[serde(borrow)]
    pub(super) name: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) value: Cow<'a, str>,
}

/// Reads a recording.
pub(super) fn log(text: &str) -> Result<Log<'_>, String> {
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
    let version = any.log.ok_or("it is not a HAR: there is no log in it")?.version.unwrap_or_default();
    if !version.is_empty() && !VERSIONS.contains(&version.as_str()) {
        let (version, known) = (version.escape_debug(), VERSIONS.join(" and "));
        return Err(format!("it is a HAR of version {version}; known are {known}"));
    }
    serde_json::from_str::<Har<'_>>(text).map(|har| har.log).map_err(other)
}

impl Recorded<'_> {
    /// The value of a header; none if it was not sent.
    fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
        found.map(|header| header.value.trim())
    }

    /// True if it had a body that the recording does not have. Of a form with files, the recording has names at most.
    pub(super) fn lacks_body(&self) -> bool {
        let post = self.post.as_ref();
        if post.is_some_and(|post| !post.text.is_empty()) {
            return false;
        }
        if post.is_some_and(|post| !post.params.is_empty()) {
            return post.is_some_and(|post| is_of_type(post.mime.as_deref(), &["multipart/form-data"]));
        }
        let length = self.header("content-length").and_then(|value| value.parse::<u64>().ok());
        self.body_bytes.is_some_and(|bytes| bytes > 0.0)
            || length.is_some_and(|bytes| bytes > 0)
            || self.header("transfer-encoding").is_some()
    }
}

impl Response {
    /// True of a page: HTML, be it from the server or confirmed by it to be what the browser had in its cache.
    pub(super) fn is_page(&self) -> bool {
        let mime = self.content.as_ref().and_then(|content| content.mime.as_deref());
        matches!(self.status, 200..=299 | 304) && is_of_type(mime, &["text/html", "application/xhtml+xml"])
    }

    /// True if it only says where the answer is.
    pub(super) fn is_redirect(&self) -> bool {
        (300..400).contains(&self.status) && self.status != 304
    }
}

/// True if a media type is one of `types`, whatever its parameters are.
fn is_of_type(mime: Option<&str>, types: &[&str]) -> bool {
    let essence = mime.and_then(|mime| mime.split(';').next()).unwrap_or_default().trim();
    types.iter().any(|one| one.eq_ignore_ascii_case(essence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_borrowed_and_contents_of_responses_are_not_kept() {
        let entry = serde_json::json!({
            "request": {"method": "GET", "url": "https://shop/a", "headers": [{"name": "A", "value": "b"}]},
            "response": {"status": 200, "content": {"text": "x".repeat(10_000)}},
        });
        let text = serde_json::json!({"log": {"version": "1.2", "entries": [entry]}}).to_string();
        let log = log(&text).unwrap();
        let Recorded { method, url, headers, .. } = &log.entries[0].request;
        assert!([method, url, &headers[0].name, &headers[0].value].iter().all(|text| matches!(text, Cow::Borrowed(_))));
    }

    #[test]
    fn a_body_is_missing_where_something_was_sent_and_nothing_was_recorded() {
        let lacks = |request: serde_json::Value| {
            let mut request = request;
            (request["method"], request["url"]) = ("POST".into(), "http://shop/".into());
            serde_json::from_str::<Recorded<'_>>(&request.to_string()).unwrap().lacks_body()
        };
        let header = |name: &str, value: &str| serde_json::json!({"headers": [{"name": name, "value": value}]});
        assert!(lacks(serde_json::json!({"bodySize": 83})));
        assert!(lacks(header("Content-Length", "83")));
        assert!(lacks(header("transfer-encoding", "chunked")));
        assert!(lacks(serde_json::json!({"bodySize": 5, "postData": {"mimeType": "text/plain", "text": ""}})));
        let files = serde_json::json!({"mimeType": "multipart/form-data; boundary=x", "params": [{"name": "a"}]});
        assert!(lacks(serde_json::json!({"postData": files})));
        assert!(!lacks(serde_json::json!({"bodySize": -1})));
        assert!(!lacks(serde_json::json!({"bodySize": null})));
        assert!(!lacks(header("Content-Length", "0")));
        assert!(!lacks(serde_json::json!({"bodySize": 3, "postData": {"text": "a=b"}})));
        assert!(!lacks(serde_json::json!({"bodySize": 3, "postData": {"params": [{"name": "a", "value": "b"}]}})));
    }
}
