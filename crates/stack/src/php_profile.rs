//! PHP functions of the requests of a stack, as the extension excimer samples them: what of it is where, and the stacks read back.
//!
//! Each worker appends the stacks of a request to a file when the request has ended. The files are the server's, which may put
//! anything in their place: they are opened by descriptor ([`crate::tree`]), and no more of them is read than is written there.

mod fold;
pub(crate) mod promises;

use crate::error::StackError;
use crate::spec::Spec;
use crate::tree::Folder;
use fold::Folding;
use model::PhpClock;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::ffi::CString;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;

/// The setting that asks for it.
pub(crate) const SETTING: &str = "php_profile";
/// Values of the setting; the first asks for nothing.
pub(crate) const VALUES: [&str; 3] = ["off", "cpu", "real"];
/// Time between two samples of a request; ns. As rare as samples of the native profile (99 Hz).
pub const PHP_SAMPLE_NS: u64 = 10_000_000;
/// Folder of the files, below the folder for temporary files of the state directory.
pub(crate) const FOLDER: &str = "php-profile";
/// Files, which workers share by their process numbers: of 16 that are started one after the other each has its own.
pub(crate) const FILES: u64 = 16;
/// A file that would be longer takes no more stacks.
pub(crate) const FILE_BYTES_MAX: u64 = 8 << 20;
/// A file with less room may have turned a request away.
const ROOM_BYTES: u64 = 512 << 10;
/// Frames of a stack that are kept, from the innermost on.
pub(crate) const DEPTH_MAX: usize = 250;

/// The samples of a stack that is up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhpSamples {
    /// Its state directory.
    pub(crate) state: PathBuf,
    /// What they are taken by.
    pub clock: PhpClock,
}

/// How far the files of samples have been written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhpWritten(Vec<u64>);

/// Sampled stacks, added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhpStacks {
    /// In folded format.
    pub folded: String,
    /// Samples in them.
    pub samples: u64,
    /// Lines of the files that are no stack, not whole, or too many.
    pub left_out: u64,
    /// True if a file is full: requests that ended later are missing.
    pub is_full: bool,
}

/// The clock that a specification asks for; none when PHP is not sampled.
pub(crate) fn clock(spec: &Spec) -> Option<PhpClock> {
    match spec.extras.text(SETTING) {
        "cpu" => Some(PhpClock::Cpu),
        "real" => Some(PhpClock::Real),
        _ => None,
    }
}

impl PhpSamples {
    /// Forgets what has been sampled.
    ///
    /// # Errors
    /// If a file of it cannot be emptied; the others are.
    pub fn clear(&self) -> Result<(), StackError> {
        let Some(folder) = self.folder()? else { return Ok(()) };
        let clear = |name: &str| match folder.file(name, OFlags::WRONLY) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            opened => opened.and_then(|file| file.set_len(0)),
        };
        let cleared: Vec<io::Result<()>> = (0..FILES).map(|index| clear(&index.to_string())).collect();
        cleared.into_iter().collect::<io::Result<()>>().map_err(|error| self.failed("empty", &error))
    }

    /// How far the files are written now.
    ///
    /// # Errors
    /// If their folder cannot be opened.
    pub fn written(&self) -> Result<PhpWritten, StackError> {
        let Some(folder) = self.folder()? else { return Ok(PhpWritten::default()) };
        let length = |index: u64| CString::new(index.to_string()).ok().and_then(|name| folder.length(&name));
        Ok(PhpWritten((0..FILES).map(|index| length(index).unwrap_or(0)).collect()))
    }

    /// The stacks of requests that had ended when `until` was asked for, without those of when `since` was: the default is
    /// before all of them.
    ///
    /// # Errors
    /// If a file of them cannot be read.
    pub fn read(&self, since: &PhpWritten, until: &PhpWritten) -> Result<PhpStacks, StackError> {
        let mut folding = Folding::default();
        let Some(folder) = self.folder()? else { return Ok(folding.stacks(false)) };
        let is_full = |bytes: &u64| *bytes > FILE_BYTES_MAX - ROOM_BYTES;
        for (index, end) in until.0.iter().enumerate() {
            let (begin, end) = (since.0.get(index).copied().unwrap_or(0), (*end).min(FILE_BYTES_MAX));
            if begin < end {
                let read = folder.file(index.to_string().as_str(), OFlags::RDONLY);
                let read = read.and_then(|file| add_part(&mut folding, file, begin, end));
                read.map_err(|error| self.failed("read", &error))?;
            }
        }
        Ok(folding.stacks(until.0.iter().any(is_full)))
    }

    /// The folder of the files; none before a request was sampled.
    fn folder(&self) -> Result<Option<Folder>, StackError> {
        let name = CString::new(FOLDER).unwrap_or_default();
        match Folder::open(&self.state.join("tmp")).and_then(|tmp| tmp.folder(&name)) {
            Ok(folder) => Ok(Some(folder)),
            Err(error) if error.raw_os_error() == Some(Errno::NOENT.raw_os_error()) => Ok(None),
            Err(error) => Err(self.failed("open", &error)),
        }
    }

    fn failed(&self, doing: &'static str, error: &io::Error) -> StackError {
        StackError::file(doing, &self.state.join("tmp").join(FOLDER), error)
    }
}

