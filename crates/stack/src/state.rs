//! State directories: one for each running server, and in it a note of whom it belongs to.
//!
//! A directory is ours; its server owns some folders in it and can change nothing else: no folder of a path that we open,
//! and none of what we copy or show. What it does below its own folders is handled by descriptor ([`crate::tree`]).

use crate::account::Account;
use crate::error::StackError;
use crate::place;
use crate::standing::Standing;
use crate::tree::{self, Folder};
use procfs::process::{Process, Stat};
use rustix::fs::Mode;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Folders that belong to the server, closed to others.
pub(crate) const SERVERS: [&str; 5] = ["data", "home", "log", "run", "tmp"];
/// Folders that it reads.
const READ: [&str; 2] = ["conf", "www"];
/// Folder of what its processes and its build write to stdout and stderr. The server itself cannot open it.
pub(crate) const OUTPUT: &str = "out";
/// Folder of its data as they were after provisioning. The server itself cannot open it.
const SAVED: &str = "saved";
/// File in a directory that its user keeps.
const KEPT: &str = "kept";

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
    /// The control group of all that was started; none where there is none.
    #[serde(default)]
    pub(crate) group: Option<PathBuf>,
    /// What they are, once they have been left to their supervisor.
    #[serde(default)]
    pub(crate) standing: Option<Standing>,
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
        write_own(&fresh, &text)
            .and_then(|()| fs::rename(&fresh, &path))
            .map_err(|e| StackError::file("write", &path, &e))
    }

    pub(crate) fn read(dir: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(note_path(dir)).ok()?).ok()
    }
}

/// Writes a file that nobody else may read: a note names processes, paths and what was asked for.
fn write_own(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    // It may have been there, with another mode.
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(content)
}

/// Where the note of a state directory is: beside it, out of reach of its servers, as who writes the note says whom we end.
fn note_path(dir: &Path) -> PathBuf {
    let mut name = dir.as_os_str().to_owned();
    name.push(".json");
    name.into()
}

/// Removes a state directory and its note, which stays with what cannot be removed.
pub(crate) fn remove(dir: &Path) -> io::Result<()> {
    if fs::symlink_metadata(dir).is_ok() {
        tree::remove(dir)?;
    }
    remove_note(dir)
}

