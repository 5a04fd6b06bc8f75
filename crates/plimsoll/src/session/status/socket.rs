//! Unix socket of a database, held by descriptor: whoever owns its folder, such as a server of ours, can put a link in its
//! place at any moment, which leads to the socket of somebody else.

use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::process::geteuid;
use std::fs::metadata;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where to connect to, for as long as this is there.
pub(super) struct Held {
    pub(super) path: PathBuf,
    /// What `path` leads to, unless it is the path that was named.
    _socket: Option<OwnedFd>,
}

/// The socket at `path`. In a folder of another user than root and the caller it is no link.
///
/// # Errors
/// If there is no such socket.
pub(super) fn hold(path: &Path) -> io::Result<Held> {
    hold_for(path, [0, geteuid().as_raw()])
}

fn hold_for(path: &Path, trusted: [u32; 2]) -> io::Result<Held> {
    let folder = path.parent().unwrap_or(path);
    if trusted.contains(&metadata(folder)?.uid()) {
        return Ok(Held { path: path.to_owned(), _socket: None });
    }
    let socket = open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&socket)?.st_mode) != FileType::Socket {
        return Err(io::Error::other("it is no socket, and a link in the folder of another user is not followed"));
    }
    Ok(Held { path: format!("/proc/self/fd/{}", socket.as_raw_fd()).into(), _socket: Some(socket) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::{UnixListener, UnixStream};

    /// Nobody has these numbers.
    const NONE: [u32; 2] = [u32::MAX; 2];

    #[test]
    fn a_link_in_the_folder_of_another_user_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (socket, link) = (folder.path().join("db.sock"), folder.path().join("link.sock"));
        let listener = UnixListener::bind(&socket).unwrap();
        symlink(&socket, &link).unwrap();
        assert!(hold_for(&link, NONE).is_err() && hold_for(&folder.path().join("none"), NONE).is_err());
        let own = folder.path().metadata().unwrap().uid();
        assert_eq!(hold_for(&link, [own; 2]).unwrap().path, link, "a link of one's own is");
        let held = hold_for(&socket, NONE).unwrap();
        // What takes its place now is not asked.
        std::fs::remove_file(&socket).and_then(|()| symlink("/nonexistent", &socket)).unwrap();
        let _asked = UnixStream::connect(&held.path).unwrap();
        assert!(listener.accept().is_ok());
    }
}
