//! Room on the file system of a state directory: a server that fills it takes it from everybody, and from the results.

use rustix::fs::statvfs;
use std::path::{Path, PathBuf};

/// Room that is left to others.
pub(crate) const KEPT_BYTES: u64 = 64 << 20;
/// Less than this is no room for anything.
const FULL_BYTES: u64 = 1 << 20;
/// How often one looks; ns.
const EVERY_NS: u64 = 200_000_000;

pub(super) struct Disk {
    dir: PathBuf,
    /// True if there was room at first: a file system that is full anyway is not the fault of a server.
    had_room: bool,
    next_ns: u64,
}

impl Disk {
    pub(super) fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), had_room: free_bytes(dir).is_some_and(has_room), next_ns: 0 }
    }

    /// True if there is no room any more.
    pub(super) fn is_full(&mut self, now_ns: u64) -> bool {
        if !self.had_room || now_ns < self.next_ns {
            return false;
        }
        self.next_ns = now_ns + EVERY_NS;
        // What the kernel does not tell is no reason to end anything.
        free_bytes(&self.dir).is_some_and(|free| !has_room(free))
    }
}

/// True if nothing more can be written there.
pub(crate) fn is_full(dir: &Path) -> bool {
    free_bytes(dir).is_some_and(|free| free < FULL_BYTES)
}

const fn has_room(free_bytes: u64) -> bool {
    free_bytes >= KEPT_BYTES
}

/// What users other than root may still write there.
fn free_bytes(dir: &Path) -> Option<u64> {
    let found = statvfs(dir).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_had_room_can_be_filled() {
        assert!(has_room(KEPT_BYTES) && !has_room(KEPT_BYTES - 1));
        // No file system has room for anything there.
        let full = Path::new("/proc");
        assert_eq!(free_bytes(full), Some(0));
        assert!(is_full(full) && !is_full(Path::new("/nonexistent")));
        assert!(!Disk::new(full).is_full(0), "it was full before");
        let mut filled = Disk { dir: full.to_owned(), had_room: true, next_ns: 0 };
        assert!(filled.is_full(0));
        assert!(!filled.is_full(1), "it looks now and then");
        assert!(!Disk::new(Path::new("/nonexistent")).is_full(0), "nobody knows");
    }
}
