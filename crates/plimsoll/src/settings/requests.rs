//! Mixes of requests: a list, or a recording of a browser.

mod har;
mod url_file;

use crate::exit::CommandError;
use crate::settings::target_url::TargetUrl;
use model::Request;
use std::path::{Path, PathBuf};

/// Most requests of a mix.
const REQUESTS_MAX: usize = 10_000;
/// Largest file of requests.
const FILE_MAX_BYTES: u64 = 256 << 20;

/// File with requests: `--urls` or `--har`.
pub(crate) enum RequestFile {
    Urls(PathBuf),
    Har(PathBuf),
}

/// Requests from a file, and where they go.
#[derive(Debug)]
pub(crate) struct Listed {
    /// The server they name; none when they only name paths.
    pub(crate) origin: Option<TargetUrl>,
    pub(crate) requests: Vec<Request>,
    /// What the user should know about what was left out; empty when nothing was.
    pub(crate) note: String,
}

impl Listed {
    /// The requests of `file`, with the `headers` that were typed. `url` is the server that was named.
    pub(crate) fn read(
        file: &RequestFile,
        headers: &[(String, String)],
        url: Option<&TargetUrl>,
    ) -> Result<Self, CommandError> {
        let mut listed = match file {
            RequestFile::Urls(path) => url_file::read(path, url)?,
            RequestFile::Har(path) => har::read(path, url)?,
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
fn text(flag: &str, path: &Path) -> Result<String, CommandError> {
    let wrong = |why: String| CommandError::usage(format!("{flag} {}: {why}", path.display()));
    let unreadable = |error: std::io::Error| wrong(format!("cannot read the file: {error}"));
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > FILE_MAX_BYTES {
        return Err(wrong(format!("the file has {size} bytes; at most {FILE_MAX_BYTES} are read")));
    }
    let bytes = std::fs::read(path).map_err(unreadable)?;
    String::from_utf8(bytes).map_err(|_| wrong("the file is not text in UTF-8".into()))
}

/// Adds a request, or its weight to the one that is the same.
fn add(requests: &mut Vec<Request>, request: Request) {
    let same = |other: &&mut Request| Request { weight: request.weight, ..(**other).clone() } == request;
    match requests.iter_mut().find(same) {
        Some(other) => other.weight = other.weight.saturating_add(request.weight),
        None => requests.push(request),
    }
}
