//! Leftovers of a killed plimsoll and supervisor: found by their notes, ended and removed.

use crate::error::StackError;
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
}

/// Ends and removes what nobody uses any more, of all servers this user has ever started.
///
/// A process is ended when it belongs to a session that a supervisor of this boot began, and either works in the state
/// directory, has it in its environment, or runs the program that was started.
///
/// # Errors
/// If the folder of state directories cannot be read.
pub fn clean(now_ns: fn() -> u64) -> Result<Vec<Leftover>, StackError> {
    Ok(abandoned()?.into_iter().map(|dir| Leftover { ended: end(&dir, now_ns), dir }).collect())
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

/// Ends what a supervisor that was killed has left in `dir`, and removes it. Returns the number of processes ended.
pub(crate) fn end(dir: &Path, now_ns: fn() -> u64) -> usize {
    let note = Note::read(dir).filter(|note| note.boot == state::boot()).unwrap_or_default();
    let left: Vec<(Mark, usize)> = note
        .services
        .iter()
        .map(|(mark, program)| (*mark, ours(*mark, program, dir)))
        .filter(|(_, n)| *n > 0)
        .collect();
    for (leader, _) in &left {
        end_session(*leader, now_ns);
    }
    // What a file system refuses to remove, it will refuse the next time too.
    let _ = state::remove(dir);
    left.iter().map(|(_, count)| count).sum()
}

/// Without a note the directory is being made, or who made it was killed in that moment: an hour tells these apart.
fn is_abandoned(dir: &Path) -> bool {
    match Note::read(dir) {
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
