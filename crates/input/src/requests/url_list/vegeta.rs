//! Targets of vegeta, in both of its formats.
//!
//! *HTTP*: a line with method and URL, lines with headers below it, and at last `@FILE` with the body. *JSON*: an object a line.

use super::mix::{Body, Entry, Mix, Wrong, add_header};
use super::{is_capitals, lines, word};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Target<'a> {
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    url: Cow<'a, str>,
    header: Option<BTreeMap<String, Vec<String>>>,
    /// Base64.
    body: Option<String>,
}

/// True if the first line is an object.
pub(super) fn is_json(text: &str, _: &Path) -> bool {
    lines(text).next().is_some_and(|(_, line)| line.starts_with('{'))
}

/// Reads targets in JSON.
pub(super) fn read_json(text: &str, mix: &mut Mix<'_>) -> Result<(), Wrong> {
    lines(text).try_for_each(|(number, line)| one_object(line, mix).map_err(Wrong::at(number)))
}

fn one_object(line: &str, mix: &mut Mix<'_>) -> Result<(), String> {
    // What stands in its place may be a secret: the column alone is shown.
    let Target { method, url, header, body } = serde_json::from_str(line).map_err(|error| {
        let column = error.column();
        format!("column {column} is not that of a target, which has a method, a url, and may have a header and a body")
    })?;
    let body = body.map(|body| STANDARD.decode(body)).transpose();
    let body = body.map_err(|_| "the body of a target is Base64, and this one is not".to_owned())?.unwrap_or_default();
    let values = |(name, values): (String, Vec<String>)| values.into_iter().map(move |value| (name.clone(), value));
    let headers = header.unwrap_or_default().into_iter().flat_map(values).collect();
    mix.add(Entry { weight: 1, method: &method, place: &url, headers, body: Body::Bytes(Cow::Owned(body)) })
}

/// True if a line is a header, or nothing but the file of a body.
pub(super) fn is_http(text: &str, _: &Path) -> bool {
    // A host and its port have no space between them.
    let is_header = |(name, value): (&str, &str)| {
        http::HeaderName::from_bytes(name.as_bytes()).is_ok() && (value.is_empty() || value.starts_with([' ', '\t']))
    };
    lines(text).any(|(_, line)| line.starts_with('@') || line.split_once(':').is_some_and(is_header))
}

/// Reads targets in the format HTTP.
pub(super) fn read_http(text: &str, mix: &mut Mix<'_>) -> Result<(), Wrong> {
    let mut open = None;
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        let wrong = Wrong::at(number);
        if line.starts_with('#') {
            continue;
        }
        let is_first = is_capitals(word(line).0) && !word(line).1.is_empty();
        if line.is_empty() || is_first {
            close(&mut open, mix)?;
        }
        if is_first {
            open = Some((number, first(line).map_err(wrong)?));
        } else if !line.is_empty() {
            let (_, entry) = open.as_mut().ok_or_else(|| {
                wrong("a target begins with a line of method and URL, such as POST http://127.0.0.1:8080/".into())
            })?;
            match line.strip_prefix('@') {
                Some(name) => {
                    entry.body = Body::File(name);
                    close(&mut open, mix)?;
                }
                None => header(line).and_then(|one| add_header(&mut entry.headers, one)).map_err(wrong)?,
            }
        }
    }
    close(&mut open, mix)
}

/// Adds the target that is open, if any is.
fn close(open: &mut Option<(u64, Entry<'_>)>, mix: &mut Mix<'_>) -> Result<(), Wrong> {
    match open.take() {
        Some((number, entry)) => mix.add(entry).map_err(Wrong::at(number)),
        None => Ok(()),
    }
}

/// The line with which a target begins.
fn first(line: &str) -> Result<Entry<'_>, String> {
    let (method, rest) = word(line);
    match word(rest) {
        (place, "") => Ok(Entry { weight: 1, method, place, headers: Vec::new(), body: Body::NONE }),
        _ => {
            Err("a line with method and URL has nothing behind these; write a body into a file, and @FILE below".into())
        }
    }
}

fn header(line: &str) -> Result<(String, String), String> {
    let (name, value) = line.split_once(':').ok_or("a line below method and URL is Name: value or @FILE")?;
    // Its scheme would be the name of a header.
    if value.starts_with("//") {
        return Err("a URL has its method in front, such as GET http://127.0.0.1:8080/".into());
    }
    Ok((name.trim_end().to_owned(), value.trim_start().to_owned()))
}
