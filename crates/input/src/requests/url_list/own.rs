//! The list of plimsoll: `[WEIGHT] [METHOD] PATH|URL [BODY|@FILE]`.

use super::mix::{Body, Entry, Mix, Wrong};
use super::{OWN, is_capitals, lines, word};

/// Highest weight of a request.
const WEIGHT_MAX: u32 = 1_000_000;

/// Reads the requests of a list.
pub(super) fn read(text: &str, mix: &mut Mix<'_>) -> Result<(), Wrong> {
    lines(text).try_for_each(|(number, line)| entry(line).and_then(|entry| mix.add(entry)).map_err(Wrong::at(number)))
}

fn entry(line: &str) -> Result<Entry<'_>, String> {
    let (weight, rest) = match word(line) {
        (first, rest) if first.bytes().all(|b| b.is_ascii_digit()) => {
            let weight = first.parse().ok().filter(|weight| (1..=WEIGHT_MAX).contains(weight));
            (weight.ok_or_else(|| format!("the weight {first} is not between 1 and {WEIGHT_MAX}"))?, rest)
        }
        _ => (1, line),
    };
    let (method, rest) = match word(rest) {
        (first, rest) if is_capitals(first) => (Some(first), rest),
        _ => (None, rest),
    };
    let (place, body) = word(rest);
    if place.is_empty() {
        return Err(format!("no path or URL; {}", OWN.form));
    }
    // Behind a URL as in front of one it begins a comment. A body that does so can stand in a file.
    let body = if body.starts_with('#') { "" } else { body };
    let method = method.unwrap_or(if body.is_empty() { "GET" } else { "POST" });
    Ok(Entry { weight, method, place, headers: Vec::new(), body: Body::marked(body, '@') })
}
