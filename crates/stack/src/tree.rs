//! Folders that a server writes to, as we handle them: by descriptor, one name after the other, never through a link, and
//! only what belongs to the user of the folder.
//!
//! A server can put a link in the place of what it has made at any moment, so that a path says nothing: only what has been
//! opened does. Parents of these folders are ours.

use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, fchmod, fstat, statat};
use rustix::fs::{mkdirat, open, openat, openat2, renameat, unlinkat};
use rustix::io::Errno;
use rustix::path::Arg;
use rustix::process::geteuid;
use std::ffi::{CStr, CString};
use std::fs::{DirBuilder, File, Permissions, set_permissions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, fchown};
use std::path::Path;

/// Bounds of a copy.
const COPIED_BYTES_MAX: u64 = 8 << 30;
const COPIED_ENTRIES_MAX: usize = 100_000;
const COPIED_DEPTH_MAX: usize = 32;
/// Names that are read before their files are removed, and steps of a removal; what is left then, the next removal takes.
const NAMES_AT_ONCE: usize = 1000;
const REMOVAL_STEPS_MAX: u64 = 10_000_000;

/// How a folder is opened.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// The same of one that is closed to ourselves too: a descriptor that reads nothing and only names it.
const NAMED: OFlags = FOLDER.union(OFlags::PATH);

/// An open folder.
pub(crate) struct Folder {
    fd: OwnedFd,
    /// Whose it is, and what is read of it or emptied in it has to be.
    owner: u32,
}

impl Folder {
    /// The folder at `path`, of which nobody but ourselves can change a part.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Self::of(open(path, FOLDER, Mode::empty())?)
    }

    /// A new folder at `path`, ours alone.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        DirBuilder::new().mode(0o700).create(path)?;
        let made = Self::open(path)?;
        // Who may change its parent can have put another in its place.
        if made.owner == geteuid().as_raw() { Ok(made) } else { Err(io::Error::other("somebody else has replaced it")) }
    }

    /// A folder in it; made, ours alone, unless it is there.
    pub(crate) fn make(&self, name: &CStr) -> io::Result<Self> {
        match mkdirat(&self.fd, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => self.folder(name),
            Err(error) => Err(error.into()),
        }
    }

    /// A new file in it.
    pub(crate) fn make_file(&self, name: impl Arg, mode: Mode) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(openat(&self.fd, name, flags, mode)?))
    }

    /// Gives all in it to a user, and itself last: until then nobody else gets to what is in it.
    pub(crate) fn give_all(&self, uid: u32, gid: u32) -> io::Result<()> {
        for name in self.names(usize::MAX)? {
            let found = statat(&self.fd, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW)?;
            match FileType::from_raw_mode(found.st_mode) {
                FileType::Directory => self.folder(&name)?.give_all(uid, gid)?,
                _ => fchown(self.file(&name, OFlags::RDONLY)?, Some(uid), Some(gid))?,
            }
        }
        self.give(uid, gid)
    }

    /// Gives the folder itself to a user.
    pub(crate) fn give(&self, uid: u32, gid: u32) -> io::Result<()> {
        fchown(&self.fd, Some(uid), Some(gid))
    }

    /// Names in it, `most` of them at most.
    pub(crate) fn names(&self, most: usize) -> io::Result<Vec<CString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.fd)? {
            let entry = entry?;
            if names.len() >= most {
                break;
            }
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                names.push(entry.file_name().to_owned());
            }
        }
        Ok(names)
    }

    /// Length of a regular file of the folder's user; none of anything else.
    pub(crate) fn length(&self, name: &CStr) -> Option<u64> {
        let found = statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_own = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile && found.st_uid == self.owner;
        if is_own { u64::try_from(found.st_size).ok() } else { None }
    }

    /// A regular file of the folder's user, opened. A pipe in its place does not block.
    pub(crate) fn file(&self, name: impl Arg + Copy, flags: OFlags) -> io::Result<File> {
        let file = File::from(self.at(name, flags | OFlags::NONBLOCK)?);
        let found = file.metadata()?;
        if found.is_file() && found.uid() == self.owner { Ok(file) } else { Err(foreign()) }
    }

    /// The last bytes of such a file.
    pub(crate) fn tail(&self, name: &str, most_bytes: u64) -> io::Result<Vec<u8>> {
        let mut file = self.file(name, OFlags::RDONLY)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(most_bytes)))?;
        let mut bytes = Vec::new();
        file.take(most_bytes).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn of(fd: OwnedFd) -> io::Result<Self> {
        let owner = fstat(&fd)?.st_uid;
        Ok(Self { fd, owner })
    }

    /// A folder in it of the same user.
    pub(crate) fn folder(&self, name: &CStr) -> io::Result<Self> {
        let folder = Self::of(self.at(name, FOLDER)?)?;
        if folder.owner == self.owner { Ok(folder) } else { Err(foreign()) }
    }

    /// What is there under a single name, if it is no link.
    fn at(&self, name: impl Arg + Copy, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let never = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match openat2(&self.fd, name, flags, Mode::empty(), never) {
            // Before Linux 5.6, or forbidden here. Of a single name NOFOLLOW says the same.
            Err(Errno::NOSYS | Errno::PERM) => Ok(openat(&self.fd, name, flags, Mode::empty())?),
            opened => Ok(opened?),
        }
    }
}

