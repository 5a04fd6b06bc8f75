//! Promises of the readers on arbitrary bytes, for the fuzz targets and the tests that fuzz a little.

use crate::requests::{BODIES_MAX_BYTES, REQUESTS_MAX, parse_har, parse_url_list};
use crate::{InputError, Listed};
use std::path::Path;

/// Name of the file that the bytes stand for; its directory does not exist, so that no file is read.
const FILE: &str = "/nowhere/requests";

/// Reads `data` as a list of requests: no panic, and what is taken can be sent.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_url_list(data: &[u8]) {
    if let Ok(text) = str::from_utf8(data) {
        check(parse_url_list(text, Path::new(FILE), None));
    }
}

/// Reads `data` as a recording of a browser: no panic, and what is taken can be sent.
///
/// # Panics
/// When a promise is broken.
pub fn fuzz_har(data: &[u8]) {
    if let Ok(text) = str::from_utf8(data) {
        check(parse_har(text, Path::new(FILE), None));
    }
}

fn check(listed: Result<Listed, InputError>) {
    let listed = match listed {
        Ok(listed) => listed,
        Err(error) => return assert!(!error.message.contains('\n'), "{error}"),
    };
    assert!((1..=REQUESTS_MAX).contains(&listed.requests.len()), "{} requests", listed.requests.len());
    let bodies_bytes: u64 = listed.requests.iter().map(|request| request.body.len() as u64).sum();
    assert!(bodies_bytes <= BODIES_MAX_BYTES, "{bodies_bytes} bytes of bodies");
    // FastCGI carries lengths before what they count, and any byte in a path.
    let is_http = listed.origin.is_none_or(|origin| origin.socket.is_none());
    for request in &listed.requests {
        let is_method = http::Method::from_bytes(request.method.as_bytes()).is_ok_and(|method| method != "CONNECT");
        assert!(is_method && request.weight > 0, "{request:?}");
        assert!(request.path.starts_with('/'), "{request:?}");
        assert!(!is_http || request.path.bytes().all(|byte| byte > b' '), "{request:?}");
        for (name, value) in &request.headers {
            assert!(http::HeaderName::from_bytes(name.as_bytes()).is_ok(), "{name:?}");
            assert!(http::HeaderValue::from_str(value).is_ok(), "{value:?}");
        }
    }
}