fn remove_note(dir: &Path) -> io::Result<()> {
    match fs::remove_file(note_path(dir)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Leaves a state directory to its user, who removes it. Nothing is left to be noted of it.
pub(crate) fn keep(dir: &Path) -> io::Result<()> {
    let mut mark = Folder::open(dir)?.make_file(KEPT, Mode::RUSR | Mode::WUSR)?;
    mark.write_all(b"kept by plimsoll serve --keep-state, to be removed by whom it was kept for\n")?;
    remove_note(dir)
}

/// True if it was left to its user.
pub(crate) fn is_kept(dir: &Path) -> bool {
    dir.join(KEPT).exists()
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
/// If somebody else has made it, or could put another in its place: they could replace what we run.
pub(crate) fn base() -> Result<PathBuf, StackError> {
    let temp = temporary();
    base_in(&std::path::absolute(&temp).map_err(|error| StackError::file("find", &temp, &error))?)
}

/// The folder for temporary files. An empty TMPDIR is one that is not set.
fn temporary() -> PathBuf {
    let named = std::env::temp_dir();
    if named.as_os_str().is_empty() { "/tmp".into() } else { named }
}

/// True if there may be state directories of this user.
pub(crate) fn has_base() -> bool {
    temporary().join(base_name()).is_dir()
}

fn base_name() -> String {
    format!("plimsoll-{}", geteuid().as_raw())
}

fn base_in(temp: &Path) -> Result<PathBuf, StackError> {
    let uid = geteuid().as_raw();
    let parent = fs::metadata(temp).map_err(|error| {
        let what = "servers have no place for their files there; set TMPDIR to a directory of your own";
        StackError::Wrong(format!("{}: {error}: {what}", temp.display()))
    })?;
    // Root trusts no group; a user's own often is one of a single member.
    let others = if uid == 0 { 0o022 } else { 0o002 };
    let is_sticky = parent.mode() & 0o1000 != 0;
    if ![0, uid].contains(&parent.uid()) || parent.mode() & others != 0 && !is_sticky {
        return Err(StackError::Wrong(format!(
            "{}: other users can replace what is in it; set TMPDIR to a directory of your own",
            temp.display()
        )));
    }
    let path = temp.join(base_name());
    match DirBuilder::new().mode(0o711).create(&path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(StackError::file("create", &path, &error)),
    }
    let error = |error: io::Error| StackError::file("look at", &path, &error);
    let found = fs::symlink_metadata(&path).map_err(error)?;
    if !found.is_dir() || found.uid() != uid {
        return Err(StackError::Wrong(format!(
            "{} belongs to somebody else; remove it, or set TMPDIR to a directory of your own",
            path.display()
        )));
    }
    // Servers of another user pass through it, whatever our umask was when it was made; nobody else writes in it.
    if found.mode() & 0o777 != 0o711 {
        fs::set_permissions(&path, Permissions::from_mode(0o711)).map_err(error)?;
    }
    Ok(path)
}

/// Refuses a path that generated configurations would have to quote, each in a way of its own.
fn check_plain(path: &Path) -> Result<(), StackError> {
    let is_plain = |text: &str| text.chars().all(|c| c.is_alphanumeric() || "/._-+@".contains(c));
    if path.to_str().is_some_and(is_plain) {
        return Ok(());
    }
    Err(StackError::Wrong(format!(
        "{path:?} has characters that configurations of servers cannot hold; set TMPDIR to a directory with letters, digits \
         and . _ - + @ in its path only"
    )))
}

/// Random digits in the name of a state directory: paths of sockets in it are short, and two of the same name are refused.
const RANDOM_DIGITS: usize = 8;

/// A place for a new state directory, at which there is nothing yet: its supervisor makes it.
pub(crate) fn new_place(name: &str) -> Result<PathBuf, StackError> {
    let base = base()?;
    check_plain(&base)?;
    let random = place::secret()?;
    Ok(base.join(format!("{name}-{}", &random[..RANDOM_DIGITS])))
}

/// Makes a state directory, which the caller alone keeps and removes: directly in the folder of them, where nothing was.
///
/// # Errors
/// If it cannot be made there.
pub(crate) fn make_new(dir: &Path) -> Result<(), StackError> {
    make_new_in(&base()?, dir)
}

fn make_new_in(base: &Path, dir: &Path) -> Result<(), StackError> {
    if dir.parent() != Some(base) || dir.file_name().is_none() {
        let (dir, base) = (dir.display(), base.display());
        return Err(StackError::Wrong(format!(
            "{dir} is no place for a state directory, which lies in {base}; plimsoll starts its supervisors by itself: see \
             plimsoll serve --help"
        )));
    }
    DirBuilder::new().mode(0o700).create(dir).map_err(|error| StackError::file("create", dir, &error))
}

/// Makes the folders of a state directory, which is ours alone until all are made; those of the server are given to `account`.
pub(crate) fn furnish(dir: &Path, account: Option<&Account>) -> Result<(), StackError> {
    make_folders(dir, account).map_err(|error| StackError::file("create", dir, &error))
}

fn make_folders(dir: &Path, account: Option<&Account>) -> io::Result<()> {
    let ours = [OUTPUT, SAVED].map(|folder| (folder, 0o700));
    let all = SERVERS.map(|folder| (folder, 0o700)).into_iter().chain(READ.map(|folder| (folder, 0o755))).chain(ours);
    for (folder, mode) in all {
        let path = dir.join(folder);
        fs::create_dir(&path)?;
        // Whatever our umask is.
        fs::set_permissions(&path, Permissions::from_mode(mode))?;
    }
    let Some(account) = account else { return fs::set_permissions(dir, Permissions::from_mode(0o700)) };
    for folder in SERVERS {
        Folder::open(&dir.join(folder))?.give(account.uid, account.gid)?;
    }
    // It passes through, and changes nothing.
    Folder::open(dir)?.give(geteuid().as_raw(), account.gid)?;
    fs::set_permissions(dir, Permissions::from_mode(0o750))
}

/// Writes the files of a layout into folders that the server only reads. It has not been started yet.
pub(crate) fn fill(dir: &Path, files: &[(String, Vec<u8>)], account: Option<&Account>) -> Result<(), StackError> {
    for (name, content) in files {
        let path = dir.join(name);
        write(&path, content, account).map_err(|error| StackError::file("write", &path, &error))?;
    }
    Ok(())
}

/// Makes a folder that servers read, and those above it, unless it is there.
fn make(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    folder.parent().map_or(Ok(()), make)?;
    fs::create_dir(folder)?;
    // Whatever our umask is.
    fs::set_permissions(folder, Permissions::from_mode(0o755))
}

fn write(path: &Path, content: &[u8], account: Option<&Account>) -> io::Result<()> {
    let is_key = path.extension().is_some_and(|kind| kind == "key");
    if let Some(folder) = path.parent() {
        make(folder)?;
    }
    fs::write(path, content)?;
    // A key is nobody else's.
    fs::set_permissions(path, Permissions::from_mode(if is_key { 0o600 } else { 0o644 }))?;
    match account.filter(|_| is_key) {
        Some(account) => std::os::unix::fs::lchown(path, Some(account.uid), Some(account.gid)),
        None => Ok(()),
    }
}

/// Sets the data of a server aside, where it cannot get at them, and gives it a copy. None of its processes runs.
pub(crate) fn save(dir: &Path, data: &str) -> Result<(), StackError> {
    let (own, saved) = (dir.join(data), saved(dir, data));
    fs::rename(&own, &saved).map_err(|error| StackError::file("set aside", &own, &error))?;
    restore(dir, data)
}

/// Gives a server its data as they were set aside. None of its processes runs.
pub(crate) fn restore(dir: &Path, data: &str) -> Result<(), StackError> {
    let (own, saved) = (dir.join(data), saved(dir, data));
    if fs::symlink_metadata(&own).is_ok() {
        tree::remove(&own).map_err(|error| StackError::file("remove", &own, &error))?;
    }
    tree::copy(&saved, &own).map_err(|error| StackError::file("copy", &saved, &error))
}

fn saved(dir: &Path, data: &str) -> PathBuf {
    dir.join(SAVED).join(data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Whoever is told to keep a directory removes it at the end.
    #[test]
    fn a_supervisor_keeps_no_directory_that_it_has_not_made() {
        let base = tempfile::tempdir().expect("a directory");
        let refusal = |dir: &Path| make_new_in(base.path(), dir).expect_err("none of ours").to_string();
        let precious = tempfile::tempdir().expect("a directory");
        for elsewhere in
            [precious.path(), Path::new("/"), base.path(), &base.path().join("a/.."), &base.path().join("a/b")]
        {
            assert!(refusal(elsewhere).contains("is no place for a state directory"), "{}", elsewhere.display());
        }
        let dir = base.path().join("nginx-1");
        symlink(precious.path().join("not-there"), &dir).expect("a link");
        assert!(refusal(&dir).contains("File exists"), "a link");
        fs::remove_file(&dir).expect("our own");
        make_new_in(base.path(), &dir).expect("nothing is there");
        assert_eq!(fs::metadata(&dir).expect("it is there").mode() & 0o777, 0o700);
        assert!(refusal(&dir).contains("File exists"), "another's");
    }

    #[test]
    fn a_folder_for_temporary_files_that_others_control_is_refused() {
        let temp = tempfile::tempdir().expect("a directory");
        let missing = base_in(&temp.path().join("missing")).expect_err("nothing there").to_string();
        assert!(
            missing.contains("missing: No such file") && missing.ends_with("set TMPDIR to a directory of your own")
        );
        let set = |mode| fs::set_permissions(temp.path(), Permissions::from_mode(mode)).expect("our own");
        set(0o777);
        let error = base_in(temp.path()).expect_err("anybody's").to_string();
        assert!(error.contains("other users can replace") && error.contains("TMPDIR"), "{error}");
        set(0o1777);
        let base = base_in(temp.path()).expect("as /tmp is");
        fs::set_permissions(&base, Permissions::from_mode(0o777)).expect("our own");
        base_in(temp.path()).expect("it was there");
        assert_eq!(fs::metadata(&base).expect("it is there").mode() & 0o777, 0o711, "nobody else writes in it");
        fs::remove_dir(&base).and_then(|()| symlink("/etc", &base)).expect("a link");
        let error = base_in(temp.path()).expect_err("a link").to_string();
        assert!(error.contains("belongs to somebody else"), "{error}");
    }

    #[test]
    fn a_note_is_for_its_owner_only() {
        let base = tempfile::tempdir().expect("a directory");
        let dir = base.path().join("nginx-1");
        let mode = || fs::metadata(note_path(&dir)).expect("it is there").mode() & 0o777;
        Note::default().write(&dir).expect("a note");
        assert_eq!(mode(), 0o600);
        // What a write that was killed has left.
        let left = note_path(&dir).with_extension("new");
        fs::write(&left, "").and_then(|()| fs::set_permissions(&left, Permissions::from_mode(0o644))).expect("a file");
        Note::default().write(&dir).expect("a note");
        assert_eq!((mode(), left.exists()), (0o600, false));
    }

    #[test]
    fn a_path_that_breaks_configurations_is_refused() {
        for path in ["/tmp/my files", "/tmp/a;b", "/tmp/$HOME", "/tmp/{a}", "/tmp/a\"b", "/tmp/a#b", "/tmp/a\nb"] {
            let error = check_plain(Path::new(path)).expect_err(path).to_string();
            assert!(error.contains("set TMPDIR to a directory") && error.lines().count() == 1, "{error}");
        }
        assert!(check_plain(Path::new("/var/tmp/job_1.x-y+z@h/größe")).is_ok());
    }

    #[test]
    fn a_server_gets_its_data_back_and_links_in_them_lead_nowhere() {
        let own = tempfile::tempdir().expect("a directory");
        let (dir, precious) = (own.path().join("state"), own.path().join("precious"));
        fs::create_dir(&dir).and_then(|()| make_folders(&dir, None)).expect("folders");
        fs::write(&precious, "secret").expect("a file");
        fs::write(dir.join("data/table"), "rows").expect("a file");
        save(&dir, "data").expect("room for it");
        assert_eq!(fs::read(dir.join("data/table")).expect("a copy"), b"rows");
        // In the place of what is copied, and below it.
        symlink("/etc", dir.join("data.saved")).expect("a link");
        symlink(&precious, dir.join("data/link")).expect("a link");
        fs::write(dir.join("data/table"), "other rows").expect("a file");
        restore(&dir, "data").expect("room for it");
        assert_eq!(fs::read(dir.join("data/table")).expect("a copy"), b"rows");
        assert_eq!(fs::read_dir(dir.join("data")).expect("a folder").count(), 1);
        assert_eq!(fs::read(&precious).expect("it is there"), b"secret");
        remove(&dir).expect("our own");
        assert!(!dir.exists());
    }
}
