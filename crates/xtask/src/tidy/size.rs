//! Files and functions that fit into a head.

use super::Violation;
use super::code::{line_of, words};

/// Lines of a source file, tests included.
const FILE_LINES_MAX: usize = 600;
/// Lines of a function, from `fn` to its closing brace.
const FUNCTION_LINES_MAX: usize = 70;

/// The file is at most [`FILE_LINES_MAX`] lines long.
pub(super) fn file(path: &str, text: &str) -> Vec<Violation> {
    let lines = text.lines().count();
    if lines <= FILE_LINES_MAX {
        return Vec::new();
    }
    vec![Violation::new(path, 0, format!("{lines} lines, at most {FILE_LINES_MAX}: split it"))]
}

/// No function is longer than [`FUNCTION_LINES_MAX`] lines. `code` is masked source.
pub(super) fn functions(path: &str, code: &str) -> Vec<Violation> {
    let mut violations = Vec::new();
    for at in words(code, "fn") {
        let Some(end) = body_end(code, at) else { continue };
        let (first, last) = (line_of(code, at), line_of(code, end));
        let lines = last - first + 1;
        if lines > FUNCTION_LINES_MAX {
            let name: String =
                code[at + 2..].trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let message = format!("function `{name}` has {lines} lines, at most {FUNCTION_LINES_MAX}");
            violations.push(Violation::new(path, first, message));
        }
    }
    violations
}

/// Offset of the brace that closes the body of the function at `at`; `None` for a declaration or a `fn` type.
fn body_end(code: &str, at: usize) -> Option<usize> {
    let bytes = code.as_bytes();
    let name = code[at + 2..].trim_start().as_bytes().first()?;
    if !(name.is_ascii_alphabetic() || *name == b'_') {
        return None;
    }
    let mut nested = 0_i32;
    let open = (at..bytes.len()).find(|&i| {
        match bytes[i] {
            b'(' | b'[' => nested += 1,
            b')' | b']' => nested -= 1,
            _ => {}
        }
        nested == 0 && matches!(bytes[i], b'{' | b';')
    })?;
    if bytes[open] == b';' {
        return None;
    }
    let mut depth = 0_i32;
    (open..bytes.len()).find(|&i| {
        match bytes[i] {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

#[cfg(test)]
mod tests {
    use super::super::code::mask;
    use super::{file, functions};

    fn function_of(lines: usize) -> String {
        format!("fn long(a: [u8; 4]) -> u8 {{\n{}}}\n", "    a();\n".repeat(lines - 2))
    }

    #[test]
    fn a_file_has_at_most_600_lines() {
        assert_eq!(file("a.rs", &"x\n".repeat(600)), []);
        let found = file("a.rs", &"x\n".repeat(601));
        assert_eq!(found.len(), 1);
        assert!(found[0].message.starts_with("601 lines"));
    }

    #[test]
    fn a_function_has_at_most_70_lines() {
        assert_eq!(functions("a.rs", &function_of(70)), []);
        let found = functions("a.rs", &format!("\n{}", function_of(71)));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 2);
        assert!(found[0].message.contains("`long` has 71 lines"), "{}", found[0].message);
    }

    #[test]
    fn braces_in_text_and_functions_without_a_body_do_not_confuse_it() {
        let text = format!(
            "fn f() {{\n    g(\"{{\", '{{'); // {{\n}}\ntype F = fn(u8);\ntrait T {{\n    fn d();\n{}}}\n",
            "\n".repeat(80)
        );
        assert_eq!(functions("a.rs", &mask(&text)), []);
    }
}
