//! Files to write that the caller has named, such as `--junit FILE`.
//!
//! Unlike the files of a result these may be links, devices and pipes (`/dev/stdout`, `>(tee)`), but only such as the caller or
//! root has made: in a directory that others can write to, a link could lead to any file of the caller, and a pipe could hold
//! it up.

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Writes a file, in place of what is in it.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    create(path)?.write_all(content)
}

/// Creates a file, or empties the one that is there.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().write(true).create(true).truncate(true))
}

/// Opens a file to write behind its end; creates it if need be.
pub(crate) fn append(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().append(true).create(true))
}

fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    check_owner(path)?;
    let unhindered = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = options.custom_flags(unhindered).open(path).map_err(|error| match error.raw_os_error() {
        Some(code) if code == Errno::NXIO.raw_os_error() => io::Error::other("it is a pipe that nobody reads"),
        _ => error,
    })?;
    // What is there may be slow, and is waited for.
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// Fails on a link or a pipe that somebody else has made.
fn check_owner(path: &Path) -> io::Result<()> {
    let Ok(found) = path.symlink_metadata() else { return Ok(()) };
    let kind = match found.file_type() {
        kind if kind.is_symlink() => "a link",
        kind if kind.is_fifo() => "a pipe",
        _ => return Ok(()),
    };
    let own = [0, geteuid().as_raw()];
    if own.contains(&found.uid()) {
        return Ok(());
    }
    Err(io::Error::other(format!("it is {kind} that another user (uid {}) has made", found.uid())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::stored::tests::pipe;
    use std::os::unix::fs::{lchown, symlink};

    #[test]
    fn a_link_of_the_caller_is_followed_and_one_of_somebody_else_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, "old and longer").unwrap();
        symlink(&file, &link).unwrap();
        write(&link, b"new").unwrap();
        append(&link).unwrap().write_all(b"er").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "newer");
        // Only root can make it somebody else's.
        if lchown(&link, Some(65_534), None).is_ok() {
            let refused = write(&link, b"lost").unwrap_err().to_string();
            assert_eq!(refused, "it is a link that another user (uid 65534) has made");
            assert!(append(&link).is_err());
            assert_eq!(std::fs::read_to_string(&file).unwrap(), "newer");
        }
    }

    #[test]
    fn a_pipe_that_nobody_reads_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        pipe(&path);
        assert_eq!(write(&path, b"x").unwrap_err().to_string(), "it is a pipe that nobody reads");
        if lchown(&path, Some(65_534), None).is_ok() {
            assert!(append(&path).unwrap_err().to_string().starts_with("it is a pipe that another user"));
        }
    }
}