/// Adds the lines of a file that begin at `begin` or later and end at `end`.
fn add_part(folding: &mut Folding, mut file: impl Read + Seek, begin: u64, end: u64) -> io::Result<()> {
    // From the end of the line before: one that was being written is not of this part.
    let from = begin.saturating_sub(1);
    file.seek(SeekFrom::Start(from))?;
    let mut lines = BufReader::new(file.take(end - from));
    if begin > 0 {
        fold::skip_line(&mut lines)?;
    }
    folding.add(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, create_dir, create_dir_all, write};
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use tempfile::TempDir;

    /// A state directory, the folder of its samples, and what reads them.
    fn state() -> (TempDir, PathBuf, PhpSamples) {
        let dir = tempfile::tempdir().expect("a directory");
        let folder = dir.path().join("tmp").join(FOLDER);
        create_dir(dir.path().join("tmp")).expect("a folder");
        let samples = PhpSamples { state: dir.path().to_owned(), clock: PhpClock::Cpu };
        (dir, folder, samples)
    }

    fn read(samples: &PhpSamples) -> PhpStacks {
        samples.read(&PhpWritten::default(), &samples.written().expect("a folder")).expect("files")
    }

    #[test]
    fn stacks_of_all_workers_are_added_up_until_they_are_forgotten() {
        let (_dir, folder, samples) = state();
        assert_eq!(read(&samples), PhpStacks::default(), "nothing was sampled yet");
        samples.clear().expect("nothing to do");
        create_dir(&folder).expect("a folder");
        write(folder.join("0"), "\nindex.php;a 3\n;index.php;b 1\n").expect("a file");
        write(folder.join("15"), "\nindex.php;a 2\n").expect("a file");
        let until = samples.written().expect("a folder");
        let begin = PhpWritten::default();
        let stacks = samples.read(&begin, &until).expect("files");
        assert_eq!((stacks.folded.as_str(), stacks.samples), ("index.php;a 5\nindex.php;b 1\n", 6));
        assert!(!stacks.is_full && stacks.left_out == 0);
        // What ends later does not count.
        write(folder.join("15"), "\nindex.php;a 2\n\nlate 9\n").expect("a file");
        assert_eq!(samples.read(&begin, &until).expect("files"), stacks);
        samples.clear().expect("files");
        assert_eq!(read(&samples), PhpStacks::default());
    }

    #[test]
    fn stacks_of_before_a_window_are_not_in_it() {
        let (_dir, folder, samples) = state();
        create_dir(&folder).expect("a folder");
        let (before, cut) = ("\nindex.php;before 3\n", "\nindex.php;before 3\nindex.php;bef");
        write(folder.join("1"), before).and_then(|()| write(folder.join("2"), cut)).expect("files");
        let since = samples.written().expect("a folder");
        let until = |text: &str, name: &str| {
            write(folder.join(name), text).expect("a file");
            let until = samples.written().expect("a folder");
            samples.read(&since, &until).expect("files")
        };
        assert_eq!(until("\nindex.php;in 1\n", "0").folded, "index.php;in 1\n");
        let stacks = until(&format!("{before}\nindex.php;in 1\n"), "1");
        assert_eq!((stacks.folded.as_str(), stacks.left_out), ("index.php;in 2\n", 0));
        // The rest of a line that was being written when the window began.
        let stacks = until(&format!("{cut}ore 5\nindex.php;in 1\n"), "2");
        assert_eq!((stacks.folded.as_str(), stacks.left_out), ("index.php;in 3\n", 0));
        assert_eq!(until("", "1").folded, "index.php;in 2\n", "emptied since");
    }

    #[test]
    fn what_stands_in_the_place_of_a_file_keeps_no_other_from_being_emptied() {
        let (dir, folder, samples) = state();
        create_dir(&folder).and_then(|()| create_dir(folder.join("0"))).expect("folders");
        symlink(dir.path().join("nowhere"), folder.join("1")).expect("a link");
        let made = std::process::Command::new("mkfifo").arg(folder.join("2")).status().expect("mkfifo");
        assert!(made.success());
        (3..FILES).for_each(|index| write(folder.join(index.to_string()), "old 1\n").expect("a file"));
        assert!(samples.clear().is_err(), "it is told");
        assert_eq!(read(&samples), PhpStacks::default());
    }

    #[test]
    fn links_and_foreign_names_are_not_read_and_not_emptied() {
        let (dir, folder, samples) = state();
        let victim = dir.path().join("victim");
        write(&victim, "secret 1\n").expect("a file");
        create_dir(&folder).expect("a folder");
        write(folder.join("16"), "other 1\n").expect("a file");
        symlink(&victim, folder.join("0")).expect("a link");
        assert_eq!(read(&samples), PhpStacks::default());
        assert!(samples.clear().is_err(), "a link is named, and not followed");
        std::fs::remove_dir_all(&folder).and_then(|()| symlink(dir.path(), &folder)).expect("a link");
        assert!(samples.written().is_err() && samples.clear().is_err());
        assert_eq!(std::fs::read(&victim).expect("it is there"), b"secret 1\n");
    }

    #[test]
    fn no_more_is_read_than_a_file_may_have() {
        let (_dir, folder, samples) = state();
        create_dir_all(&folder).expect("a folder");
        let sparse = |path: &Path, bytes| File::create(path).and_then(|file| file.set_len(bytes)).expect("a file");
        sparse(&folder.join("3"), 1 << 40);
        let stacks = read(&samples);
        assert!(stacks.is_full && stacks.samples == 0 && stacks.left_out == 1, "{stacks:?}");
    }
}
