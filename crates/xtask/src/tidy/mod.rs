//! `cargo xtask tidy`: rules of this repository that neither rustfmt nor clippy checks.
//!
//! Every rule is a pure function over (path, text), or over all of these, so that each is tested with a sample that breaks it.

pub(crate) mod code;
mod cycles;
mod dependencies;
mod edges;
mod examples;
mod folders;
mod hermetic;
mod layout;
mod links;
mod places;
mod promises;
mod size;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::measuring::Measuring;
use xtask::workspace;

/// One broken rule.
#[derive(Debug, PartialEq, Eq)]
struct Violation {
    /// Path from the workspace root, with forward slashes.
    path: String,
    /// First line is 1; 0 speaks of the whole file.
    line: usize,
    message: String,
}

impl Violation {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Checks every text file of the workspace and lists all offenders before it fails.
pub(crate) fn run() -> Result<()> {
    let root = workspace::root();
    let mut files = Vec::new();
    for folder in ["crates", "fuzz", "docs", ".ci", ".config"] {
        collect(&root.join(folder), &mut files)?;
    }
    let alone = ["Cargo.toml", "deny.toml", "clippy.toml", "rustfmt.toml", "README.md", "ARCHITECTURE.md"];
    files.extend(alone.map(|name| root.join(name)));
    files.sort();
    let measuring = Measuring::read()?;
    let mut violations = Vec::new();
    let mut sources = Vec::new();
    let mut checked = 0_usize;
    for file in files.iter().filter(|file| file.is_file()) {
        let path = file.strip_prefix(&root).unwrap_or(file).to_string_lossy().replace('\\', "/");
        if !is_text(&path) {
            continue;
        }
        let text = std::fs::read_to_string(file).with_context(|| format!("reading {path}"))?;
        violations.extend(check(&path, &text));
        violations.extend(hermetic::hermetic(&path, &text, measuring.names()));
        checked += 1;
        sources.push((path, text));
    }
    violations.extend(cycles::cycles(&sources));
    violations.extend(folders::folders(&sources));
    violations.extend(dependencies::rows(&sources));
    violations.extend(promises::tested(&sources));
    violations.extend(links::resolve(&sources, |path| root.join(path).is_file()));
    violations.extend(links::chapters(&sources));
    violations.extend(examples::run_where_there_are_some(&sources));
    for violation in &violations {
        println!("{violation}");
    }
    if !violations.is_empty() {
        bail!("{} broken rule(s)", violations.len());
    }
    println!("     {checked} files are tidy");
    Ok(())
}

/// Every rule that applies to this file.
fn check(path: &str, text: &str) -> Vec<Violation> {
    let mut violations = layout::blanks(path, text);
    if path.ends_with(".rs") {
        let code = code::mask(text);
        violations.extend(layout::module_doc(path, text));
        violations.extend(places::one_clock(path, &code));
        violations.extend(places::unsafe_code(path, &code));
        violations.extend(places::printing(path, &code));
        violations.extend(places::threads(path, &code));
    }
    violations.extend(size::file(path, text));
    if path.starts_with("crates/") && path.ends_with("/Cargo.toml") {
        violations.extend(edges::check(path, text));
    }
    violations
}

fn is_text(path: &str) -> bool {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
    path == ".ci/run" || matches!(extension, Some("rs" | "toml" | "md" | "sh"))
}

/// All files below a folder that exists; build output and fuzzing corpora are not ours.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in std::fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            // Cargo marks its own folder, which has the name of one of our crates.
            let is_built = path.join("CACHEDIR.TAG").is_file();
            if !is_built && !["corpus", "artifacts"].iter().any(|skipped| name == *skipped) {
                collect(&path, files)?;
            }
        } else {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{check, collect, is_text};
    use std::fs;

    #[test]
    fn a_crate_called_target_is_looked_at_and_what_cargo_has_built_is_not() {
        let folder = std::env::temp_dir().join(format!("tidy-{}", std::process::id()));
        for path in ["crates/target/src", "fuzz/target"] {
            fs::create_dir_all(folder.join(path)).unwrap();
        }
        for path in ["crates/target/src/lib.rs", "fuzz/target/built.rs", "fuzz/target/CACHEDIR.TAG"] {
            fs::write(folder.join(path), "").unwrap();
        }
        let mut found = Vec::new();
        collect(&folder, &mut found).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, [folder.join("crates/target/src/lib.rs")]);
    }

    #[test]
    fn a_good_file_breaks_no_rule() {
        let text = "//! Adds.\n\n/// The sum.\npub fn add(a: u64, b: u64) -> u64 {\n    a + b\n}\n";
        assert_eq!(check("crates/stats/src/add.rs", text), []);
    }

    #[test]
    fn a_bad_file_is_listed_once_per_rule() {
        let text = "fn f() {\n\tprintln!(\"{:?}\", std::time::Instant::now()); unsafe { g() } \n}\n";
        let lines: Vec<String> = check("crates/stats/src/f.rs", text).iter().map(ToString::to_string).collect();
        assert_eq!(lines.len(), 6, "{lines:#?}");
        assert!(lines.iter().all(|line| line.starts_with("crates/stats/src/f.rs:")));
    }

    #[test]
    fn fixtures_are_left_alone() {
        assert!(is_text("crates/judge/src/lib.rs"));
        assert!(is_text(".ci/run"));
        assert!(!is_text("crates/judge/tests/fixtures/wrk.txt"));
    }
}
