//! Bounds of what servers write to logs: one without end must not fill the disk.

use crate::state::OUTPUT;
use crate::tree::Folder;
use rustix::fs::OFlags;
use std::path::{Path, PathBuf};

/// A longer log is emptied. An access log at 50,000 requests a second gets there in a minute.
const LOG_MAX_BYTES: u64 = 256 << 20;
/// The longest log of a folder is emptied when all in it are longer together.
const ALL_MAX_BYTES: u64 = 1 << 30;
/// Files of a folder that are looked at.
const FILES_MAX: usize = 4096;
/// How often one looks; ns.
const EVERY_NS: u64 = 500_000_000;

/// The folders of logs in a state directory: what the servers open themselves, and what their processes write to stdout.
#[derive(Debug)]
pub(crate) struct Logs {
    folders: [PathBuf; 2],
    next_ns: u64,
}

impl Logs {
    pub(crate) fn new(dir: &Path) -> Self {
        Self { folders: ["log", OUTPUT].map(|folder| dir.join(folder)), next_ns: 0 }
    }

    /// Empties a log that is too long and returns its name, for people. Servers append, so they go on at its begin.
    pub(crate) fn look(&mut self, now_ns: u64) -> Option<String> {
        if now_ns < self.next_ns {
            return None;
        }
        self.next_ns = now_ns + EVERY_NS;
        self.folders.iter().find_map(|folder| cut(folder))
    }
}

/// Empties the longest log of a folder, if it or all are too long. A server can name its logs as it likes, and put anything in
/// their place.
fn cut(path: &Path) -> Option<String> {
    let folder = Folder::open(path).ok()?;
    let names = folder.names(FILES_MAX).ok()?;
    let found = names.into_iter().filter_map(|name| Some((folder.length(&name)?, name)));
    let (mut all_bytes, mut longest) = (0_u64, None);
    for (bytes, name) in found {
        all_bytes = all_bytes.saturating_add(bytes);
        longest = longest.max(Some((bytes, name)));
    }
    let (bytes, name) = longest?;
    if bytes <= LOG_MAX_BYTES && all_bytes <= ALL_MAX_BYTES {
        return None;
    }
    folder.file(name.as_c_str(), OFlags::WRONLY).and_then(|log| log.set_len(0)).ok()?;
    Some(path.join(&*name.to_string_lossy()).to_string_lossy().escape_debug().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, create_dir, metadata, write};
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    fn state() -> TempDir {
        let dir = tempfile::tempdir().expect("a directory");
        create_dir(dir.path().join("log")).and_then(|()| create_dir(dir.path().join(OUTPUT))).expect("folders");
        dir
    }

    /// Sparse: it takes no room.
    fn long(path: &Path, bytes: u64) {
        File::create(path).and_then(|file| file.set_len(bytes)).expect("a file");
    }

    #[test]
    fn a_log_that_is_too_long_is_emptied() {
        let dir = state();
        for folder in ["log", OUTPUT] {
            let (log, short) = (dir.path().join(folder).join("long"), dir.path().join(folder).join("short"));
            write(&short, "short").expect("a file");
            long(&log, LOG_MAX_BYTES + 1);
            let mut logs = Logs::new(dir.path());
            assert_eq!(logs.look(0), Some(log.display().to_string()));
            assert_eq!(metadata(&log).expect("it is there").len(), 0);
            assert_eq!(logs.look(EVERY_NS), None);
            assert_eq!(metadata(&short).expect("it is there").len(), 5);
        }
    }

    #[test]
    fn many_logs_are_bounded_together() {
        let dir = state();
        for number in 0..5 {
            long(&dir.path().join(format!("log/{number}")), LOG_MAX_BYTES - number);
        }
        let mut logs = Logs::new(dir.path());
        assert_eq!(logs.look(0), Some(dir.path().join("log/0").display().to_string()), "the longest");
        assert_eq!(logs.look(EVERY_NS), None, "no more than 1 GiB is left");
    }

    #[test]
    fn a_link_to_a_long_file_empties_nothing() {
        let dir = state();
        let victim = dir.path().join("victim");
        long(&victim, LOG_MAX_BYTES + 1);
        symlink(&victim, dir.path().join("log/zz")).expect("a link");
        let mut logs = Logs::new(dir.path());
        assert_eq!(logs.look(0), None);
        // A folder in the place of the logs is not looked into either.
        std::fs::remove_dir_all(dir.path().join("log")).expect("our own");
        symlink(dir.path(), dir.path().join("log")).expect("a link");
        assert_eq!(logs.look(EVERY_NS), None);
        assert_eq!(metadata(&victim).expect("it is there").len(), LOG_MAX_BYTES + 1);
    }

    #[test]
    fn a_log_with_a_strange_name_is_emptied_and_named_in_plain_text() {
        let dir = state();
        long(&dir.path().join("log/\u{1b}[2J\nx"), LOG_MAX_BYTES + 1);
        let named = Logs::new(dir.path()).look(0).expect("it is emptied");
        assert!(named.ends_with("/log/\\u{1b}[2J\\nx"), "{named}");
    }
}
