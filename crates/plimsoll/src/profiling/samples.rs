//! Samples on the disk while they are taken, so that a kill loses no more than the last of them: `profile.samples`, which
//! makes place for the profile at the end.
//!
//! A thread of its own writes them: a disk that stalls or fails changes no measurement, and the profile is made of what is in
//! memory.

use crate::output::printer;
use crate::profiling::name_reader;
use crate::store::private;
use model::{Redacted, SamplesAdded, SamplesBegun};
use observe::profile::{Past, Profile, SAMPLES_LINE_MAX_BYTES, SAMPLES_MAX_BYTES, Scope, Take};
use std::fs::{File, TryLockError};
use std::io::{self, BufReader, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TrySendError, sync_channel};
use std::thread::{Builder, JoinHandle};

/// The file of the samples.
pub(crate) const SAMPLES: &str = "profile.samples";
/// What may wait for the disk; what comes beyond that is joined.
const WAITING_MAX: usize = 2;
/// Names of the process that samples, in a profile of its own and beside a load.
pub(crate) const OWN_NAME: &str = "plimsoll_profile";
pub(crate) const OWN_NAME_UNDER_LOAD: &str = "load_generator";

/// What is sampled, on its way to the disk.
pub(crate) fn channel() -> (Take, Receiver<SamplesAdded>) {
    let (to, from) = sync_channel(WAITING_MAX);
    let take = move |added| match to.try_send(added) {
        Err(TrySendError::Full(added)) => Err(added),
        // Once the disk has failed nothing more goes there.
        Ok(()) | Err(TrySendError::Disconnected(_)) => Ok(()),
    };
    (Box::new(take), from)
}

/// The first line, with who is looked at.
pub(crate) fn begun(begun: SamplesBegun, scope: &Scope) -> SamplesBegun {
    let (server, companions, only_server) = (scope.server.clone(), scope.companions.clone(), scope.only_server);
    SamplesBegun { server, companions, only_server, ..begun }
}

/// The thread that writes samples down.
pub(crate) struct SampleFile(Option<JoinHandle<()>>);

impl SampleFile {
    /// Begins a file in `directory` with what `begun` says. A disk that does not take it is told, and the samples stay in
    /// memory.
    pub(crate) fn start(directory: &Path, begun: SamplesBegun, added: Receiver<SamplesAdded>) -> Self {
        let path = directory.join(SAMPLES);
        let told = path.clone();
        let write = move || {
            if let Err(error) = write(&path, begun, &added) {
                tell(&path, &error);
            }
        };
        let thread = Builder::new().name("samples".into()).spawn(write);
        Self(thread.inspect_err(|error| tell(&told, error)).ok())
    }

    /// Waits until all is written that was sampled; the sampler has ended.
    pub(crate) fn end(mut self) {
        // One that has panicked has said so.
        self.0.take().into_iter().for_each(|thread| drop(thread.join()));
    }
}

fn tell(path: &Path, error: &io::Error) {
    let path = path.display();
    printer::note(&format!("warning: cannot write {path}: {error}; until the profile is written a kill loses it"));
}

/// Nobody else may take the file for one whose program was killed while it is locked.
fn write(path: &Path, begun: SamplesBegun, added: &Receiver<SamplesAdded>) -> io::Result<()> {
    let mut file = private::create_new(path)?;
    // There are file systems without locks.
    let _ = file.try_lock();
    let mut left = put(&mut file, serde_json::to_vec(&Redacted::new(begun))?, SAMPLES_MAX_BYTES)?;
    for added in added {
        left = put(&mut file, serde_json::to_vec(&Redacted::new(added))?, left)?;
    }
    Ok(())
}

/// Writes a line into what is left of the file; returns what is left then.
fn put(file: &mut impl Write, mut line: Vec<u8>, left: u64) -> io::Result<u64> {
    line.push(b'\n');
    let length = line.len() as u64;
    let room = left.checked_sub(length).filter(|_| length < SAMPLES_LINE_MAX_BYTES);
    let room = room.ok_or_else(|| io::Error::other("it is as long as such a file may be"))?;
    file.write_all(&line)?;
    Ok(room)
}

/// Removes samples, which the profile takes the place of.
pub(crate) fn remove(directory: &Path) {
    // Where it is not there the disk has not taken it.
    let _ = std::fs::remove_file(directory.join(SAMPLES));
}

/// True if there are samples in `directory`, of which no profile was made.
pub(crate) fn are_in(directory: &Path) -> bool {
    directory.join(SAMPLES).exists()
}

