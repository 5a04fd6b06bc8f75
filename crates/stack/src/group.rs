//! A control group of version 2 for all that one supervisor starts (cgroups(7)). The kernel ends it as a whole: `cgroup.kill`
//! reaches a process that forks at that moment, and its child too, which no search through `/proc` does.
//!
//! It lies below the group of the supervisor, so that every limit above holds as before, and enables no controller: nothing is
//! accounted or scheduled in another way than without it. Only root, or a user to whom systemd has delegated a group, can make
//! one, and the kernel has `cgroup.kill` since Linux 5.14; without it there is none.

use rustix::fd::AsFd;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where version 2 is mounted: beside version 1, or alone.
const MOUNTS: [&str; 2] = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
/// Time that killed processes are given to leave the group; the kernel needs less unless one hangs in a device.
const EMPTY_NS: u64 = 3_000_000_000;
/// How often one looks whether they have left.
const LOOK_UP: Duration = Duration::from_millis(2);
/// Groups within groups that are removed: those of a server that is one of containers.
const DEPTH_MAX: usize = 16;

/// A group that was made.
#[derive(Debug)]
pub(crate) struct Group {
    path: PathBuf,
    /// `cgroup.procs`, open for writing: who writes 0 to it enters the group. The kernel asks for the rights of who has opened
    /// it, so that a process can enter that has become another user already.
    entrance: File,
}

impl Group {
    /// Where the group of the state directory `dir` would be; none where version 2 is not mounted. Nothing is made yet.
    pub(crate) fn place(dir: &Path) -> Option<PathBuf> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let mount = MOUNTS.iter().find(|mount| Path::new(mount).join("cgroup.controllers").exists())?;
        place_in(Path::new(mount), &own, dir)
    }

    /// Makes it. None where that is impossible, or the kernel cannot end a group.
    pub(crate) fn make(path: PathBuf) -> Option<Self> {
        fs::create_dir(&path).ok()?;
        let entrance = OpenOptions::new().write(true).open(path.join("cgroup.procs"));
        match entrance {
            Ok(entrance) if path.join("cgroup.kill").exists() => Some(Self { path, entrance }),
            _ => {
                // It is empty.
                let _ = fs::remove_dir(&path);
                None
            }
        }
    }

    pub(crate) fn entrance(&self) -> io::Result<rustix::fd::OwnedFd> {
        self.entrance.as_fd().try_clone_to_owned()
    }

    /// Kills all in it. It stays, for those that are started next.
    pub(crate) fn kill(&self, now_ns: fn() -> u64) {
        kill(&self.path, now_ns);
    }
}

fn place_in(mount: &Path, own: &str, dir: &Path) -> Option<PathBuf> {
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    // In a container it may be above the mount.
    let is_below = own.split('/').all(|part| part != "..");
    let name = format!("plimsoll-{}", dir.file_name()?.to_str()?);
    is_below.then(|| mount.join(own).join(name))
}

/// How many processes are in the group at `path`.
pub(crate) fn count(path: &Path) -> usize {
    fs::read_to_string(path.join("cgroup.procs")).map_or(0, |members| members.lines().count())
}

/// Kills all in the group at `path`, and waits until none is left or its time is over.
pub(crate) fn kill(path: &Path, now_ns: fn() -> u64) {
    // Where it is gone, nothing is in it.
    let _ = fs::write(path.join("cgroup.kill"), "1");
    let deadline_ns = now_ns() + EMPTY_NS;
    let is_populated = || {
        let events = fs::read_to_string(path.join("cgroup.events")).unwrap_or_default();
        events.lines().any(|line| line == "populated 1")
    };
    while is_populated() && now_ns() < deadline_ns {
        std::thread::sleep(LOOK_UP);
    }
}

/// Removes the group at `path`, which has no process any more, with those that a server has made in it.
///
/// # Errors
/// If a process is in it. A group that is not there is no error.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    remove_below(path, DEPTH_MAX)
}

fn remove_below(path: &Path, depth: usize) -> io::Result<()> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries.flatten().filter(|entry| depth > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        remove_below(&entry.path(), depth - 1)?;
    }
    fs::remove_dir(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_lies_below_our_own_and_nowhere_else() {
        let place = |own: &str| place_in(Path::new("/m"), own, Path::new("/tmp/plimsoll-0/nginx-aB3"));
        let group = |below: &str| Some(PathBuf::from(format!("/m/{below}plimsoll-nginx-aB3")));
        assert_eq!(place("0::/\n"), group(""));
        assert_eq!(place("4:memory:/box\n0::/user.slice/run-1.scope\n"), group("user.slice/run-1.scope/"));
        for elsewhere in ["0::/../other\n", "4:memory:/box\n", ""] {
            assert_eq!(place(elsewhere), None, "{elsewhere:?}");
        }
    }

    #[test]
    fn a_group_that_nobody_can_make_is_none_and_leaves_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        // Here a directory has no files of a group.
        assert!(Group::make(dir.path().join("group")).is_none());
        assert!(Group::make(dir.path().join("none/group")).is_none());
        assert_eq!(dir.path().read_dir().expect("it is there").count(), 0);
    }

    #[test]
    fn what_is_in_a_group_is_removed_with_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let group = dir.path().join("group");
        fs::create_dir_all(group.join("box/inner")).expect("folders");
        remove(&group).expect("no process is in it");
        assert!(!group.exists());
        remove(&group).expect("it is gone already");
        // A process in it: the kernel refuses to remove what is not empty.
        fs::create_dir_all(group.join("box")).and_then(|()| fs::write(group.join("process"), "")).expect("a folder");
        assert!(remove(&group).is_err());
    }
}
