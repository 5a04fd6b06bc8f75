//! Tests that a plain `cargo test` runs are hermetic: what needs packages or a quiet machine is in a test target that
//! measures (`test = false`).

use super::Violation;

/// What only measuring tests use, and what it needs.
const MEASURING: [(&str, &str); 5] = [
    ("installed(", "a package"),
    ("Nginx::", "a package"),
    ("--serve\"", "a real server"),
    ("decide_watched(", "a quiet machine"),
    ("watch(||", "a quiet machine"),
];

/// Finds what a hermetic test may not use. `measuring` has the names of the test targets that measure.
pub(super) fn hermetic(path: &str, text: &str, measuring: &[String]) -> Vec<Violation> {
    let Some((_, inside)) = path.split_once("/tests/") else { return Vec::new() };
    let target = inside.split(['/', '.']).next().unwrap_or_default();
    // `shared` is no target, but part of several.
    if target == "shared" || measuring.iter().any(|name| name == target) {
        return Vec::new();
    }
    let lines = text.lines().enumerate();
    let found = lines.filter_map(|(index, line)| {
        let (word, need) = MEASURING.iter().find(|(word, _)| line.contains(word))?;
        let message = format!("`{word}` needs {need}: move the test to a target with `test = false`");
        Some(Violation::new(path, index + 1, message))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::hermetic;

    #[test]
    fn a_hermetic_test_needs_no_package() {
        let measuring = ["end_to_end".to_owned()];
        let text = "fn a() {\n    let nginx = installed(\"nginx\", \"nginx-light\");\n}\n";
        assert_eq!(hermetic("crates/plimsoll/tests/command_line/a.rs", text, &measuring).len(), 1);
        assert_eq!(hermetic("crates/plimsoll/tests/allocation.rs", text, &measuring)[0].line, 2);
        for path in
            ["crates/plimsoll/tests/end_to_end/a.rs", "crates/plimsoll/tests/shared/mod.rs", "crates/a/src/b.rs"]
        {
            assert_eq!(hermetic(path, text, &measuring), []);
        }
    }
}
