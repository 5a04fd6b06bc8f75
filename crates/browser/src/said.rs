//! Texts of the browser, and of pages in it, as they may stand in a message.

use model::Redacted;

/// Characters of a text that are kept.
pub(crate) const KEPT_CHARS_MAX: usize = 200;

/// Its begin, as one line without secrets.
pub(crate) fn in_a_line(text: &str) -> String {
    Redacted::line(text, KEPT_CHARS_MAX).into_inner()
}
