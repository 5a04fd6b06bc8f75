//! `--urls FILE`: a request a line.

use super::{Listed, REQUESTS_MAX, text};
use crate::exit::CommandError;
use crate::settings;
use crate::settings::target_url::TargetUrl;
use model::Request;
use std::path::Path;

/// Highest weight of a request.
const WEIGHT_MAX: u32 = 1_000_000;
const FORM: &str = "a line is [WEIGHT] [METHOD] PATH|URL [BODY|@FILE], such as 3 POST /cart @cart.json";

/// The requests in the file `path`. Lines without a host go to `url`.
pub(super) fn read(path: &Path, url: Option<&TargetUrl>) -> Result<Listed, CommandError> {
    let text = text("--urls", path)?;
    let mut origin = url.cloned();
    let mut requests = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |why: String| CommandError::usage(format!("--urls {}, line {number}: {why}", path.display()));
        if requests.len() == REQUESTS_MAX {
            return Err(wrong(format!("a mix has at most {REQUESTS_MAX} requests")));
        }
        requests.push(request(line, path, &mut origin).map_err(wrong)?);
    }
    if requests.is_empty() {
        return Err(CommandError::usage(format!("--urls {}: there is no request in the file; {FORM}", path.display())));
    }
    Ok(Listed { origin, requests, note: String::new() })
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
            (settings::method(first).map_err(|error| error.message)?, rest)
        }
        _ => ("GET".to_owned(), rest),
    };
    let (place, body) = word(rest);
    if place.is_empty() {
        return Err(format!("no path or URL; {FORM}"));
    }
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
        return on_any(place).map(|url| url.path).map_err(|_| format!("{place:?} is not a path"));
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

fn body_of(text: &str, list: &Path) -> Result<Vec<u8>, String> {
    let Some(name) = text.strip_prefix('@') else { return Ok(text.into()) };
    // Observers the list, so that a list and its bodies can be moved together.
    let path = list.with_file_name(name);
    settings::body_file(&path).map_err(|why| format!("{}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(lines: &str) -> Result<Listed, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), lines).unwrap();
        read(file.path(), None).map_err(|error| error.message)
    }

    #[test]
    fn a_line_has_weight_method_place_and_body() {
        let listed = parse("# mix\n\n/a\n  3 /b?x=1\nPOST /c {\"a\": 1}\n2 DELETE http://h:81/d\n").unwrap();
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
    fn a_body_file_lies_beside_the_list() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("b.json"), "{}").unwrap();
        std::fs::write(folder.path().join("list"), "POST /x @b.json\n").unwrap();
        let listed = read(&folder.path().join("list"), None).unwrap();
        assert_eq!(listed.requests[0].body, b"{}");
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
        ] {
            let message = parse(lines).unwrap_err();
            assert!(message.contains(why) && message.contains("--urls"), "{lines:?}: {message}");
        }
    }
}
