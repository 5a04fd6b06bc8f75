//! Access logs.

use serde_json::Value;

/// A request as a server has logged it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Logged {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) status: u64,
    /// Of the body.
    pub(crate) bytes: u64,
}

impl Logged {
    /// A line of the common log format: `HOST - - [TIME] "METHOD PATH VERSION" STATUS BYTES`, with `-` for no bytes.
    #[track_caller]
    pub(super) fn from_common(line: &str) -> Self {
        let parts: Vec<&str> = line.split('"').collect();
        let parsed = || {
            let (mut request, mut answer) = (parts.get(1)?.split(' '), parts.get(2)?.split_whitespace());
            let (method, path) = (request.next()?.to_owned(), request.next()?.to_owned());
            let status = answer.next()?.parse().ok()?;
            let bytes = answer.next()?.replace('-', "0").parse().ok()?;
            Some(Self { method, path, status, bytes })
        };
        parsed().unwrap_or_else(|| panic!("not of an access log: {line:?}"))
    }

    /// A line of Caddy's log.
    #[track_caller]
    pub(super) fn from_json(line: &str) -> Self {
        let json: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("no text in {line:?}")).to_owned();
        let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("no number in {line:?}"));
        Self {
            method: text(&json["request"]["method"]),
            path: text(&json["request"]["uri"]),
            status: number(&json["status"]),
            bytes: number(&json["size"]),
        }
    }
}
