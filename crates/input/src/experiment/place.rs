//! Lines and columns of a file, and errors that name them.

use crate::InputError;
use model::meant;

/// A text and the name of its file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

impl Places<'_> {
    /// `FILE:LINE:COLUMN: message`, each from 1; a column is a character.
    pub(super) fn error(&self, at: usize, message: &str) -> InputError {
        let (line, column) = self.of(at);
        InputError::new(format!("{}:{line}:{column}: {message}", self.file))
    }

    fn of(&self, at: usize) -> (usize, usize) {
        let before: &str = self.text.get(..at.min(self.text.len())).unwrap_or(self.text);
        let line_begin = before.rfind('\n').map_or(0, |newline| newline + 1);
        (1 + before.matches('\n').count(), 1 + before[line_begin..].chars().count())
    }
}

/// `; did you mean "workers"?`, or all that there are.
pub(super) fn hint(name: &str, known: &[&str]) -> String {
    match meant(name, known.iter().copied()) {
        Some(meant) => format!("; did you mean {meant:?}?"),
        None => format!("; there are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_lines_and_columns_of_characters() {
        let places = Places { file: "a.toml", text: "x = 1\n\u{e9}\u{e9}y = 2\n" };
        let at = places.text.find('y').unwrap();
        assert_eq!(places.error(at, "no").message, "a.toml:2:3: no");
        assert_eq!(places.error(0, "no").message, "a.toml:1:1: no");
        assert_eq!(places.error(9_999, "no").message, "a.toml:3:1: no");
    }

    #[test]
    fn slips_are_told_and_strange_names_get_the_list() {
        assert_eq!(hint("sed", &["seed", "name"]), "; did you mean \"seed\"?");
        assert_eq!(hint("no_keepalive", &["no-keepalive"]), "; did you mean \"no-keepalive\"?");
        assert_eq!(hint("zzz", &["seed", "name"]), "; there are seed, name");
    }
}
