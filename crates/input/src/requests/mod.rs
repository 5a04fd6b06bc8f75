//! Mixes of requests: a list, or a recording of a browser.

mod har;
mod url_list;

pub(crate) use har::parse as parse_har;
pub(crate) use url_list::parse as parse_url_list;

use crate::{InputError, TargetUrl, read_at_most, read_open, text_at_most};
use model::{Recording, Request};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Most requests of a mix.
pub(crate) const REQUESTS_MAX: usize = 10_000;
/// Largest file of requests.
const FILE_MAX_BYTES: u64 = 256 << 20;
/// Largest request body.
const BODY_MAX_BYTES: u64 = 64 << 20;
/// Bodies of all requests of a mix together.
pub(crate) const BODIES_MAX_BYTES: u64 = 256 << 20;

/// File with requests.
#[derive(Clone, Debug)]
pub enum RequestFile {
    /// `--urls`: a request a line.
    Urls(PathBuf),
    /// `--har`: HTTP Archive.
    Har(PathBuf),
}

/// Requests from a file, and where they go.
#[derive(Debug)]
pub struct Listed {
    /// The server they name; none when they only name paths.
    pub origin: Option<TargetUrl>,
    /// At least one.
    pub requests: Vec<Request>,
    /// What was taken of the recording; none of a list.
    pub recording: Option<Recording>,
    /// What the user should know about how the file was read; empty when there is nothing.
    pub note: String,
}

impl Listed {
    /// Reads the requests of `file` and adds the `headers` that were typed. `url` is the server that was named.
    ///
    /// # Errors
    /// If the file cannot be read, is too large, or a request in it cannot be sent.
    pub fn read(file: &RequestFile, headers: &[(String, String)], url: Option<&TargetUrl>) -> Result<Self, InputError> {
        let mut listed = match file {
            RequestFile::Urls(path) => url_list::parse(&text("--urls", path)?, path, url)?,
            RequestFile::Har(path) => har::parse(&text("--har", path)?, path, url)?,
        };
        for request in &mut listed.requests {
            // What was typed replaces what was recorded.
            request.headers.retain(|(name, _)| !headers.iter().any(|(typed, _)| typed.eq_ignore_ascii_case(name)));
            request.headers.extend(headers.iter().cloned());
        }
        Ok(listed)
    }
}

/// The text of a file that `flag` names.
fn text(flag: &str, path: &Path) -> Result<String, InputError> {
    text_at_most(path, FILE_MAX_BYTES).map_err(|error| InputError::new(format!("{flag} {}: {error}", path.display())))
}

/// Reads a file that is sent as a body.
///
/// # Errors
/// If it cannot be read, or is too large for a body.
pub fn body_file(path: &Path) -> Result<Vec<u8>, InputError> {
    read_at_most(path, BODY_MAX_BYTES).map_err(|error| InputError::new(error.to_string()))
}

/// The same of a file that is open.
fn body_of(file: File) -> Result<Vec<u8>, InputError> {
    read_open(file, BODY_MAX_BYTES).map_err(|error| InputError::new(error.to_string()))
}

/// The method `text`, in upper case.
///
/// # Errors
/// If it is none, or one that cannot be measured.
pub fn method(text: &str) -> Result<String, InputError> {
    let method = text.to_ascii_uppercase();
    match http::Method::from_bytes(method.as_bytes()) {
        Ok(_) if method == "CONNECT" => Err(InputError::new("--method CONNECT opens a tunnel and cannot be measured")),
        Ok(_) => Ok(method),
        Err(_) => Err(InputError::new(format!("--method {text:?} is not an HTTP method; write for example POST"))),
    }
}

/// Adds a request, or its weight to the one that is the same.
fn add(requests: &mut Vec<Request>, request: Request) {
    match requests.iter_mut().find(|other| is_same(other, &request)) {
        Some(other) => other.weight = other.weight.saturating_add(request.weight),
        None => requests.push(request),
    }
}

/// True if both are sent and judged alike, whatever their weights are.
fn is_same(one: &Request, other: &Request) -> bool {
    let Request { method, path, headers, body_bytes, body, weight: _, template, contract } = one;
    path == &other.path
        && method == &other.method
        && headers == &other.headers
        && (body_bytes, body) == (&other.body_bytes, &other.body)
        && template == &other.template
        && contract == &other.contract
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_differ_in_anything_but_their_weight_are_two() {
        let request = Request { body: b"x".to_vec(), body_bytes: 1, ..Request::get("/a") };
        let mut requests = Vec::new();
        add(&mut requests, request.clone());
        add(&mut requests, Request { weight: 4, ..request.clone() });
        assert_eq!((requests.len(), requests[0].weight), (1, 5));
        let others = [
            Request { method: "PUT".into(), ..request.clone() },
            Request { path: "/b".into(), ..request.clone() },
            Request { headers: vec![("A".into(), "b".into())], ..request.clone() },
            Request { body: b"y".to_vec(), ..request.clone() },
            Request { template: true, ..request.clone() },
            Request { contract: model::Contract { status: Some(404), ..Default::default() }, ..request },
        ];
        let n = others.len();
        others.into_iter().for_each(|other| add(&mut requests, other));
        assert_eq!(requests.len(), 1 + n);
    }

    #[test]
    fn a_file_of_requests_that_cannot_be_read_is_named_with_its_flag() {
        for (file, named) in [
            (RequestFile::Urls("/nowhere/list".into()), "--urls /nowhere/list: cannot read the file"),
            (RequestFile::Har("/nowhere/shop.har".into()), "--har /nowhere/shop.har: cannot read the file"),
        ] {
            let error = Listed::read(&file, &[], None).unwrap_err();
            assert!(error.message.starts_with(named), "{error}");
        }
    }

    #[test]
    fn headers_that_were_typed_replace_those_of_the_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "/a\n").unwrap();
        let typed = [("Accept".to_owned(), "text/html".to_owned())];
        let listed = Listed::read(&RequestFile::Urls(file.path().into()), &typed, None).unwrap();
        assert_eq!(listed.requests[0].headers, typed);
    }
}
