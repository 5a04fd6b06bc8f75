//! The list of siege: `URL [METHOD [BODY|<FILE]]`, and variables.

use super::mix::{Body, Entry, Mix, Wrong};
use super::{is_capitals, lines, word};
use std::borrow::Cow;
use std::collections::HashMap;

/// Methods that may stand behind a URL.
const METHODS: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];
/// Longest name of a variable.
const NAME_MAX_BYTES: usize = 64;
/// What all values of a list may add to it where they are filled in: a value may have another one in it many times, and that
/// one again.
const FILLED_MAX_BYTES: usize = 16 << 20;
/// What siege says of a body, whether it stands in the list or in a file.
const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

/// True if a line sets a variable, or has its method behind the URL.
pub(super) fn is_it(text: &str, _: &std::path::Path) -> bool {
    lines(text).any(|(_, line)| variable(line).is_some() || has_method_behind(line))
}

/// Reads the requests of a list.
pub(super) fn read(text: &str, mix: &mut Mix<'_>) -> Result<(), Wrong> {
    let mut variables = Variables { values: HashMap::new(), left_bytes: FILLED_MAX_BYTES };
    lines(text).try_for_each(|(number, line)| one(line, &mut variables, mix).map_err(Wrong::at(number)))
}

/// Reads one line.
fn one<'l>(line: &'l str, variables: &mut Variables<'l>, mix: &mut Mix<'_>) -> Result<(), String> {
    if let Some((name, value)) = variable(line) {
        let value = variables.fill(value)?;
        variables.values.insert(name, value);
        return Ok(());
    }
    let line = variables.fill(line)?;
    let (place, rest) = word(&line);
    let (method, body) = if rest.is_empty() { ("GET", "") } else { word(rest) };
    if !METHODS.contains(&method) || is_capitals(place) || is_number(place) {
        return Err("a line begins with the URL, and behind it stands a method, such as http://h/cart POST id=1".into());
    }
    let body = Body::marked(body, '<');
    let is_form = !matches!(&body, Body::Bytes(bytes) if bytes.is_empty());
    let headers = if is_form { vec![(FORM.0.to_owned(), FORM.1.to_owned())] } else { Vec::new() };
    mix.add(Entry { weight: 1, method, place, headers, body })
}

/// Name and value where a line sets a variable.
fn variable(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end();
    is_name(name).then_some((name, value.trim_start()))
}

fn has_method_behind(line: &str) -> bool {
    let (place, rest) = word(line);
    METHODS.contains(&word(rest).0) && !is_capitals(place) && !is_number(place)
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_name(text: &str) -> bool {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.len() <= NAME_MAX_BYTES
        && text.bytes().all(is_of_name)
        && text.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

/// The variables that the lines so far have set.
struct Variables<'l> {
    values: HashMap<&'l str, Cow<'l, str>>,
    /// So much more may be filled in.
    left_bytes: usize,
}

impl Variables<'_> {
    /// `text` with values in the place of `$(NAME)` and `${NAME}`.
    ///
    /// Variables of the environment are none of these, though siege knows them: a foreign list could send them away.
    fn fill<'t>(&mut self, text: &'t str) -> Result<Cow<'t, str>, String> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, name, after)) = reference(rest) {
            let value = self.values.get(name);
            let value = value.ok_or_else(|| {
                format!("the variable {name} has no value; set it in a line above, such as {name}=www.example.org")
            })?;
            self.left_bytes = self.left_bytes.checked_sub(before.len() + value.len()).ok_or_else(|| {
                format!("the values of variables have more than {FILLED_MAX_BYTES} bytes where they are filled in")
            })?;
            filled.push_str(before);
            filled.push_str(value);
            rest = after;
        }
        if filled.is_empty() && rest.len() == text.len() {
            return Ok(Cow::Borrowed(text));
        }
        filled.push_str(rest);
        Ok(Cow::Owned(filled))
    }
}

/// What stands before the first variable of a text, its name, and what stands behind it.
fn reference(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let at = from + text[from..].find('$')?;
        let (before, mark) = text.split_at(at);
        let behind = mark.strip_prefix("$(").map(|behind| (behind, ')'));
        let behind = behind.or_else(|| mark.strip_prefix("${").map(|behind| (behind, '}')));
        // A dollar in a body may be anything.
        let named = behind.and_then(|(behind, close)| {
            let end = behind.bytes().take(NAME_MAX_BYTES + 1).position(|byte| byte == close as u8)?;
            Some((&behind[..end], &behind[end + 1..])).filter(|(name, _)| is_name(name))
        });
        match named {
            Some((name, after)) => return Some((before, name, after)),
            None => from = at + 1,
        }
    }
}
