//! Writer of requests.

use super::{HEADER_BYTES, record, record_header, request_id};
use crate::StreamId;
use crate::http1::USER_AGENT;

/// Role of an application that answers requests.
const RESPONDER: u8 = 1;
/// The application leaves the connection open.
const KEEP_CONN: u8 = 1;
/// Most bytes of one record.
const CONTENT_MAX: usize = u16::MAX as usize;

/// One request.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Such as `GET`.
    pub method: &'a str,
    /// Path and query as in a URL.
    pub path: &'a str,
    /// Host and port, as an HTTP client would ask for them.
    pub authority: &'a str,
    /// Further headers, passed on as `HTTP_NAME`; those named as a CGI variable, in capitals, as they are.
    pub headers: &'a [(String, String)],
    /// True if the connection is left open.
    pub keepalive: bool,
    /// Body.
    pub body: &'a [u8],
    /// File of the script on the application's side: `SCRIPT_FILENAME`.
    pub script: &'a str,
}

/// Appends one request with its parameters and its body, for stream 0.
pub fn write_request(out: &mut Vec<u8>, request: &Request<'_>) {
    let flags = if request.keepalive { KEEP_CONN } else { 0 };
    write_record(out, record::BEGIN_REQUEST, &[0, RESPONDER, flags, 0, 0, 0, 0, 0]);
    let mut params = Vec::new();
    write_params(&mut params, request);
    write_stream(out, record::PARAMS, &params);
    write_stream(out, record::STDIN, request.body);
}

/// Puts a request that [`write_request`] has written on another stream.
pub fn set_stream(mut request: &mut [u8], stream: StreamId) {
    while let Some((header, rest)) = request.split_first_chunk_mut::<HEADER_BYTES>() {
        header[2..4].copy_from_slice(&request_id(stream).to_be_bytes());
        let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
        request = rest.get_mut(length..).unwrap_or_default();
    }
}

/// A stream of bytes: as many records as it needs, and the empty one that ends it.
fn write_stream(out: &mut Vec<u8>, kind: u8, bytes: &[u8]) {
    bytes.chunks(CONTENT_MAX).for_each(|chunk| write_record(out, kind, chunk));
    write_record(out, kind, &[]);
}

fn write_record(out: &mut Vec<u8>, kind: u8, content: &[u8]) {
    out.extend_from_slice(&record_header(kind, request_id(0), content.len() as u16));
    out.extend_from_slice(content);
}

/// The variables of CGI (RFC 3875, section 4.1). What `headers` names in capitals stands in place of what follows from the
/// request.
fn write_params(out: &mut Vec<u8>, request: &Request<'_>) {
    let Request { method, path, authority, headers, body, script, .. } = *request;
    let (script_name, query) = path.split_once('?').unwrap_or((path, ""));
    let (host, port) = host_and_port(authority);
    let length = body.len().to_string();
    let length = if body.is_empty() { "" } else { length.as_str() };
    let own = [
        ("GATEWAY_INTERFACE", "CGI/1.1"),
        ("SERVER_PROTOCOL", "HTTP/1.1"),
        ("SERVER_SOFTWARE", USER_AGENT),
        ("SERVER_NAME", host),
        ("SERVER_PORT", port),
        ("REMOTE_ADDR", "127.0.0.1"),
        ("REQUEST_METHOD", method),
        ("REQUEST_URI", path),
        ("SCRIPT_NAME", script_name),
        ("DOCUMENT_URI", script_name),
        ("SCRIPT_FILENAME", script),
        ("QUERY_STRING", query),
        ("CONTENT_LENGTH", length),
        ("HTTP_HOST", authority),
        ("HTTP_USER_AGENT", USER_AGENT),
        ("HTTP_ACCEPT", "*/*"),
    ];
    let given: Vec<(String, &str)> = headers.iter().map(|(name, value)| (variable(name), value.as_str())).collect();
    for (name, value) in own.into_iter().filter(|(name, _)| !given.iter().any(|(given, _)| given == name)) {
        write_pair(out, name, value);
    }
    given.iter().for_each(|(name, value)| write_pair(out, name, value));
}

/// The variable that a header becomes.
fn variable(name: &str) -> String {
    let is_variable = name.contains('_') && !name.bytes().any(|c| c.is_ascii_lowercase());
    let upper = name.to_ascii_uppercase().replace('-', "_");
    match upper.as_str() {
        _ if is_variable => name.to_owned(),
        "CONTENT_TYPE" | "CONTENT_LENGTH" => upper,
        _ => format!("HTTP_{upper}"),
    }
}