/// A profile of what was written down in `directory`, with the first line; none if nothing was sampled.
///
/// # Errors
/// In one line, with the path.
pub(crate) fn recover(directory: &Path) -> Result<Option<(SamplesBegun, Profile)>, String> {
    let path = directory.join(SAMPLES);
    let wrong = |why: String| format!("{}: {why}", path.display());
    let Past { begun, recorded } =
        open(&path).and_then(|file| Past::read(file).map_err(|e| e.to_string())).map_err(wrong)?;
    if recorded.sampled_ns() == 0 {
        return Ok(None);
    }
    let own_name = if begun.profile.is_some() { OWN_NAME } else { OWN_NAME_UNDER_LOAD };
    let (server, companions, only_server) = (begun.server.clone(), begun.companions.clone(), begun.only_server);
    let profile = recorded.resolve(&Scope { server, companions, only_server, own_name }, &name_reader(&Arc::default()));
    Ok(Some((begun, profile)))
}

/// A file of a program that has ended.
fn open(path: &Path) -> Result<BufReader<File>, String> {
    let file = private::look(path).map_err(|error| format!("cannot be read: {error}"))?;
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Err("it is no file".into());
    }
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err("it is being written, and has not ended".into()),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(BufReader::new(file)),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use model::{Environment, FORMAT_SAMPLES, ProfileBegun, SampledProcess, SampledStack};
    use std::os::unix::fs::symlink;

    pub(crate) fn first() -> SamplesBegun {
        SamplesBegun { format: FORMAT_SAMPLES.into(), cpus: 1, pid: 1, ..SamplesBegun::default() }
    }

    pub(crate) fn second(sampled_ns: u64) -> SamplesAdded {
        let stack = SampledStack { is_waiting: false, pid: 10, chain: vec![0x40] };
        let process = SampledProcess { pid: 10, name: Some("nginx".into()), ..SampledProcess::default() };
        SamplesAdded {
            sampled_ns,
            processes: vec![process],
            stacks: vec![stack],
            counts: vec![(0, 5)],
            ..SamplesAdded::default()
        }
    }

    /// What is left of samples whose program has ended.
    pub(crate) fn written(directory: &Path, begun: SamplesBegun, added: impl IntoIterator<Item = SamplesAdded>) {
        let (mut take, from) = channel();
        let file = SampleFile::start(directory, begun, from);
        for mut added in added {
            while let Err(held) = take(added) {
                added = held;
                std::thread::yield_now();
            }
        }
        drop(take);
        file.end();
    }

    #[test]
    fn samples_are_a_profile_when_their_program_was_killed() {
        let directory = tempfile::tempdir().unwrap();
        written(directory.path(), first(), [second(7)]);
        assert!(are_in(directory.path()));
        let (begun, profile) = recover(directory.path()).unwrap().unwrap();
        assert_eq!((begun, profile.folded.as_str()), (first(), "nginx;[unknown] 5\n"));
        remove(directory.path());
        assert!(!are_in(directory.path()));
        written(directory.path(), first(), []);
        assert!(recover(directory.path()).unwrap().is_none(), "it had not begun to sample");
    }

    #[test]
    fn secrets_are_not_written_down() {
        let directory = tempfile::tempdir().unwrap();
        let mut begun = first();
        begun.profile = Some(ProfileBegun {
            scope: "http://h/?token=s3cret".into(),
            environment: Environment::default(),
            started: String::new(),
        });
        let mut added = second(1);
        added.processes[0].name = Some("token=s3cret".into());
        written(directory.path(), begun, [added]);
        let text = std::fs::read_to_string(directory.path().join(SAMPLES)).unwrap();
        assert!(!text.contains("s3cret") && text.lines().count() == 2, "{text}");
    }

    #[test]
    fn a_file_that_is_written_or_is_none_is_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(SAMPLES);
        let file = private::create_new(&path).unwrap();
        file.try_lock().unwrap();
        assert!(recover(directory.path()).unwrap_err().ends_with("it is being written, and has not ended"));
        drop(file);
        assert!(recover(directory.path()).unwrap_err().ends_with("it is no plimsoll.samples/1"));
        std::fs::remove_file(&path).unwrap();
        symlink("/dev/zero", &path).unwrap();
        assert!(recover(directory.path()).is_err(), "no link is followed");
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(recover(directory.path()).unwrap_err().ends_with("it is no file"));
    }

    #[test]
    fn a_file_ends_where_it_would_be_too_long() {
        let mut file = Vec::new();
        let left = put(&mut file, b"12345".into(), 20).unwrap();
        assert_eq!((left, file.as_slice()), (14, b"12345\n".as_slice()));
        assert!(put(&mut file, vec![b'x'; 14], left).is_err() && file.len() == 6);
        assert_eq!(put(&mut file, vec![b'x'; 13], left).unwrap(), 0);
    }
}
