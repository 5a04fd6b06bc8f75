//! State directories: one for each running server, and in it a note of whom it belongs to.

use crate::account::Account;
use crate::error::StackError;
use procfs::process::{Process, Stat};
use rustix::process::{geteuid, getpid};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};

/// What every state directory has.
const FOLDERS: [&str; 6] = ["conf", "data", "log", "run", "tmp", "www"];

/// Whom a state directory belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// The boot that the start times count from.
    pub(crate) boot: String,
    /// Who asked for the servers.
    pub(crate) owner: Mark,
    /// Who keeps them.
    pub(crate) supervisor: Mark,
    /// Those that were started, with the program of each. Each leads a session of its own.
    pub(crate) services: Vec<(Mark, PathBuf)>,
}

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    pub(crate) pid: i32,
    /// Field 22 of `/proc/PID/stat`: clock ticks after boot.
    pub(crate) start: u64,
}

impl Mark {
    /// Of a process that runs now.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        stat(pid).map(|stat| Self { pid, start: stat.starttime })
    }

    /// True if it still runs; a zombie does not.
    pub(crate) fn is_alive(self) -> bool {
        stat(self.pid).is_some_and(|stat| stat.starttime == self.start && stat.state != 'Z')
    }
}

impl Note {
    pub(crate) fn write(&self, dir: &Path) -> Result<(), StackError> {
        let path = note_path(dir);
        let fresh = path.with_extension("new");
        let text = serde_json::to_vec(self).unwrap_or_default();
        fs::write(&fresh, text)
            .and_then(|()| fs::rename(&fresh, &path))
            .map_err(|e| StackError::file("write", &path, &e))
    }

    pub(crate) fn read(dir: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(note_path(dir)).ok()?).ok()
    }
}

/// Where the note of a state directory is: beside it, as the servers may write in it, and who writes the note says
/// whom we end.
fn note_path(dir: &Path) -> PathBuf {
    let mut name = dir.as_os_str().to_owned();
    name.push(".json");
    name.into()
}

/// Removes a state directory and its note.
pub(crate) fn remove(dir: &Path) -> std::io::Result<()> {
    let removed = if dir.exists() { fs::remove_dir_all(dir) } else { Ok(()) };
    match fs::remove_file(note_path(dir)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => removed,
    }
}

/// Which boot of this machine this is.
pub(crate) fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

pub(crate) fn stat(pid: i32) -> Option<Stat> {
    Process::new(pid).ok()?.stat().ok()
}

/// The folder of all state directories of this user, below the folder for temporary files.
///
/// # Errors
/// If somebody else has made it: they could replace what we run.
pub(crate) fn base() -> Result<PathBuf, StackError> {
    let uid = geteuid().as_raw();
    let path = std::env::temp_dir().join(format!("plimsoll-{uid}"));
    match DirBuilder::new().mode(0o711).create(&path) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(StackError::file("create", &path, &error)),
    }
    let found = fs::symlink_metadata(&path).map_err(|error| StackError::file("look at", &path, &error))?;
    if found.is_dir() && found.uid() == uid {
        return Ok(path);
    }
    Err(StackError::Wrong(format!(
        "{} belongs to somebody else; remove it, or set TMPDIR to a directory of your own",
        path.display()
    )))
}

/// A new state directory with its folders, given to `account`. Until it has a supervisor it is ours.
pub(crate) fn create(name: &str, account: Option<&Account>) -> Result<PathBuf, StackError> {
    let base = base()?;
    let error = |path: &Path, error: &std::io::Error| StackError::file("create", path, error);
    let made = tempfile::Builder::new().prefix(&format!("{name}-")).tempdir_in(&base).map_err(|e| error(&base, &e))?;
    let dir = made.keep();
    let own = Mark::of(getpid().as_raw_nonzero().get()).unwrap_or_default();
    Note { boot: boot(), owner: own, supervisor: own, services: Vec::new() }.write(&dir)?;
    for folder in FOLDERS {
        fs::create_dir(dir.join(folder)).map_err(|e| error(&dir, &e))?;
    }
    fs::set_permissions(&dir, Permissions::from_mode(0o700)).map_err(|e| error(&dir, &e))?;
    give(&dir, account)?;
    Ok(dir)
}

/// Writes the files of a layout, folders included.
pub(crate) fn fill(dir: &Path, files: &[(String, Vec<u8>)], account: Option<&Account>) -> Result<(), StackError> {
    for (name, content) in files {
        let path = dir.join(name);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, content));
        made.map_err(|error| StackError::file("write", &path, &error))?;
        let mode = if name.ends_with(".sh") { 0o755 } else { 0o644 };
        // A key is nobody else's.
        let mode = if name.ends_with(".key") { 0o600 } else { mode };
        fs::set_permissions(&path, Permissions::from_mode(mode))
            .map_err(|error| StackError::file("write", &path, &error))?;
    }
    give(dir, account)
}

/// Gives a directory and all below it to the user that the servers run as.
pub(crate) fn give(dir: &Path, account: Option<&Account>) -> Result<(), StackError> {
    let Some(account) = account else { return Ok(()) };
    let error = |error: std::io::Error| StackError::file("give away", dir, &error);
    walk(dir, &mut |path| lchown(path, Some(account.uid), Some(account.gid))).map_err(error)
}

fn walk(path: &Path, each: &mut dyn FnMut(&Path) -> std::io::Result<()>) -> std::io::Result<()> {
    each(path)?;
    if fs::symlink_metadata(path)?.is_dir() {
        for entry in fs::read_dir(path)? {
            walk(&entry?.path(), each)?;
        }
    }
    Ok(())
}

/// Replaces `to` by a copy of `from`; both are directories.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), StackError> {
    let error = |error: std::io::Error| StackError::file("copy", from, &error);
    if to.exists() {
        fs::remove_dir_all(to).map_err(error)?;
    }
    copy_tree(from, to).map_err(error)
}

fn copy_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
