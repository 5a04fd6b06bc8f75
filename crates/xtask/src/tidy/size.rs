//! Files that fit into a head; clippy sees to functions.

use super::Violation;

/// Lines of a source file, tests included.
const FILE_LINES_MAX: usize = 600;

/// Lines of ARCHITECTURE.md, which is read in one go.
const ARCHITECTURE_LINES_MAX: usize = 120;

/// A source file has at most [`FILE_LINES_MAX`] lines, the page of the architecture [`ARCHITECTURE_LINES_MAX`].
pub(super) fn file(path: &str, text: &str) -> Vec<Violation> {
    let (most, advice) = match path {
        "ARCHITECTURE.md" => (ARCHITECTURE_LINES_MAX, "leave out what the code says"),
        _ if path.ends_with(".rs") => (FILE_LINES_MAX, "split it"),
        _ => return Vec::new(),
    };
    let lines = text.lines().count();
    if lines <= most {
        return Vec::new();
    }
    vec![Violation::new(path, 0, format!("{lines} lines, at most {most}: {advice}"))]
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

    #[test]
    fn the_architecture_is_a_page_and_others_are_as_long_as_they_are() {
        assert_eq!(file("ARCHITECTURE.md", &"x\n".repeat(120)), []);
        assert_eq!(file("ARCHITECTURE.md", &"x\n".repeat(121)).len(), 1);
        assert_eq!(file("docs/reference/rules.md", &"x\n".repeat(1000)), []);
    }
}