fn host_and_port(authority: &str) -> (&str, &str) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (authority, "80"),
    }
}

/// A name and its value, as in parameters and in values of the application.
pub(super) fn write_pair(out: &mut Vec<u8>, name: &str, value: &str) {
    write_length(out, name.len());
    write_length(out, value.len());
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(value.as_bytes());
}

/// One byte below 128, else four with the highest bit set.
fn write_length(out: &mut Vec<u8>, length: usize) {
    match u8::try_from(length) {
        Ok(short) if short < 128 => out.push(short),
        _ => out.extend_from_slice(&(length as u32 | 1 << 31).to_be_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::values::pairs;
    use super::*;

    /// Type, identifier and content of each record.
    fn records(mut bytes: &[u8]) -> Vec<(u8, u16, Vec<u8>)> {
        let mut records = Vec::new();
        while let Some((header, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() {
            let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
            assert_eq!((header[0], header[6]), (1, 0));
            records.push((header[1], u16::from_be_bytes([header[2], header[3]]), rest[..length].to_vec()));
            bytes = &rest[length..];
        }
        records
    }

    fn request<'a>(headers: &'a [(String, String)], body: &'a [u8]) -> Request<'a> {
        let (method, path, authority, script) = ("POST", "/a/b.php?x=1&y=2", "shop.example:8080", "/srv/a/b.php");
        Request { method, path, authority, headers, keepalive: true, body, script }
    }

    #[test]
    fn a_request_has_its_variables_and_its_body() {
        let mut out = Vec::new();
        let headers = [("X-Id", "7"), ("Content-Type", "text/plain"), ("REMOTE_ADDR", "192.0.2.1")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        write_request(&mut out, &request(&headers, b"hello"));
        let records = records(&out);
        let kinds: Vec<u8> = records.iter().map(|(kind, ..)| *kind).collect();
        assert_eq!(kinds, [1, 4, 4, 5, 5]);
        assert_eq!(records[0].2, [0, 1, 1, 0, 0, 0, 0, 0]);
        assert_eq!((records[3].2.as_slice(), records[4].2.len()), (&b"hello"[..], 0));
        let pairs: Vec<_> = pairs(&records[1].2).collect();
        for (name, value) in [
            ("SCRIPT_FILENAME", "/srv/a/b.php"),
            ("SCRIPT_NAME", "/a/b.php"),
            ("QUERY_STRING", "x=1&y=2"),
            ("REQUEST_URI", "/a/b.php?x=1&y=2"),
            ("SERVER_NAME", "shop.example"),
            ("SERVER_PORT", "8080"),
            ("CONTENT_LENGTH", "5"),
            ("CONTENT_TYPE", "text/plain"),
            ("HTTP_X_ID", "7"),
            ("REMOTE_ADDR", "192.0.2.1"),
        ] {
            let of = |(one, _): &&(&[u8], &[u8])| *one == name.as_bytes();
            let found: Vec<_> = pairs.iter().filter(of).map(|(_, value)| *value).collect();
            assert_eq!(found, [value.as_bytes()], "{name}");
        }
    }

    #[test]
    fn long_values_and_long_bodies_are_whole() {
        let long = "v".repeat(70_000);
        let headers = [("X-Long".to_owned(), long.clone())];
        let body = vec![b'b'; 200_000];
        let mut out = Vec::new();
        write_request(&mut out, &request(&headers, &body));
        let records = records(&out);
        let of = |kind: u8| records.iter().filter(move |(one, ..)| *one == kind);
        let stream = |kind: u8| of(kind).flat_map(|(.., content)| content.clone()).collect::<Vec<_>>();
        assert_eq!(stream(record::STDIN), body);
        assert!(pairs(&stream(record::PARAMS)).any(|pair| pair == (&b"HTTP_X_LONG"[..], long.as_bytes())));
    }

    #[test]
    fn a_request_on_another_stream_differs_in_its_identifier_only() {
        let mut out = Vec::new();
        write_request(&mut out, &request(&[], &vec![b'b'; 70_000]));
        let first = records(&out);
        set_stream(&mut out, 299);
        let moved = records(&out);
        assert!(first.iter().all(|(_, id, _)| *id == 1) && moved.iter().all(|(_, id, _)| *id == 300));
        let rest = |records: Vec<(u8, u16, Vec<u8>)>| records.into_iter().map(|(k, _, c)| (k, c)).collect::<Vec<_>>();
        assert_eq!(rest(first), rest(moved));
    }
}
