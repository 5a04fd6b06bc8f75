//! The redactor: texts from outside without the secrets in them, and the type that says so.
//!
//! Whatever keeps or shows a text of outside origin takes it as [`Redacted`], which nothing but this module makes.

mod call;
mod command;
mod events;
mod line;
mod names;
mod programs;
pub(crate) mod promises;
#[cfg(test)]
mod tests;

use line::{Form, secrets};
use serde::Serialize;
use std::fmt;
use std::ops::Deref;

/// What stands where a secret was.
const REDACTED: &str = "<redacted>";
/// Passes over a text: what is left of one may read in another way. Two are enough for whatever was seen.
const PASSES_MAX: usize = 8;
/// Characters of a text that is cut to a line in which secrets are looked for: many times as many as are kept, as a secret of
/// which the end is cut off is none to the redactor.
const READ_CHARS_MAX: usize = 8 << 10;

/// A value without secrets: texts, headers, URLs and commands in it have gone through the redactor.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Redacted<T = String>(T);

/// A value that knows where in it secrets can be.
pub trait Redact {
    /// Replaces them.
    fn redact(&mut self);
}

impl<T: Redact> Redacted<T> {
    /// Replaces the secrets in `value`.
    #[must_use]
    pub fn new(mut value: T) -> Self {
        value.redact();
        Self(value)
    }
}

impl<T> Redacted<T> {
    /// The value, as any other again.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl Redacted {
    /// Any text: a message, a log, a label, a command line in one piece.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self(settled(text, Form::Text))
    }

    /// The begin of any text as one line of about so many characters, with a blank for each control character.
    #[must_use]
    pub fn line(text: &str, chars_max: usize) -> Self {
        let plain = |c: char| if c.is_control() { ' ' } else { c };
        let begin: String = text.chars().take(READ_CHARS_MAX.max(chars_max)).map(plain).collect();
        let kept: String = settled(&begin, Form::Text).chars().take(chars_max).collect();
        Self::text(kept.trim())
    }

    /// One URL, or the path and query of one.
    #[must_use]
    pub fn url(url: &str) -> Self {
        Self(settled(url, Form::Url))
    }

    /// A header as it is typed: `Name: value`.
    #[must_use]
    pub fn header(line: &str) -> Self {
        Self(command::header(line))
    }
}

/// True if a name, such as that of a flag or of a file, says that what it stands for is a secret, or where one is.
#[must_use]
pub fn names_secret(name: &str) -> bool {
    names::is_secret(name)
}

impl Redacted<Vec<String>> {
    /// The arguments of a process, the program first.
    #[must_use]
    pub fn command(arguments: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        Self(command::arguments(arguments, command::Flags::Any))
    }

    /// Those of this program, whose short flags are known.
    #[must_use]
    pub fn own_command(arguments: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        Self(command::arguments(arguments, command::Flags::Own))
    }
}

impl<T> Deref for Redacted<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: fmt::Debug> fmt::Debug for Redacted<T> {
    /// As the value itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<T: fmt::Display> fmt::Display for Redacted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Secrets in a text.
#[must_use]
pub fn count_secrets(text: &str) -> u64 {
    pass(text, Form::Text).1
}

/// The text when nothing more is found in it, so that redacting it again changes nothing.
fn settled(text: &str, form: Form) -> String {
    let mut kept = text.to_owned();
    for _ in 0..PASSES_MAX {
        let (next, found) = pass(&kept, form);
        if found == 0 {
            return kept;
        }
        kept = next;
    }
    // Nobody can say what a line is that reads in yet another way each time.
    let mut settled = String::with_capacity(kept.len());
    for line in kept.split_inclusive('\n') {
        let shown = if secrets(line, form).is_empty() { line } else { REDACTED };
        settled.push_str(shown);
        if line.ends_with('\n') && !shown.ends_with('\n') {
            settled.push('\n');
        }
    }
    settled
}

/// The text with its secrets replaced, and how many there were.
fn pass(text: &str, form: Form) -> (String, u64) {
    let (mut kept, mut found) = (String::with_capacity(text.len()), 0);
    for line in text.split_inclusive('\n') {
        let mut from = 0;
        for secret in secrets(line, form) {
            kept.push_str(&line[from..secret.start]);
            kept.push_str(REDACTED);
            from = secret.end;
            found += 1;
        }
        kept.push_str(&line[from..]);
    }
    (kept, found)
}
