//! The file behind a piece of code of a process. Who runs a process decides about its paths, so that a path is followed within
//! the process' own root only, nothing but a regular file is opened, and the file is told by its number on its disk.

use super::maps::Map;
use rustix::fs::{FileType, MemfdFlags, Mode, OFlags, RawMode, ResolveFlags, fstat, memfd_create, open, openat2};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};

/// Largest file that is copied, as only root may read it; bytes.
const COPY_MAX_BYTES: u64 = 256 << 20;
const READ_BY_ALL: RawMode = 0o004;

/// What a file is on this machine, whatever it is called: device and inode.
pub(super) type FileKey = (u64, u64);

/// A file that is known and not yet opened.
pub(super) struct ProgramFile {
    /// A descriptor that stands for the file and reads nothing.
    named: OwnedFd,
    pub(super) key: FileKey,
    /// True of a file that root has put there, as packages do.
    pub(super) is_of_root: bool,
    is_read_by_all: bool,
    is_of_running: bool,
}

impl ProgramFile {
    /// The one behind `map` of a process that runs, which is called `path` there.
    pub(super) fn of_running(pid: u32, map: &Map, path: &str) -> Option<Self> {
        let by_map = open(format!("/proc/{pid}/map_files/{}", map.range()), stand_for(), Mode::empty());
        let in_its_root = || {
            let root = open(format!("/proc/{pid}/root"), stand_for() | OFlags::DIRECTORY, Mode::empty())?;
            let within = ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            openat2(&root, path.trim_start_matches('/'), stand_for(), Mode::empty(), within)
        };
        // The first needs a right that root has and a user has not.
        Self::of(by_map.or_else(|_| in_its_root()).ok()?, true)
    }

    /// The one at `path` now, of a process that has ended.
    pub(super) fn of_path(path: &str) -> Option<Self> {
        Self::of(open(path, stand_for() | OFlags::NOFOLLOW, Mode::empty()).ok()?, false)
    }

    fn of(named: OwnedFd, is_of_running: bool) -> Option<Self> {
        let about = fstat(&named).ok()?;
        (FileType::from_raw_mode(about.st_mode) == FileType::RegularFile).then_some(Self {
            named,
            key: (about.st_dev, about.st_ino),
            is_of_root: about.st_uid == 0,
            is_read_by_all: about.st_mode & READ_BY_ALL != 0,
            is_of_running,
        })
    }

    /// Opens it for a process that has no rights.
    pub(super) fn open(&self) -> io::Result<OwnedFd> {
        let path = format!("/proc/self/fd/{}", self.named.as_raw_fd());
        let file = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        // What a process has mapped it may read; what a path leads to now may be anything.
        match self.is_of_running && !self.is_read_by_all && rustix::process::geteuid().is_root() {
            true => copy(&File::from(file)),
            false => Ok(file),
        }
    }
}

fn stand_for() -> OFlags {
    OFlags::PATH | OFlags::CLOEXEC
}

/// A copy in memory.
fn copy(file: &File) -> io::Result<OwnedFd> {
    let mut copy = File::from(memfd_create("program", MemfdFlags::CLOEXEC)?);
    let copied = io::copy(&mut file.take(COPY_MAX_BYTES + 1), &mut copy)?;
    match copied > COPY_MAX_BYTES {
        true => {
            Err(io::Error::other(format!("only its user may read it, and it has more than {COPY_MAX_BYTES} bytes")))
        }
        false => Ok(copy.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::maps::Maps;
    use super::*;
    use std::io::Seek;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn the_own_program_is_the_same_by_its_map_and_by_its_path() {
        let own = std::env::current_exe().unwrap().to_string_lossy().into_owned();
        let address = copy as fn(&File) -> io::Result<OwnedFd> as usize as u64;
        let maps = Maps::read(std::process::id()).unwrap();
        let by_map = ProgramFile::of_running(std::process::id(), maps.find(address).unwrap(), &own).unwrap();
        let by_path = ProgramFile::of_path(&own).unwrap();
        assert_eq!(by_map.key, by_path.key);
        assert!(by_map.open().is_ok() && by_path.open().is_ok());
    }

    #[test]
    fn what_is_no_regular_file_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        std::fs::write(path("file"), "x").unwrap();
        symlink(path("file"), path("link")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, path("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert!(ProgramFile::of_path(&path("file")).is_some());
        for name in ["link", "pipe", ".", "none"] {
            assert!(ProgramFile::of_path(&path(name)).is_none(), "{name}");
        }
    }

    #[test]
    fn what_only_root_may_read_is_handed_over_as_a_copy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "text").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        let mut file = File::from(copy(&File::open(&path).unwrap()).unwrap());
        file.rewind().unwrap();
        assert_eq!(io::read_to_string(file).unwrap(), "text");
    }
}
