//! Layout of a file: no stray blanks, and a first line that says what the module is for.

use super::Violation;

/// No tabs, no blanks at the end of a line, one newline at the end of the file.
pub(super) fn blanks(path: &str, text: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (index, line) in text.split('\n').enumerate() {
        if line.contains('\t') {
            violations.push(Violation::new(path, index + 1, "tab"));
        }
        if line.ends_with([' ', '\t', '\r']) {
            violations.push(Violation::new(path, index + 1, "blank at the end of the line"));
        }
    }
    if !text.is_empty() && (!text.ends_with('\n') || text.ends_with("\n\n")) {
        violations.push(Violation::new(path, text.lines().count(), "the file must end with one newline"));
    }
    violations
}

/// Every module opens with `//!`: its purpose in a line or two. Test programs are exempt, their names say it.
pub(super) fn module_doc(path: &str, text: &str) -> Vec<Violation> {
    if !path.contains("/src/") || text.starts_with("//! ") {
        return Vec::new();
    }
    vec![Violation::new(path, 1, "the module must open with `//! ` and say what it is for")]
}

#[cfg(test)]
mod tests {
    use super::{blanks, module_doc};

    #[test]
    fn stray_blanks_are_found() {
        assert_eq!(blanks("a.rs", "a\n    b\n"), []);
        for (text, line) in [("a\n\tb\n", 2), ("a \nb\n", 1), ("a\r\n", 1), ("a\nb", 2), ("a\n\n", 2)] {
            let found = blanks("a.rs", text);
            assert_eq!(found.len(), 1, "{text:?}");
            assert_eq!(found[0].line, line, "{text:?}");
        }
    }

    #[test]
    fn a_module_says_what_it_is_for() {
        assert_eq!(module_doc("crates/stats/src/lib.rs", "//! Statistics.\n"), []);
        assert_eq!(module_doc("crates/stats/src/lib.rs", "use std::fmt;\n//! Late.\n").len(), 1);
        assert_eq!(module_doc("crates/stats/src/a/b.rs", "").len(), 1);
        assert_eq!(module_doc("crates/stats/tests/golden.rs", "use std::fmt;\n"), []);
    }
}
