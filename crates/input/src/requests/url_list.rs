//! `--urls FILE`: a request a line.
//!
//! A list may come from somebody else. So it names files beside it and below only: else it would send whatever the caller
//! may read on this machine to a server of its author's choice.

use super::{BODIES_MAX_BYTES, Listed, REQUESTS_MAX, body_file, method};
use crate::{InputError, TargetUrl};
use model::{Redacted, Request};
use std::path::{Component, Path};

/// Highest weight of a request.
const WEIGHT_MAX: u32 = 1_000_000;
const FORM: &str = "a line is [WEIGHT] [METHOD] PATH|URL [BODY|@FILE], such as 3 POST /cart @cart.json";

/// The requests in the `text` of the file `path`. Lines without a host go to `url`.
pub(crate) fn parse(text: &str, path: &Path, url: Option<&TargetUrl>) -> Result<Listed, InputError> {
    parse_within(BODIES_MAX_BYTES, text, path, url)
}

/// The same, with another limit for all bodies together.
fn parse_within(bodies_max_bytes: u64, text: &str, path: &Path, url: Option<&TargetUrl>) -> Result<Listed, InputError> {
    let mut origin = url.cloned();
    let mut requests = Vec::new();
    let mut bodies_bytes = 0;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |why: String| InputError::new(format!("--urls {}, line {number}: {why}", path.display()));
        if requests.len() == REQUESTS_MAX {
            return Err(wrong(format!("a mix has at most {REQUESTS_MAX} requests")));
        }
        let request = request(line, path, &mut origin).map_err(wrong)?;
        bodies_bytes += request.body_bytes;
        if bodies_bytes > bodies_max_bytes {
            return Err(wrong(format!("the bodies of a mix have at most {bodies_max_bytes} bytes together")));
        }
        requests.push(request);
    }
    if requests.is_empty() {
        return Err(InputError::new(format!("--urls {}: there is no request in the file; {FORM}", path.display())));
    }
    Ok(Listed { origin, requests, recording: None, note: String::new() })
}

/// Reads a line. The first URL with a host says where everything goes.
fn request(line: &str, file: &Path, origin: &mut Option<TargetUrl>) -> Result<Request, String> {
    let (weight, rest) = match word(line) {
        (first, rest) if first.bytes().all(|b| b.is_ascii_digit()) => {
            let weight = first.parse().ok().filter(|weight| (1..=WEIGHT_MAX).contains(weight));
            (weight.ok_or_else(|| format!("the weight {first} is not between 1 and {WEIGHT_MAX}"))?, rest)
        }
        _ => (1, line),
    };
    let (method, rest) = match word(rest) {
        (first, rest) if first.bytes().all(|b| b.is_ascii_uppercase()) && !first.is_empty() => {
            (Some(method(first).map_err(|error| error.message)?), rest)
        }
        _ => (None, rest),
    };
    let (place, body) = word(rest);
    if place.is_empty() {
        return Err(format!("no path or URL; {FORM}"));
    }
    let method = method.unwrap_or_else(|| if body.is_empty() { "GET" } else { "POST" }.to_owned());
    let path = path_of(place, origin)?;
    let body = body_of(body, file)?;
    Ok(Request { method, weight, body_bytes: body.len() as u64, body, ..Request::get(&path) })
}

/// The first word of `text`, and what follows it.
fn word(text: &str) -> (&str, &str) {
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (first, rest.trim_start())
}

fn path_of(place: &str, origin: &mut Option<TargetUrl>) -> Result<String, String> {
    // A path is looked at as a URL would be, with any host.
    let on_any = |path: &str| TargetUrl::parse(&format!("http://host{path}"));
    if place.starts_with('/') {
        return on_any(place).map(|url| url.path).map_err(|_| format!("{:?} is not a path", Redacted::url(place)));
    }
    let url = TargetUrl::parse(place).map_err(|error| error.message)?;
    match origin {
        Some(origin) if !origin.is_same_server(&url) => {
            Err(format!("{} is another server than {}; a run measures one server", url.origin(), origin.origin()))
        }
        Some(_) => Ok(url.path),
        None => Ok(origin.insert(url).path.clone()),
    }
}

