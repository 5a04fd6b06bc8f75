//! What every test program that meets real servers stands on. Each includes it by its path.

mod exchange;
mod serving;
mod stacks;

pub(crate) use exchange::{Answer, Endpoint, exchange};
pub(crate) use serving::{address, serve};
pub(crate) use stacks::Stacks;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Looks every 10 ms until `done` gives a value; none when `limit` has passed.
pub(crate) fn wait_for<T>(limit: Duration, mut done: impl FnMut() -> Option<T>) -> Option<T> {
    let begin = now();
    loop {
        if let Some(value) = done() {
            return Some(value);
        }
        if begin.elapsed() > limit {
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The only clock of the tests; it bounds waits and no result depends on it.
#[expect(clippy::disallowed_methods, reason = "tests watch a real process from outside, where no `now` is passed down")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Path of an installed program. Fails with the Debian package that has it.
#[track_caller]
pub(crate) fn installed(program: &str, package: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let known = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/bin".into()]);
    let found = known.map(|directory| directory.join(program)).find(|file| file.is_file());
    found.unwrap_or_else(|| panic!("{program} is not installed; install the package {package}"))
}

/// Files in a directory, sorted; empty when it is not there.
pub(crate) fn list(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