/// Removes a folder of which nobody but ourselves can change the parent, and all below it.
///
/// # Errors
/// If the system refuses a part; all else is gone.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    let top = opened(&open(path, NAMED, Mode::empty())?)?;
    Removal::default().empty(&top, |removal, name| removal.remove(&top, name))?;
    std::fs::remove_dir(path)
}

/// A removal as far as it has come.
#[derive(Default)]
struct Removal {
    steps: u64,
    /// What has been removed, and folders that have been moved to where they are removed later.
    gone: u64,
}

impl Removal {
    /// Has each name in a folder removed until there is none, or none that can be.
    fn empty(&mut self, folder: &Folder, remove: impl Fn(&mut Self, &CStr) -> io::Result<()>) -> io::Result<()> {
        loop {
            let names = folder.names(NAMES_AT_ONCE)?;
            if names.is_empty() {
                return Ok(());
            }
            self.step()?;
            let gone = self.gone;
            // What stays is no reason for the rest to stay.
            let failures: Vec<io::Error> = names.iter().filter_map(|name| remove(self, name).err()).collect();
            match failures.into_iter().next() {
                Some(error) if self.gone == gone => return Err(error),
                _ => {}
            }
        }
    }

    /// Removes all that has this name in `top`. Folders below it are moved there first: so it may be as deep as it likes.
    fn remove(&mut self, top: &Folder, name: &CStr) -> io::Result<()> {
        if self.unlink(top, name)? {
            return Ok(());
        }
        let inner = opened(&top.at(name, NAMED)?)?;
        self.empty(
            &inner,
            |removal, name| {
                if removal.unlink(&inner, name)? { Ok(()) } else { removal.lift(&inner, name, top) }
            },
        )?;
        self.unlink(top, name).map(drop)
    }

    /// Removes a file, a link or an empty folder; false when it is a folder with something in it.
    fn unlink(&mut self, folder: &Folder, name: &CStr) -> io::Result<bool> {
        let is_gone = unlink(&folder.fd, name)?;
        self.gone += u64::from(is_gone);
        Ok(is_gone)
    }

