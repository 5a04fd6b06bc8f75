//! Files and directories of results: for their owner only, as they hold command lines, paths and headers of servers.
//!
//! No link is followed at the end of a path: a directory that somebody else has made could lead to any file of the caller. A
//! pipe without another end holds nobody up.

use rustix::fs::OFlags;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Creates a directory and what is missing above it. One that is there stays as it is.
pub(crate) fn create_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path)
}

/// Creates a directory that is not there yet.
pub(crate) fn create_new_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(DIRECTORY_MODE).create(path)
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(FILE_MODE).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    options
}

/// Creates a file that is not there yet.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    options().write(true).create_new(true).open(path)
}

/// Creates a file, or empties the one that is there.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    options().write(true).create(true).truncate(true).open(path)
}

/// Opens a file to write to, as it is; creates it if need be.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    options().write(true).create(true).truncate(false).open(path)
}

/// Opens a file to write behind its end; creates it if need be.
pub(crate) fn append(path: &Path) -> io::Result<File> {
    options().append(true).create(true).open(path)
}

/// Opens a file that is there, whatever it is.
pub(crate) fn look(path: &Path) -> io::Result<File> {
    options().read(true).open(path)
}

/// Writes a file that is there whole or, where the disk does not take it, not at all.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let written = create(&part)?.write_all(content).and_then(|()| std::fs::rename(&part, path));
    written.inspect_err(|_| drop(std::fs::remove_file(&part)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::stored::tests::pipe;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[track_caller]
    fn others_may(path: &Path) -> u32 {
        std::fs::metadata(path).expect("it is there").permissions().mode() & 0o077
    }

    #[test]
    fn nobody_else_can_read_what_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let (directory, file) = (folder.path().join("a/b"), folder.path().join("a/b/c"));
        create_directory(&directory).unwrap();
        create_directory(&directory).unwrap();
        create_new_directory(&folder.path().join("n")).unwrap();
        write(&file, b"x").unwrap();
        for path in [&folder.path().join("a"), &directory, &file, &folder.path().join("n")] {
            assert_eq!(others_may(path), 0, "{}", path.display());
        }
    }

    #[test]
    fn links_are_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let (victim, link) = (folder.path().join("victim"), folder.path().join("link"));
        std::fs::write(&victim, "precious").unwrap();
        symlink(&victim, &link).unwrap();
        assert!(create(&link).is_err() && open(&link).is_err() && create_new(&link).is_err() && append(&link).is_err());
        write(&link, b"x").unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_file(), "the link has given way");
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    }

    #[test]
    fn a_pipe_without_another_end_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        pipe(&path);
        assert!(create(&path).is_err() && open(&path).is_err() && append(&path).is_err(), "nobody reads");
        assert!(look(&path).is_ok(), "nobody writes");
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let taken = folder.path().join("taken");
        create_new_directory(&taken).unwrap();
        assert!(write(&taken, b"x").is_err(), "a directory is in its place");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