/// A body as it stands in the line, or the file that it names.
fn body_of(text: &str, list: &Path) -> Result<Vec<u8>, String> {
    let Some(name) = text.strip_prefix('@') else { return Ok(text.into()) };
    // Beside the list, so that a list and its bodies can be moved together.
    let path = list.with_file_name(name);
    let wrong = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    let outside = "it is not in the directory of the list, and a list names nothing outside it; copy it there";
    if !Path::new(name).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(wrong(&outside));
    }
    // A link may lead elsewhere.
    let whole = |path: &Path| path.canonicalize().map_err(|error| wrong(&format!("cannot read the file: {error}")));
    let folder = list.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let (found, folder) = (whole(&path)?, whole(folder)?);
    if !found.starts_with(folder) {
        return Err(wrong(&outside));
    }
    body_file(&found).map_err(|why| wrong(&why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn listed(lines: &str) -> Result<Listed, String> {
        parse(lines, Path::new("/nowhere/list"), None).map_err(|error| error.message)
    }

    #[test]
    fn a_line_has_weight_method_place_and_body() {
        let listed = listed("# mix\n\n/a\n  3 /b?x=1\nPOST /c {\"a\": 1}\n2 DELETE http://h:81/d\n").unwrap();
        let seen: Vec<_> =
            listed.requests.iter().map(|r| (r.weight, r.method.as_str(), r.path.as_str(), r.body.as_slice())).collect();
        let expected: [(u32, &str, &str, &[u8]); 4] = [
            (1, "GET", "/a", b""),
            (3, "GET", "/b?x=1", b""),
            (1, "POST", "/c", b"{\"a\": 1}"),
            (2, "DELETE", "/d", b""),
        ];
        assert_eq!(seen, expected);
        assert_eq!(listed.origin.unwrap().authority, "h:81");
    }

    #[test]
    fn a_body_without_a_method_is_posted() {
        let listed = listed("/cart {\"a\": 1}\nGET /search q\n/\n").unwrap();
        let methods: Vec<_> = listed.requests.iter().map(|request| request.method.as_str()).collect();
        assert_eq!(methods, ["POST", "GET", "GET"]);
    }

    #[test]
    fn a_body_file_lies_beside_the_list_or_below() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("bodies")).unwrap();
        std::fs::write(folder.path().join("b.json"), "{}").unwrap();
        std::fs::write(folder.path().join("bodies/c.json"), "[]").unwrap();
        let list = folder.path().join("list");
        let listed = parse("POST /x @b.json\nPOST /y @bodies/c.json\nPOST /z @./b.json\n", &list, None).unwrap();
        let bodies: Vec<_> = listed.requests.iter().map(|request| request.body.as_slice()).collect();
        assert_eq!(bodies, [b"{}", b"[]", b"{}"]);
    }

    #[test]
    fn a_foreign_list_cannot_send_files_from_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(folder.path().join("secret"), "s3cret").unwrap();
        std::fs::write(inner.join("own"), "mine").unwrap();
        symlink(folder.path().join("secret"), inner.join("link")).unwrap();
        symlink(inner.join("own"), inner.join("own-link")).unwrap();
        let read = |name: &str| parse(&format!("POST /x @{name}\n"), &inner.join("list"), None);
        for name in ["/etc/shadow", "../secret", "a/../../secret", "link"] {
            let message = read(name).unwrap_err().message;
            assert!(message.contains("line 1") && message.contains("names nothing outside"), "{name}: {message}");
        }
        assert_eq!(read("own-link").unwrap().requests[0].body, b"mine");
    }

    #[test]
    fn the_bodies_of_a_list_are_bounded_together() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ten"), "0123456789").unwrap();
        let read = |lines: &str| parse_within(40, lines, &folder.path().join("list"), None);
        assert_eq!(read(&"POST /x @ten\n".repeat(4)).unwrap().requests.len(), 4);
        let message = read(&"POST /x @ten\n".repeat(5)).unwrap_err().message;
        assert!(message.contains("line 5") && message.contains("at most 40 bytes together"), "{message}");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (lines, why) in [
            ("", "no request in the file"),
            ("# only this\n", "no request in the file"),
            ("/a\n0 /b\n", "line 2: the weight 0"),
            ("5\n", "line 1: no path"),
            ("CONNECT /x\n", "line 1: --method CONNECT"),
            ("http://a/\nhttp://b/x\n", "line 2: http://b is another server than http://a"),
            ("ftp://a/\n", "scheme is ftp"),
            ("POST /a @/nowhere\n", "line 1: /nowhere"),
            ("POST /a @nowhere\n", "line 1: /nowhere/nowhere: cannot read the file"),
        ] {
            let message = listed(lines).unwrap_err();
            assert!(message.contains(why) && message.contains("--urls"), "{lines:?}: {message}");
        }
    }
}
