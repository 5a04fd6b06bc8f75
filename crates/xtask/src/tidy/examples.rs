//! Examples in documentation are run; a crate that has none does not have rustdoc look for them, which takes seconds.

use super::Violation;

const OFF: &str = "doctest = false";

/// Each library of the sources says `doctest = false` exactly when it has no example.
pub(super) fn run_where_there_are_some(sources: &[(String, String)]) -> Vec<Violation> {
    let library = |path: &str| {
        let folder = path.strip_suffix("Cargo.toml")?;
        sources.iter().any(|(path, _)| *path == format!("{folder}src/lib.rs")).then(|| format!("{folder}src/"))
    };
    let check = |(path, manifest): &(String, String)| {
        let folder = library(path).filter(|_| path.starts_with("crates/"))?;
        let has_example = sources.iter().any(|(path, text)| path.starts_with(&folder) && has_example(text));
        let message = match (has_example, manifest.lines().any(|line| line == OFF)) {
            (true, true) => "its documentation has examples, which nothing runs: take `doctest = false` out",
            (false, false) => "its documentation has no examples: write `doctest = false` below [lib]",
            _ => return None,
        };
        Some(Violation::new(path, 0, message))
    };
    sources.iter().filter_map(check).collect()
}

/// True if a comment of documentation opens a block that is Rust.
fn has_example(text: &str) -> bool {
    let mut is_open = false;
    for line in text.lines().map(str::trim_start).filter(|line| line.starts_with("///") || line.starts_with("//!")) {
        let Some(kind) = line[3..].trim_start().strip_prefix("```") else { continue };
        if !is_open && !["text", "json", "toml", "sh"].iter().any(|other| kind.starts_with(other)) {
            return true;
        }
        is_open = !is_open;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{has_example, run_where_there_are_some};

    fn broken(manifest: &str, library: &str) -> usize {
        let source = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        run_where_there_are_some(&[source("crates/a/Cargo.toml", manifest), source("crates/a/src/lib.rs", library)])
            .len()
    }

    #[test]
    fn examples_are_run_and_nothing_is_looked_for_where_there_are_none() {
        let (without, with) = ("//! Text.\n", "/// Adds.\n///\n/// ```\n/// add(1);\n/// ```\nfn add() {}\n");
        let (off, on) = ("[lib]\ndoctest = false\n", "[package]\n");
        assert_eq!((broken(off, without), broken(on, with)), (0, 0));
        assert_eq!((broken(on, without), broken(off, with)), (1, 1));
        assert!(
            run_where_there_are_some(&[("crates/a/Cargo.toml".to_owned(), on.to_owned())]).is_empty(),
            "no library"
        );
    }

    #[test]
    fn a_block_of_text_is_no_example() {
        assert!(!has_example("/// ```text\n/// 1 2\n/// ```\n"));
        assert!(has_example("/// ```text\n/// 1 2\n/// ```\n/// ```no_run\n/// x\n/// ```\n"));
    }
}
