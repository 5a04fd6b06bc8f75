//! Mix of requests that is put together from a list, within its limits.
//!
//! A list may come from somebody else. So it names files beside it and below only: else it would send whatever the caller
//! may read on this machine to a server of its author's choice.

use super::super::{REQUESTS_MAX, body_of, method};
use crate::TargetUrl;
use crate::open_file;
use model::{Protocol, Redacted, Request};
use std::borrow::Cow;
use std::path::{Component, Path};

/// Headers that follow from the body.
const OWN_HEADERS: [&str; 2] = ["content-length", "transfer-encoding"];

/// Most headers of a request in a list.
const HEADERS_MAX: usize = 1_000;

/// Why a list is wrong.
#[derive(Debug)]
pub(super) struct Wrong {
    /// Number of the line; none where it is about several.
    pub(super) line: Option<u64>,
    pub(super) why: String,
}

impl Wrong {
    /// Makes errors of a line.
    pub(super) fn at(line: u64) -> impl Fn(String) -> Self {
        move |why| Self { line: Some(line), why }
    }
}

/// A request as a list has it.
pub(super) struct Entry<'l> {
    pub(super) weight: u32,
    pub(super) method: &'l str,
    /// Path, or URL.
    pub(super) place: &'l str,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Body<'l>,
}

/// What is sent with it.
pub(super) enum Body<'l> {
    /// As it stands in the list.
    Bytes(Cow<'l, [u8]>),
    /// The content of the file of this name.
    File(&'l str),
}

impl<'l> Body<'l> {
    pub(super) const NONE: Self = Self::Bytes(Cow::Borrowed(&[]));

    /// The `text` of a body, or the file that it names behind `mark`.
    pub(super) fn marked(text: &'l str, mark: char) -> Self {
        match text.strip_prefix(mark) {
            Some(name) => Self::File(name.trim_start()),
            None => Self::Bytes(Cow::Borrowed(text.as_bytes())),
        }
    }
}

/// The requests so far.
pub(super) struct Mix<'a> {
    file: &'a Path,
    /// The server on the command line.
    named: Option<&'a TargetUrl>,
    origin: Option<TargetUrl>,
    requests: Vec<Request>,
    bodies_bytes: u64,
    bodies_max_bytes: u64,
}

impl<'a> Mix<'a> {
    pub(super) fn new(file: &'a Path, named: Option<&'a TargetUrl>, bodies_max_bytes: u64) -> Self {
        Self { file, named, origin: named.cloned(), requests: Vec::new(), bodies_bytes: 0, bodies_max_bytes }
    }

    /// The server that they name, and the requests.
    pub(super) fn end(self) -> (Option<TargetUrl>, Vec<Request>) {
        (self.origin, self.requests)
    }

    /// Path of the URL on the command line.
    pub(super) fn named_path(&self) -> &str {
        self.named.map_or("/", |url| &url.path)
    }

    /// Adds a request. The first URL with a host says where everything goes.
    pub(super) fn add(&mut self, entry: Entry<'_>) -> Result<(), String> {
        if self.requests.len() == REQUESTS_MAX {
            return Err(format!("a mix has at most {REQUESTS_MAX} requests"));
        }
        let method = method(entry.method).map_err(|error| error.message)?;
        let path = self.path_of(entry.place)?;
        entry.headers.iter().try_for_each(check_header)?;
        let body = match entry.body {
            Body::Bytes(bytes) => bytes.into_owned(),
            Body::File(name) => content(name, self.file)?,
        };
        let body_bytes = body.len() as u64;
        self.bodies_bytes += body_bytes;
        if self.bodies_bytes > self.bodies_max_bytes {
            return Err(format!("the bodies of a mix have at most {} bytes together", self.bodies_max_bytes));
        }
        let Entry { weight, headers, .. } = entry;
        self.requests.push(Request { method, weight, headers, body_bytes, body, ..Request::get(&path) });
        Ok(())
    }

    fn path_of(&mut self, place: &str) -> Result<String, String> {
        // A path is looked at as a URL would be, with any host.
        let on_any = |path: &str| TargetUrl::parse(&format!("http://host{path}"));
        if place.starts_with('/') {
            return on_any(place).map(|url| url.path).map_err(|_| format!("{:?} is not a path", Redacted::url(place)));
        }
        let url = TargetUrl::parse(place).map_err(|error| error.message)?;
        match &self.origin {
            Some(origin) if !origin.is_same_server(&url) => Err(self.another_server(&url, origin)),
            Some(_) => Ok(url.path),
            None => Ok(self.origin.insert(url).path.clone()),
        }
    }

    /// A list of one server can be sent to the address of another one; a list of two servers cannot.
    fn another_server(&self, url: &TargetUrl, origin: &TargetUrl) -> String {
        let wrong = format!("{} is another server than {}; a run measures one server", url.origin(), origin.origin());
        let are_http = [url, origin].iter().all(|one| one.protocol() == Protocol::Http1);
        let Some(named) = self.named.filter(|_| are_http) else {
            return format!("{wrong}: write a list for each");
        };
        // What answers at a port for http does not for https.
        let address = match named.scheme == url.scheme {
            // A shell takes brackets for a pattern.
            true if named.host.contains(':') => format!("'[{}]:{}'", named.host, named.port),
            true => format!("{}:{}", named.host, named.port),
            false => "HOST:PORT".to_owned(),
        };
        let file = self.file.to_string_lossy();
        let file = shlex::try_quote(&file).unwrap_or_else(|_| "FILE".into());
        format!(
            "{wrong}: to send the requests for {} to {address}, type plimsoll run {}/ --connect-to {address} --urls {file}",
            url.authority,
            url.origin()
        )
    }
}

/// Adds a header to those of a request.
pub(super) fn add_header<T>(headers: &mut Vec<T>, header: T) -> Result<(), String> {
    if headers.len() == HEADERS_MAX {
        return Err(format!("a request has at most {HEADERS_MAX} headers"));
    }
    headers.push(header);
    Ok(())
}

/// Values may be secrets, and are not shown.
fn check_header((name, value): &(String, String)) -> Result<(), String> {
    if http::HeaderName::from_bytes(name.as_bytes()).is_err() {
        return Err("a header has no valid name; write it as Name: value".to_owned());
    }
    if http::HeaderValue::from_str(value).is_err() {
        return Err(format!("the header {name} has a value with forbidden characters"));
    }
    match OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
        true => Err(format!("the header {name} is set by plimsoll itself; leave it out")),
        false => Ok(()),
    }
}

/// The content of the file `name`, which a list names.
fn content(name: &str, list: &Path) -> Result<Vec<u8>, String> {
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
    // Whoever has sent the list may have put a pipe there, or a device.
    let file = open_file(&found).map_err(|error| wrong(&format!("cannot read the file: {error}")))?;
    body_of(file).map_err(|why| wrong(&why))
}
