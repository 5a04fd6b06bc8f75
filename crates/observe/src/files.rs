//! Texts of `/proc` and `/sys`, and why one of them cannot be had.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// Why something is not known.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum Missing {
    #[error("this kernel or container has no {0}")]
    NoFile(String),
    #[error("{0} may not be read by this user; run plimsoll as root")]
    Denied(String),
    #[error("{file} cannot be read: {error}")]
    Unreadable { file: String, error: String },
    #[error("{0} does not look as expected")]
    Malformed(String),
    #[error("{0}")]
    Because(&'static str),
}

/// The files of a machine.
#[derive(Clone, Debug)]
pub(crate) enum Files {
    /// Those below a directory, which is `/` outside of tests.
    Below(PathBuf),
    /// Texts by their absolute paths: what a machine might say.
    Texts(Arc<BTreeMap<String, Vec<u8>>>),
}

impl Files {
    /// Those below `root`.
    pub(crate) fn below(root: impl Into<PathBuf>) -> Self {
        Self::Below(root.into())
    }

    /// The text of the file at an absolute path.
    pub(crate) fn text(&self, path: &str) -> Result<String, Missing> {
        let bytes = self.bytes(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Missing::NoFile(path.to_owned()),
            ErrorKind::PermissionDenied => Missing::Denied(path.to_owned()),
            _ => Missing::Unreadable { file: path.to_owned(), error: error.to_string() },
        })?;
        Ok(String::from_utf8(bytes).unwrap_or_else(|other| String::from_utf8_lossy(other.as_bytes()).into_owned()))
    }

    /// The first thing that `find` makes of a line of a file, which may be large: lines are read one by one. None when
    /// there is no such line, or no such file.
    pub(crate) fn first<T>(&self, path: &str, mut find: impl FnMut(&[u8]) -> Option<T>) -> Option<T> {
        let mut file = BufReader::new(self.open(path).ok()?);
        let mut line = Vec::new();
        while file.read_until(b'\n', &mut line).ok()? > 0 {
            let found = find(line.strip_suffix(b"\n").unwrap_or(&line));
            if found.is_some() {
                return found;
            }
            line.clear();
        }
        None
    }

    /// The text of a file without the white space around it.
    pub(crate) fn word(&self, path: &str) -> Result<String, Missing> {
        self.text(path).map(|text| text.trim().to_owned())
    }

    /// The one number in a file.
    pub(crate) fn number(&self, path: &str) -> Result<u64, Missing> {
        self.word(path)?.parse().map_err(|_| Missing::Malformed(path.to_owned()))
    }

    /// Names in a directory, sorted; empty when there is none.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let root = match self {
            Self::Below(root) => root,
            Self::Texts(texts) => return names_below(texts, path),
        };
        let entries = std::fs::read_dir(place(root, path)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// The last part of what a link points to.
    pub(crate) fn link(&self, path: &str) -> Option<String> {
        let Self::Below(root) = self else { return None };
        let target = std::fs::read_link(place(root, path)).ok()?;
        Some(target.file_name()?.to_string_lossy().into_owned())
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        match self {
            Self::Below(root) => place(root, path).exists(),
            Self::Texts(texts) => texts.contains_key(path) || !names_below(texts, path).is_empty(),
        }
    }

    fn bytes(&self, path: &str) -> io::Result<Vec<u8>> {
        match self {
            Self::Below(root) => std::fs::read(place(root, path)),
            Self::Texts(texts) => texts.get(path).cloned().ok_or_else(|| ErrorKind::NotFound.into()),
        }
    }

    fn open(&self, path: &str) -> io::Result<Box<dyn Read>> {
        match self {
            Self::Below(root) => Ok(Box::new(File::open(place(root, path))?)),
            Self::Texts(_) => Ok(Box::new(io::Cursor::new(self.bytes(path)?))),
        }
    }
}

fn place(root: &Path, path: &str) -> PathBuf {
    root.join(Path::new(path).strip_prefix("/").unwrap_or_else(|_| Path::new(path)))
}

/// Names in a directory of texts, sorted.
fn names_below(texts: &BTreeMap<String, Vec<u8>>, path: &str) -> Vec<String> {
    let directory = format!("{}/", path.trim_end_matches('/'));
    let name = |path: &String| Some(path.strip_prefix(&directory)?.split('/').next()?.to_owned());
    let names: BTreeSet<String> = texts.keys().filter_map(name).filter(|name| !name.is_empty()).collect();
    names.into_iter().collect()
}

impl Default for Files {
    fn default() -> Self {
        Self::below("/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_has_its_reason() {
        let files = Files::default();
        assert_eq!(files.number("/proc/nothing"), Err(Missing::NoFile("/proc/nothing".into())));
        assert_eq!(files.number("/proc/uptime"), Err(Missing::Malformed("/proc/uptime".into())));
        assert!(matches!(files.text("/proc"), Err(Missing::Unreadable { .. })));
        assert!(files.number("/proc/sys/kernel/pid_max").is_ok_and(|max| max > 0));
        assert!(files.names("/proc/nothing").is_empty() && files.names("/proc/self").contains(&"stat".to_owned()));
    }
    #[test]
    fn texts_are_files_in_directories() {
        let texts = [("/a/b", "7\n"), ("/a/c/d", "")].map(|(path, text)| (path.to_owned(), text.into()));
        let files = Files::Texts(Arc::new(texts.into()));
        assert_eq!((files.number("/a/b"), files.names("/a")), (Ok(7), vec!["b".to_owned(), "c".to_owned()]));
        assert!(files.exists("/a/c") && !files.exists("/a/d") && !files.exists("/a/b/c"));
        assert_eq!(files.text("/a/c"), Err(Missing::NoFile("/a/c".into())));
        assert_eq!(files.first("/a/b", |line| Some(line.to_vec())), Some(b"7".to_vec()));
    }
}
