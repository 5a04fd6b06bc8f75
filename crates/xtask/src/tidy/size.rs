//! Files that fit into a head; clippy sees to functions.

use super::Violation;

/// Lines of a source file, tests included.
const FILE_LINES_MAX: usize = 600;

/// The file is at most [`FILE_LINES_MAX`] lines long.
pub(super) fn file(path: &str, text: &str) -> Vec<Violation> {
    let lines = text.lines().count();
    if lines <= FILE_LINES_MAX {
        return Vec::new();
    }
    vec![Violation::new(path, 0, format!("{lines} lines, at most {FILE_LINES_MAX}: split it"))]
}

#[cfg(test)]
mod tests {
    use super::file;

    #[test]
    fn a_file_has_at_most_600_lines() {
        assert_eq!(file("a.rs", &"x\n".repeat(600)), []);
        let found = file("a.rs", &"x\n".repeat(601));
        assert_eq!(found.len(), 1);
        assert!(found[0].message.starts_with("601 lines"));
    }
}
