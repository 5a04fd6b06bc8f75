//! Bounds what servers write: a log without end must not fill the disk.

use std::fs::{OpenOptions, metadata, read_dir};
use std::path::{Path, PathBuf};

/// A longer log is emptied. An access log at 50,000 requests a second gets there in a minute.
const LOG_MAX_BYTES: u64 = 256 << 20;
/// How often one looks; ns.
const EVERY_NS: u64 = 500_000_000;

pub(super) struct Logs {
    folder: PathBuf,
    next_ns: u64,
}

impl Logs {
    pub(super) fn new(dir: &Path) -> Self {
        Self { folder: dir.join("log"), next_ns: 0 }
    }

    /// Empties a log that is too long and returns its path. Servers append, so they go on at its begin.
    pub(super) fn look(&mut self, now_ns: u64) -> Option<PathBuf> {
        if now_ns < self.next_ns {
            return None;
        }
        self.next_ns = now_ns + EVERY_NS;
        let files = read_dir(&self.folder).ok()?.flatten().map(|entry| entry.path());
        let too_long = files.into_iter().find(|path| metadata(path).is_ok_and(|file| file.len() > LOG_MAX_BYTES))?;
        OpenOptions::new().write(true).truncate(true).open(&too_long).ok()?;
        Some(too_long)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_is_too_long_is_emptied() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("log")).expect("a directory");
        let (long, short) = (dir.path().join("log/long"), dir.path().join("log/short"));
        std::fs::write(&short, "short").expect("a file");
        // Sparse: it takes no room.
        std::fs::File::create(&long).and_then(|file| file.set_len(LOG_MAX_BYTES + 1)).expect("a file");
        let mut logs = Logs::new(dir.path());
        assert_eq!(logs.look(0), Some(long.clone()));
        assert_eq!(metadata(&long).expect("it is there").len(), 0);
        assert_eq!(logs.look(EVERY_NS), None);
        assert_eq!(metadata(&short).expect("it is there").len(), 5);
    }
}
