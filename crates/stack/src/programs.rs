//! Programs, found.

use crate::error::{Missing, StackError};
use std::path::{Path, PathBuf};

/// Where servers are even when PATH leaves these out.
const SBIN: [&str; 4] = ["/usr/local/sbin", "/usr/sbin", "/usr/bin", "/sbin"];

/// The full path of the first of `names` that is installed.
///
/// # Errors
/// If there is none; `package` is Debian's that brings it.
pub(crate) fn find(names: &[&str], package: &'static str) -> Result<PathBuf, StackError> {
    names.iter().find_map(|name| on_path(name)).ok_or_else(|| missing(names[0], package))
}

/// The full path of a program that is no server: the one that is named (a path, or a name), or the first of `names` that is
/// installed; none when none is.
///
/// # Errors
/// If the named one is not there.
pub fn installed(named: Option<&Path>, names: &[&str]) -> Result<Option<PathBuf>, StackError> {
    match named {
        Some(path) => self::named(path).map(Some),
        None => Ok(names.iter().find_map(|name| on_path(name))),
    }
}

/// A file that `package` brings, such as a module of a server.
///
/// # Errors
/// If it is not there.
pub(crate) fn file(path: PathBuf, package: &'static str) -> Result<PathBuf, StackError> {
    if path.is_file() { Ok(path) } else { Err(missing(&path.display().to_string(), package)) }
}

/// The error for what is not there.
pub(crate) fn missing(program: &str, package: &'static str) -> StackError {
    StackError::Missing(vec![Missing { program: program.to_owned(), package }])
}

/// Fails unless all were found, and names all that were not at once.
///
/// # Errors
/// The first error that is no missing package, or all that are missing.
pub(crate) fn all(found: impl IntoIterator<Item = Result<PathBuf, StackError>>) -> Result<(), StackError> {
    let mut all = Vec::new();
    for found in found {
        match found {
            Ok(_) => {}
            Err(StackError::Missing(missing)) => all.extend(missing),
            Err(other) => return Err(other),
        }
    }
    if all.is_empty() { Ok(()) } else { Err(StackError::Missing(all)) }
}

/// A program that was named by the user: a path, or a name to be looked up.
pub(crate) fn named(path: &Path) -> Result<PathBuf, StackError> {
    let text = path.to_string_lossy();
    let found = if text.contains('/') { Some(path.to_owned()) } else { on_path(&text) };
    match found.map(std::path::absolute) {
        Some(Ok(found)) if found.is_file() => Ok(found),
        _ => Err(StackError::Wrong(format!("{text}: there is no such program"))),
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(SBIN.map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_names_its_package() {
        assert!(find(&["no-such-thing", "sh"], "dash").is_ok(), "the second name counts");
        let error = find(&["no-such-thing"], "the-package").expect_err("it is not there").to_string();
        assert!(error.contains("no-such-thing is not installed: apt-get install the-package"), "{error}");
        assert!(named(Path::new("./no/such")).is_err() && named(Path::new("sh")).is_ok());
    }

    #[test]
    fn all_that_is_missing_is_named_in_one_line() {
        let found = |name: &'static str, package| find(&[name], package);
        let error = all([found("no-such-thing", "one"), found("sh", "dash"), file("/no/such/file".into(), "two")]);
        let error = error.expect_err("two are missing").to_string();
        assert_eq!(error, "no-such-thing, /no/such/file are not installed: apt-get install one two");
        assert!(all([found("sh", "dash")]).is_ok());
    }
}
