//! `--urls FILE`: a list of requests, in plimsoll's own form or in that of another load generator.
//!
//! What is a request in one form may be another request in the next, and nobody sees that from the figures. So one look at the
//! whole file says which form it has, and a file of which nothing says so has plimsoll's own.

mod lua;
mod mix;
mod own;
mod siege;
mod vegeta;
mod wrk;

use super::{BODIES_MAX_BYTES, Listed};
use crate::{InputError, TargetUrl};
use mix::{Mix, Wrong};
use model::human::plural;
use std::path::Path;

/// A form that a list can have.
struct Format {
    /// As notes and errors name it.
    name: &'static str,
    /// How a request is written in it.
    form: &'static str,
    /// True of a file that has it.
    is_it: fn(text: &str, file: &Path) -> bool,
    /// Reads the requests into a mix.
    read: fn(text: &str, mix: &mut Mix<'_>) -> Result<(), Wrong>,
}

/// The forms of other load generators: the first that a file has counts. None has marks that mean something in the own form.
static FOREIGN: [Format; 4] = [
    Format {
        name: "a script of wrk",
        form: "a script sets wrk.method, wrk.body, wrk.headers and wrk.path, such as wrk.method = \"POST\"",
        is_it: wrk::is_it,
        read: wrk::read,
    },
    Format {
        name: "targets of vegeta in JSON",
        form: "a line is one object, such as {\"method\": \"GET\", \"url\": \"http://127.0.0.1:8080/\"}",
        is_it: vegeta::is_json,
        read: vegeta::read_json,
    },
    Format {
        name: "targets of vegeta",
        form: "a target is a line METHOD URL, lines with headers below it, and a line @FILE",
        is_it: vegeta::is_http,
        read: vegeta::read_http,
    },
    Format {
        name: "a list of siege",
        form: "a line is URL [METHOD [BODY|<FILE]] or NAME=VALUE, such as http://$(HOST)/cart POST id=1",
        is_it: siege::is_it,
        read: siege::read,
    },
];

/// That of plimsoll.
static OWN: Format = Format {
    name: "a list of plimsoll",
    form: "a line is [WEIGHT] [METHOD] PATH|URL [BODY|@FILE], such as 3 POST /cart @cart.json",
    is_it: |_, _| true,
    read: own::read,
};

/// The requests in the `text` of the file `path`. Lines without a host go to `url`.
pub(crate) fn parse(text: &str, path: &Path, url: Option<&TargetUrl>) -> Result<Listed, InputError> {
    parse_within(BODIES_MAX_BYTES, text, path, url)
}

/// The same, with another limit for all bodies together.
fn parse_within(bodies_max_bytes: u64, text: &str, path: &Path, url: Option<&TargetUrl>) -> Result<Listed, InputError> {
    let text = text.trim_start_matches('\u{feff}');
    if let Some(name) = program(text) {
        return Err(InputError::new(format!(
            "--urls {}: it is {name}, which computes its requests and is no list of them; {}, or record what it sends and give \
             --har",
            path.display(),
            OWN.form
        )));
    }
    let foreign = FOREIGN.iter().find(|format| (format.is_it)(text, path));
    let Format { form, read, .. } = foreign.unwrap_or(&OWN);
    let shown = path.display();
    let read_as = foreign.map(|format| format!(", read as {}", format.name)).unwrap_or_default();
    let mut mix = Mix::new(path, url, bodies_max_bytes);
    read(text, &mut mix).map_err(|Wrong { line, why }| {
        let line = line.map(|number| format!(", line {number}")).unwrap_or_default();
        InputError::new(format!("--urls {shown}{line}{read_as}: {why}"))
    })?;
    let (origin, requests) = mix.end();
    if requests.is_empty() {
        return Err(InputError::new(format!("--urls {shown}{read_as}: there is no request in the file; {form}")));
    }
    let requests_count = plural(requests.len() as u64, "request");
    let note = foreign.map(|format| format!("--urls {shown} was read as {}: {requests_count}", format.name));
    Ok(Listed { origin, requests, recording: None, note: note.unwrap_or_default() })
}

/// What is often given in the place of a list, by the begin of one of its lines.
const PROGRAMS: [(&str, &str); 9] = [
    ("curl ", "a command of curl"),
    ("import http from 'k6", "a script of k6"),
    ("import http from \"k6", "a script of k6"),
    ("from locust", "a file of Locust"),
    ("import locust", "a file of Locust"),
    ("<jmeterTestPlan", "a test plan of JMeter"),
    ("import io.gatling", "a simulation of Gatling"),
    ("scenarios:", "a script of Artillery"),
    ("import {", "a script"),
];

/// The name of the tool whose program this is.
fn program(text: &str) -> Option<&'static str> {
    let of = |(_, line): (u64, &str)| PROGRAMS.iter().find(|(begin, _)| line.starts_with(begin)).map(|(_, name)| *name);
    lines(text).find_map(of)
}

/// The lines of a text that are neither empty nor a comment, trimmed, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    (1..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// The first word of `text`, and what follows it.
fn word(text: &str) -> (&str, &str) {
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (first, rest.trim_start())
}

/// True of what can be nothing but a method, or a word like one.
fn is_capitals(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests;