    /// Moves a folder in `from` to `above`, under any name that is free there.
    fn lift(&mut self, from: &Folder, name: &CStr, above: &Folder) -> io::Result<()> {
        // One that cannot be written to cannot be moved. What cannot be opened up is refused below.
        let _ = from.at(name, NAMED).and_then(|named| open_up(&named));
        loop {
            self.step()?;
            let fresh = format!(".lifted-{}", self.steps);
            match renameat(&from.fd, name, &above.fd, fresh.as_str()) {
                Ok(()) | Err(Errno::NOENT) => {
                    self.gone += 1;
                    return Ok(());
                }
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn step(&mut self) -> io::Result<()> {
        self.steps += 1;
        if self.steps > REMOVAL_STEPS_MAX { Err(too_much()) } else { Ok(()) }
    }
}

/// The folder that was only named, opened, to be emptied.
fn opened(named: &OwnedFd) -> io::Result<Folder> {
    open_up(named)?;
    Folder::of(openat(named, c".", FOLDER, Mode::empty())?)
}

/// Lets ourselves into a folder of our own that is closed to us, as Go closes those of its module cache.
fn open_up(named: &OwnedFd) -> io::Result<()> {
    let found = fstat(named)?;
    if found.st_uid != geteuid().as_raw() || found.st_mode & 0o700 == 0o700 {
        return Ok(());
    }
    // The kernel takes no fchmod of it, and by its name it could be a link by now.
    set_permissions(format!("/proc/self/fd/{}", named.as_raw_fd()), Permissions::from_mode(0o700))
}

/// Copies the folder `from` to `to`, which is made here, closed to others until it is whole, and then given to the same user.
///
/// Links, sockets and pipes are left out. Neither path has a part that anybody but ourselves can change.
///
/// # Errors
/// If it is too large, if something in it belongs to another user, or if the system refuses.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let from = Folder::open(from)?;
    let to = Folder::create(to)?;
    Copied::default().folder(&from, &to, 0)?;
    give_as(&to.fd, &from.fd)
}

/// What has been copied so far.
#[derive(Default)]
struct Copied {
    bytes: u64,
    entries: usize,
}

impl Copied {
    fn folder(&mut self, from: &Folder, to: &Folder, depth: usize) -> io::Result<()> {
        let names = from.names(COPIED_ENTRIES_MAX + 1 - self.entries)?;
        self.entries += names.len();
        if self.entries > COPIED_ENTRIES_MAX || depth > COPIED_DEPTH_MAX {
            return Err(too_much());
        }
        for name in &names {
            let found = statat(&from.fd, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW)?;
            match FileType::from_raw_mode(found.st_mode) {
                FileType::Directory => {
                    let inner = from.folder(name)?;
                    let made = to.make(name)?;
                    self.folder(&inner, &made, depth + 1)?;
                    give_as(&made.fd, &inner.fd)?;
                }
                FileType::RegularFile => self.file(from, to, name)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn file(&mut self, from: &Folder, to: &Folder, name: &CStr) -> io::Result<()> {
        let original = from.file(name, OFlags::RDONLY)?;
        let mut made = to.make_file(name, Mode::RUSR | Mode::WUSR)?;
        let mut part = original.take(COPIED_BYTES_MAX + 1 - self.bytes);
        self.bytes += io::copy(&mut part, &mut made)?;
        if self.bytes > COPIED_BYTES_MAX {
            return Err(too_much());
        }
        give_as(&made, part.get_ref())
    }
}

/// Gives what was made the user and the rights of `original`, but nothing that makes a program run as somebody else.
fn give_as(made: impl AsFd, original: impl AsFd) -> io::Result<()> {
    let original = fstat(original)?;
    if geteuid().is_root() {
        fchown(&made, Some(original.st_uid), Some(original.st_gid))?;
    }
    Ok(fchmod(made, Mode::from_raw_mode(original.st_mode & 0o777))?)
}

/// [`Removal::unlink`] without its count.
fn unlink(folder: &OwnedFd, name: &CStr) -> io::Result<bool> {
    match unlinkat(folder, name, AtFlags::empty()) {
        // What Linux says of a folder, and what POSIX does.
        Err(Errno::ISDIR | Errno::PERM) => {}
        Ok(()) | Err(Errno::NOENT) => return Ok(true),
        Err(error) => return Err(error.into()),
    }
    match unlinkat(folder, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::EXIST | Errno::NOTEMPTY) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn foreign() -> io::Error {
    io::Error::other("it is not a file or folder of the server's own user")
}

fn too_much() -> io::Error {
    io::Error::other("there is more in it than a server of a measurement has")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::may_become;
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
    use std::fs::{create_dir, create_dir_all, read, write};
    use std::os::unix::fs::{chown, symlink};
    use std::os::unix::net::UnixListener;
    use std::process::Command;
    use tempfile::TempDir;

    fn directory() -> TempDir {
        tempfile::tempdir().expect("a directory")
    }

    /// Does it without what root may besides other users. Such rights are those of a thread.
    fn as_ordinary_user<T: Send>(act: impl FnOnce() -> T + Send) -> T {
        let none = CapabilitySet::empty();
        let act = || {
            let all = CapabilitySets { effective: none, permitted: none, inheritable: none };
            set_capabilities(None, all).expect("anybody may drop rights");
            act()
        };
        std::thread::scope(|scope| scope.spawn(act).join()).expect("it says above what is wrong")
    }

    #[test]
    fn a_link_in_place_of_a_file_or_folder_is_not_followed() {
        let (victim, own) = (directory(), directory());
        write(victim.path().join("secret"), "secret").expect("a file");
        symlink(victim.path().join("secret"), own.path().join("error.log")).expect("a link");
        symlink(victim.path(), own.path().join("folder")).expect("a link");
        let folder = Folder::open(own.path()).expect("a folder");
        assert!(folder.tail("error.log", 100).is_err() && folder.file("error.log", OFlags::WRONLY).is_err());
        assert!(folder.folder(c"folder").is_err() && Folder::open(&own.path().join("folder")).is_err());
        assert!(folder.file("folder/secret", OFlags::RDONLY).is_err() && folder.length(c"error.log").is_none());
        write(own.path().join("own"), "0123456789").expect("a file");
        assert_eq!(folder.tail("own", 4).expect("its own file"), b"6789");
        assert_eq!(folder.length(c"own"), Some(10));
    }

    #[test]
    fn a_pipe_in_place_of_a_log_does_not_block() {
        let own = directory();
        let made = Command::new("mkfifo").arg(own.path().join("error.log")).status().expect("mkfifo");
        assert!(made.success());
        let folder = Folder::open(own.path()).expect("a folder");
        assert!(folder.tail("error.log", 100).is_err() && folder.file("error.log", OFlags::WRONLY).is_err());
    }

    #[test]
    fn a_copy_leaves_links_and_sockets_out() {
        let (victim, own) = (directory(), directory());
        write(victim.path().join("secret"), "secret").expect("a file");
        let from = own.path().join("from");
        create_dir(&from).and_then(|()| create_dir(from.join("sub"))).expect("folders");
        write(from.join("sub/table"), "rows").expect("a file");
        symlink(victim.path().join("secret"), from.join("secret")).expect("a link");
        symlink(victim.path(), from.join("folder")).expect("a link");
        let _socket = UnixListener::bind(from.join("socket")).expect("a socket");
        let to = own.path().join("to");
        copy(&from, &to).expect("room for it");
        assert_eq!(read(to.join("sub/table")).expect("a copy"), b"rows");
        let names = Folder::open(&to).and_then(|to| to.names(10)).expect("a folder");
        assert_eq!(names, [c"sub".to_owned()]);
        assert!(copy(&from, &to).is_err(), "it is made, or nothing is");
    }

    #[test]
    fn a_copy_ends_at_its_bounds() {
        let own = directory();
        let mut deep = own.path().join("from");
        create_dir(&deep).expect("a folder");
        for _ in 0..=COPIED_DEPTH_MAX {
            deep.push("d");
            create_dir(&deep).expect("a folder");
        }
        let error = copy(&own.path().join("from"), &own.path().join("to")).expect_err("too deep");
        assert!(error.to_string().contains("more in it than"), "{error}");
    }

    /// Removing it by calling oneself for each level ends at the limit of open files, or of the stack.
    #[test]
    fn a_folder_deeper_than_any_path_is_removed() {
        let own = directory();
        let top = own.path().join("top");
        create_dir(&top).expect("a folder");
        write(top.join("file"), "").expect("a file");
        symlink("/", top.join("link")).expect("a link");
        let mut at = Folder::open(&top).expect("a folder");
        for _ in 0..5000 {
            mkdirat(&at.fd, c"d", Mode::RWXU).expect("a folder");
            at = at.folder(c"d").expect("just made");
        }
        drop(at);
        remove(&top).expect("it can be");
        assert!(!top.exists());
    }
    /// Go makes the folders of its module cache 0555, below the HOME that a server has.
    #[test]
    fn a_folder_that_nobody_may_write_to_is_removed_too() {
        let own = directory();
        let top = own.path().join("top");
        for folder in ["home/mod/package@v1/sub", "home/closed/inner"] {
            create_dir_all(top.join(folder)).expect("folders");
            write(top.join(folder).join("file"), "").expect("a file");
        }
        let closed = [
            ("home/mod/package@v1/sub", 0o555),
            ("home/mod/package@v1", 0o555),
            ("home/closed/inner", 0),
            ("home/closed", 0),
            ("", 0),
        ];
        for (folder, mode) in closed {
            set_permissions(top.join(folder), Permissions::from_mode(mode)).expect("our own");
        }
        as_ordinary_user(|| remove(&top)).expect("it is our own");
        assert!(!top.exists());
    }

    /// A user that nobody is.
    const FOREIGN: u32 = 54_321;

    #[test]
    fn what_cannot_be_removed_is_alone_in_staying() {
        if !may_become(FOREIGN) {
            // Nobody else can give a folder away.
            return;
        }
        let own = directory();
        let top = own.path().join("top");
        for folder in ["a", "a/foreign", "a/own", "b"] {
            create_dir_all(top.join(folder)).expect("folders");
            write(top.join(folder).join("file"), "").expect("a file");
            // Whatever the umask is.
            set_permissions(top.join(folder), Permissions::from_mode(0o755)).expect("our own");
        }
        chown(top.join("a/foreign"), Some(FOREIGN), None).expect("root may");
        let error = as_ordinary_user(|| remove(&top)).expect_err("a folder of somebody else");
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        let names = |path: &Path| Folder::open(path).and_then(|folder| folder.names(10)).expect("it is there");
        assert_eq!(names(&top), [c"a".to_owned()]);
        assert_eq!(names(&top.join("a")), [c"foreign".to_owned()]);
        remove(&top).expect("root may");
    }
}
