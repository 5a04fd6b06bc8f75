//! Events of a measurement, looked at from outside while they are written: how far it is at an instant.

use super::log::EVENTS;
use std::collections::BTreeMap;
use std::fs::{File, read_dir};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time between two looks.
pub(super) const LOOK: Duration = Duration::from_millis(10);
/// What the clock of a load starts with, that of a load of agents, what it ends with, and what stands after the last load.
pub(super) const CONNECTED: &[u8] = br#"{"event":"connected""#;
pub(super) const AGENTS_STARTED: &[u8] = br#"{"event":"agents_started""#;
const ENDED: &[u8] = br#"{"event":"ended""#;
const CLOSING: &[u8] = br#"{"event":"session","session":"changed""#;
/// What samples start with that are written down.
const SAMPLING: &[u8] = br#"{"format":"plimsoll.samples/"#;

/// A result directory that is looked at again and again.
pub(super) struct Follow {
    directory: PathBuf,
    /// Of the measurement as a whole.
    log: &'static str,
    /// What the clock of a load starts with.
    begins: &'static [u8],
    /// Of the measurement, and of each of its loads.
    logs: BTreeMap<PathBuf, Seen>,
    closing: Option<Instant>,
    looked: Instant,
    /// The longest time between two looks, beyond the planned one.
    late: Duration,
}

/// What has been read of a log.
#[derive(Default)]
struct Seen {
    offset: u64,
    /// The begin of a line.
    rest: Vec<u8>,
    connected: Option<Instant>,
    ended: Option<Instant>,
}

/// The load that began last, at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) log: PathBuf,
    /// From when its clock was seen to have started to its end or to now: at most as long as that has run.
    pub(super) elapsed: Duration,
    /// For so long this machine has kept us from looking: it may have kept plimsoll from writing.
    pub(super) late: Duration,
}

impl Standing {
    /// True of the load of a sweep that is measured with samples.
    pub(super) fn is_profiled(&self) -> bool {
        self.log.parent().is_some_and(|load| load.to_string_lossy().ends_with("-profile"))
    }
}

impl Follow {
    /// `log` is that of the measurement as a whole, and `begins` what the clock of each load starts with.
    pub(super) fn new(directory: &Path, log: &'static str, begins: &'static [u8]) -> Self {
        let (looked, late) = (Instant::now(), Duration::ZERO);
        Self { directory: directory.to_owned(), log, begins, logs: BTreeMap::new(), closing: None, looked, late }
    }

    pub(super) fn look(&mut self) {
        let now = Instant::now();
        self.late = self.late.max(now.duration_since(self.looked).saturating_sub(LOOK));
        self.looked = now;
        for path in logs(&self.directory, self.log) {
            let seen = self.logs.entry(path.clone()).or_default();
            for line in seen.lines(&path) {
                if line.starts_with(self.begins) || line.starts_with(SAMPLING) {
                    seen.connected.get_or_insert(now);
                } else if line.starts_with(ENDED) {
                    seen.ended.get_or_insert(now);
                } else if line.starts_with(CLOSING) {
                    self.closing.get_or_insert(now);
                }
            }
        }
    }

    /// When all loads were seen to have been measured.
    pub(super) const fn closing(&self) -> Option<Instant> {
        self.closing
    }

    /// For so long, beyond what was planned, nobody has looked.
    pub(super) const fn late(&self) -> Duration {
        self.late
    }

    /// None before the connections of a load are open.
    pub(super) fn standing(&self) -> Option<Standing> {
        let begun = self.logs.iter().filter_map(|(path, seen)| Some((path, seen.connected?, seen.ended)));
        let (log, since, ended) = begun.max_by_key(|(_, since, _)| *since)?;
        let elapsed = ended.unwrap_or_else(Instant::now).duration_since(since);
        Some(Standing { log: log.clone(), elapsed, late: self.late })
    }
}

/// The logs that there may be below a result directory.
fn logs(directory: &Path, log: &str) -> Vec<PathBuf> {
    let points = read_dir(directory.join("points")).into_iter().flatten().flatten();
    points.map(|point| point.path().join(EVENTS)).chain([directory.join(log)]).collect()
}

impl Seen {
    /// The lines that have been written since the last call.
    fn lines(&mut self, path: &Path) -> Vec<Vec<u8>> {
        let mut new = Vec::new();
        let read = File::open(path).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.offset))?;
            file.read_to_end(&mut new)
        });
        // It is not there yet, or not any more.
        let Ok(length) = read else { return Vec::new() };
        self.offset += length as u64;
        self.rest.append(&mut new);
        let whole = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let lines: Vec<u8> = self.rest.drain(..whole).collect();
        lines.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::log::SAMPLES;
    use super::*;
    use std::io::Write;

    #[test]
    fn the_load_that_began_last_is_the_one_under_way() {
        let folder = tempfile::tempdir().expect("a directory");
        let mut follow = Follow::new(folder.path(), EVENTS, CONNECTED);
        follow.look();
        assert_eq!((follow.standing(), follow.closing()), (None, None));
        let point = folder.path().join("points/01-c1-1");
        std::fs::create_dir_all(&point).expect("our own directory");
        let mut log = File::create(point.join(EVENTS)).expect("our own directory");
        log.write_all(&CONNECTED[..9]).expect("there is room");
        follow.look();
        assert_eq!(follow.standing(), None, "the line has not been written to its end");
        log.write_all(&[&CONNECTED[9..], b"}\n"].concat()).expect("there is room");
        follow.look();
        assert_eq!(follow.standing().expect("it has begun").log, point.join(EVENTS));
        let next = folder.path().join("points/02-c2-1");
        std::fs::create_dir(&next).expect("our own directory");
        std::fs::write(next.join(EVENTS), [CONNECTED, b"}\n"].concat()).expect("there is room");
        follow.look();
        let standing = follow.standing().expect("it has begun");
        assert_eq!(standing.log, next.join(EVENTS));
        std::fs::write(folder.path().join(EVENTS), [CLOSING, b"}\n"].concat()).expect("there is room");
        follow.look();
        assert!(follow.closing().is_some());
    }

    #[test]
    fn the_time_of_a_load_of_agents_is_from_their_start_to_its_end() {
        let folder = tempfile::tempdir().expect("a directory");
        let mut follow = Follow::new(folder.path(), EVENTS, AGENTS_STARTED);
        let mut log = File::create(folder.path().join(EVENTS)).expect("our own directory");
        log.write_all(&[CONNECTED, b"}\n"].concat()).expect("there is room");
        follow.look();
        assert_eq!(follow.standing(), None, "they compare clocks");
        log.write_all(&[AGENTS_STARTED, b"}\n"].concat()).expect("there is room");
        follow.look();
        assert!(follow.standing().is_some());
        log.write_all(&[ENDED, b"}\n"].concat()).expect("there is room");
        follow.look();
        let elapsed = follow.standing().expect("it has begun").elapsed;
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(follow.standing().expect("it has begun").elapsed, elapsed);
    }

    #[test]
    fn a_profile_has_begun_with_the_first_line_of_its_samples() {
        let folder = tempfile::tempdir().expect("a directory");
        let mut follow = Follow::new(folder.path(), SAMPLES, CONNECTED);
        std::fs::write(folder.path().join(SAMPLES), [SAMPLING, b"1\"}\n"].concat()).expect("our own directory");
        follow.look();
        assert_eq!(follow.standing().expect("it has begun").log, folder.path().join(SAMPLES));
    }
}
