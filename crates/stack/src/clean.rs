//! Leftovers of a killed plimsoll and supervisor: found by their notes, ended and removed. What was kept is none.

use crate::error::StackError;
use crate::group;
use crate::state::{self, Mark, Note};
use crate::supervisor::{end_session, members};
use procfs::process::Process;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A state directory that nobody uses any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// The directory.
    pub dir: PathBuf,
    /// Processes that were still running and were ended.
    pub ended: usize,
    /// Why something of it is still there; none: it is gone.
    pub stays: Option<String>,
}

impl Leftover {
    /// A line for people that says that it is gone.
    ///
    /// # Errors
    /// If it is not: the line that says why, and what to do.
    pub fn told(&self) -> Result<String, String> {
        let dir = self.dir.display();
        match &self.stays {
            None => Ok(format!("removed {dir}, ended {} process(es)", self.ended)),
            Some(why) => Err(format!("{dir} cannot be removed ({why}); remove it yourself")),
        }
    }
}

/// Ends and removes what nobody uses any more, of all servers this user has ever started.
///
/// A process is ended when it is in the control group of a supervisor of this boot, or when it belongs to a session that a supervisor of this boot began, and either works in the state
/// directory, has it in its environment, or runs the program that was started.
///
/// # Errors
/// If the folder of state directories cannot be read.
pub fn clean(now_ns: fn() -> u64) -> Result<Vec<Leftover>, StackError> {
    Ok(abandoned()?.iter().map(|dir| end(dir, now_ns)).collect())
}

/// State directories that nobody uses any more, and that [`clean`] would remove.
///
/// # Errors
/// If the folder of state directories cannot be read.
pub fn abandoned() -> Result<Vec<PathBuf>, StackError> {
    let base = state::base()?;
    let entries = std::fs::read_dir(&base).map_err(|error| StackError::file("read", &base, &error))?;
    let dirs =
        entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path());
    Ok(dirs.filter(|dir| is_abandoned(dir)).collect())
}

/// Ends what a supervisor that was killed has left in `dir`, and removes it.
pub(crate) fn end(dir: &Path, now_ns: fn() -> u64) -> Leftover {
    let note = Note::read(dir).filter(|note| note.boot == state::boot()).unwrap_or_default();
    // What is in it is ours, whatever it has become.
    let grouped = note.group.as_deref().map_or(0, group::count);
    let group_stays = note.group.as_deref().and_then(|group| {
        group::kill(group, now_ns);
        group::remove(group).err()
    });
    let left: Vec<(Mark, usize)> = note
        .services
        .iter()
        .map(|(mark, program)| (*mark, ours(*mark, program, dir)))
        .filter(|(_, n)| *n > 0)
        .collect();
    for (leader, _) in &left {
        end_session(*leader, now_ns);
    }
    // Somebody else may have removed it at the same time.
    let stays = match group_stays {
        // Its note stays with it.
        Some(error) => Some(error),
        None => state::remove(dir).err().filter(|_| std::fs::symlink_metadata(dir).is_ok()),
    };
    Leftover {
        dir: dir.to_owned(),
        ended: grouped + left.iter().map(|(_, count)| count).sum::<usize>(),
        stays: stays.map(|error| error.to_string()),
    }
}

/// Without a note the directory is being made, or who made it was killed in that moment: an hour tells these apart.
fn is_abandoned(dir: &Path) -> bool {
    match Note::read(dir) {
        _ if state::is_kept(dir) => false,
        Some(note) => note.boot != state::boot() || !note.supervisor.is_alive(),
        None => std::fs::metadata(dir)
            .and_then(|found| found.modified())
            .is_ok_and(|made| made.elapsed().is_ok_and(|age| age > std::time::Duration::from_secs(3600))),
    }
}

/// How many processes of the session of `leader` are what we started.
fn ours(leader: Mark, program: &Path, dir: &Path) -> usize {
    let is_ours = |mark: &Mark| {
        let Ok(process) = Process::new(mark.pid) else { return false };
        let home =
            |variables: HashMap<OsString, OsString>| variables.values().any(|value| Path::new(value).starts_with(dir));
        process.cwd().is_ok_and(|cwd| cwd.starts_with(dir))
            || process.exe().is_ok_and(|exe| exe == program)
            || process.environ().is_ok_and(home)
    };
    members(leader).iter().filter(|mark| is_ours(mark)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, create_dir, remove_dir_all, remove_file, rename, write};
    use std::time::SystemTime;
    use tempfile::TempDir;

    /// A state directory with a file in it, whose supervisor is gone; in a folder of its own.
    fn left() -> (TempDir, PathBuf) {
        let base = tempfile::tempdir().expect("a directory");
        let dir = base.path().join("nginx-1");
        create_dir(&dir).and_then(|()| write(dir.join("file"), "")).expect("a directory in it");
        Note { boot: state::boot(), ..Note::default() }.write(&dir).expect("a note");
        (base, dir)
    }

    #[test]
    fn what_is_kept_is_no_leftover() {
        let (base, dir) = left();
        assert!(is_abandoned(&dir));
        state::keep(&dir).expect("room for it");
        // As old as it gets.
        File::open(&dir).and_then(|dir| dir.set_modified(SystemTime::UNIX_EPOCH)).expect("our own");
        assert!(!is_abandoned(&dir));
        remove_dir_all(&dir).expect("our own");
        assert_eq!(base.path().read_dir().expect("it is there").count(), 0, "it goes without a trace");
    }

    #[test]
    fn what_stays_is_not_told_as_removed() {
        let (base, dir) = left();
        let (shown, aside) = (dir.display(), base.path().join("aside"));
        // What nobody can remove as a folder, whoever we are.
        rename(&dir, &aside).and_then(|()| write(&dir, "")).expect("our own");
        let stays = end(&dir, || 0).told().expect_err("it is no folder");
        assert_eq!(stays, format!("{shown} cannot be removed (Not a directory (os error 20)); remove it yourself"));
        assert!(dir.exists() && Note::read(&dir).is_some(), "the next look finds it");
        remove_file(&dir).and_then(|()| rename(&aside, &dir)).expect("our own");
        assert_eq!(end(&dir, || 0).told(), Ok(format!("removed {shown}, ended 0 process(es)")));
        assert_eq!(base.path().read_dir().expect("it is there").count(), 0);
    }
}
