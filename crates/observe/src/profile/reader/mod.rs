//! Names of addresses in program files, read by a process without rights (`process`), which is asked over a socket
//! (`exchange`). Whoever runs a program on this machine has written its file: one that makes the process fail or hang loses its
//! own names and no others.

mod exchange;
mod process;

pub(crate) use exchange::check_answer;
pub use process::read_names;

use exchange::{ADDRESSES_MAX, Answer, Of, Question, receive, send};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time for one file; ns. The largest browsers with their debug information take some seconds.
const FILE_MAX_NS: u64 = 30_000_000_000;
/// Time for all files of a recording; ns.
const ALL_MAX_NS: u64 = 120_000_000_000;
/// Time for all of them that root does not own, which are read last: any user of this machine may run programs with as many
/// files as it likes, each of which takes long; ns.
const NOT_OF_ROOT_MAX_NS: u64 = 30_000_000_000;
/// How often one looks whether the caller wants an end; ns.
const STOP_LOOK_UP_NS: i64 = 50_000_000;
/// Time between the end of its socket and that of the process, and how often one looks; ns.
const END_MAX_NS: u64 = 2_000_000_000;
const LOOK_UP: Duration = Duration::from_millis(2);
/// Processes that are started for one recording: each file that ends one needs another.
const PROCESSES_MAX: u32 = 8;

/// How the process is started that reads program files.
#[derive(Clone, Debug, Default)]
pub struct NameReader {
    /// A program with its arguments whose `main` is [`read_names`].
    pub command: Vec<OsString>,
    /// No more names are looked up once it becomes true; one that is true before, as the caller has ended the load, changes
    /// nothing.
    pub stop: Arc<AtomicBool>,
}

/// Asks for names. The process is started with the first question.
pub(super) struct Asking<'a> {
    reader: &'a NameReader,
    stop: Stop,
    running: Option<Running>,
    started: u32,
    end_ns: u64,
    /// Time for one file; ns.
    file_max_ns: u64,
    /// True once a file was asked for that root does not own.
    is_beyond_root: bool,
    /// Why files were not read, with their names.
    pub(super) unread: Vec<String>,
}

impl<'a> Asking<'a> {
    pub(super) fn new(reader: &'a NameReader) -> Self {
        let end_ns = clock::monotonic_ns().saturating_add(ALL_MAX_NS);
        let stop = Stop { asked: Arc::clone(&reader.stop), was_set: reader.stop.load(Ordering::Relaxed) };
        Self {
            reader,
            stop,
            running: None,
            started: 0,
            end_ns,
            file_max_ns: FILE_MAX_NS,
            is_beyond_root: false,
            unread: Vec::new(),
        }
    }

    /// To be told before the first file that root does not own: those have less time together.
    pub(super) fn goes_beyond_root(&mut self) {
        if !self.is_beyond_root {
            self.is_beyond_root = true;
            self.end_ns = self.end_ns.min(clock::monotonic_ns().saturating_add(NOT_OF_ROOT_MAX_NS));
        }
    }

    /// The names of `offsets` in a file that is called `path`.
    pub(super) fn of_file(&mut self, path: &str, file: &OwnedFd, offsets: &[u64]) -> Vec<Vec<String>> {
        let mut of = Of::NewFile;
        self.of(path, offsets, |running, part, end_ns| {
            let names = running.ask(of, part, (of == Of::NewFile).then_some(file), end_ns);
            of = Of::SameFile;
            names
        })
    }

    /// The names of `offsets` in the code that the kernel gives to all programs.
    pub(super) fn of_vdso(&mut self, offsets: &[u64]) -> Vec<Vec<String>> {
        self.of("[vdso]", offsets, |running, part, end_ns| running.ask(Of::Vdso, part, None, end_ns))
    }

    /// Asks in parts. Where one is not answered, the rest of the file has no names, and the reason is kept.
    fn of(
        &mut self,
        path: &str,
        offsets: &[u64],
        mut ask: impl FnMut(&mut Running, &[u64], u64) -> Result<Vec<Vec<String>>, Unread>,
    ) -> Vec<Vec<String>> {
        let mut names = Vec::with_capacity(offsets.len());
        let end_ns = self.end_ns.min(clock::monotonic_ns().saturating_add(self.file_max_ns));
        for part in offsets.chunks(ADDRESSES_MAX) {
            match self.running().and_then(|running| ask(running, part, end_ns)) {
                Ok(found) => names.extend(found),
                Err(unread) => {
                    self.fail(path, unread);
                    break;
                }
            }
        }
        names.resize_with(offsets.len(), Vec::new);
        names
    }

    /// The process, started if there is none and there may be one more.
    fn running(&mut self) -> Result<&mut Running, Unread> {
        if self.stop.is_wanted() {
            return Err(Unread::Stopped);
        }
        if clock::monotonic_ns() >= self.end_ns {
            return Err(Unread::Over);
        }
        let running = match self.running.take() {
            Some(running) => running,
            None if self.started >= PROCESSES_MAX => return Err(Unread::Over),
            None => {
                self.started += 1;
                Running::start(self.reader, self.stop.clone(), self.end_ns)?
            }
        };
        Ok(self.running.insert(running))
    }

    fn fail(&mut self, path: &str, unread: Unread) {
        let why = match (unread, self.running.take()) {
            (Unread::Ended, Some(running)) => ended(running.end()),
            (unread, _) => unread.to_string(),
        };
        self.unread.push(format!("no functions of {path} have names: {why}"));
    }
}

/// Why a file was not read.
enum Unread {
    /// The process could not be started, or did not give up its rights.
    Start(String),
    /// The process has ended.
    Ended,
    /// It has not answered in time.
    Late,
    /// It has answered something else.
    Wrong,
    /// The time for all files is over, or too many files have ended the process.
    Over,
    /// The caller wanted an end.
    Stopped,
}

impl Display for Unread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Start(why) => write!(f, "the process that reads program files could not be started: {why}"),
            Self::Ended => write!(f, "the process that read the file has ended"),
            Self::Late => write!(f, "reading the file took longer than {} s", FILE_MAX_NS / 1_000_000_000),
            Self::Wrong => write!(f, "the process that read the file gave an answer that is none"),
            Self::Over => write!(f, "other files had taken the time for all of them"),
            Self::Stopped => write!(f, "it was interrupted before"),
        }
    }
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Self::Late,
            ErrorKind::InvalidData => Self::Wrong,
            ErrorKind::Interrupted => Self::Stopped,
            _ => Self::Ended,
        }
    }
}

/// How a process ended that was reading a file.
fn ended(status: io::Result<ExitStatus>) -> String {
    let how = match status.ok().map(|status| (status.signal(), status.code())) {
        // It counts its memory and its time, and a file that changes under it is no memory any more.
        Some((Some(signal), _)) => format!("was ended by signal {signal}"),
        Some((_, Some(code))) => format!("ended with exit code {code}"),
        _ => "has ended".to_owned(),
    };
    format!("the process that read the file {how}; the file may be damaged, or made to mislead")
}

/// The process that reads program files.
struct Running {
    child: Child,
    socket: UnixStream,
    stop: Stop,
}

/// Whether the caller wants an end.
#[derive(Clone)]
struct Stop {
    asked: Arc<AtomicBool>,
    /// True if it was asked for before names were looked up.
    was_set: bool,
}

impl Stop {
    fn is_wanted(&self) -> bool {
        !self.was_set && self.asked.load(Ordering::Relaxed)
    }
}

impl Running {
    fn start(reader: &NameReader, stop: Stop, end_ns: u64) -> Result<Self, Unread> {
        let wrong = |error: io::Error| Unread::Start(error.to_string());
        let (program, arguments) =
            reader.command.split_first().ok_or_else(|| Unread::Start("it has no command".into()))?;
        let (socket, theirs) = UnixStream::pair().map_err(wrong)?;
        let child = Command::new(program)
            .args(arguments)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // ^C ends the load, and what was sampled until then keeps its names.
            .process_group(0)
            .spawn()
            .map_err(wrong)?;
        let mut running = Self { child, socket, stop };
        match running.receive(end_ns.min(clock::monotonic_ns().saturating_add(FILE_MAX_NS))) {
            Ok(Answer::Ready) => Ok(running),
            Ok(Answer::Refused(why)) => Err(Unread::Start(format!("it could not give up its rights: {why}"))),
            Ok(Answer::Names(_)) => Err(Unread::Wrong),
            Err(Unread::Ended) => Err(Unread::Start(ended(running.end()))),
            Err(unread) => Err(unread),
        }
    }

    fn ask(
        &mut self,
        of: Of,
        offsets: &[u64],
        file: Option<&OwnedFd>,
        end_ns: u64,
    ) -> Result<Vec<Vec<String>>, Unread> {
        let question = Question { of, addresses: offsets.to_vec() };
        self.socket.set_write_timeout(left(end_ns)?)?;
        send(&self.socket, &question, file.map(AsFd::as_fd))?;
        self.receive(end_ns)?.names_of(offsets.len()).ok_or(Unread::Wrong)
    }

    fn receive(&mut self, end_ns: u64) -> Result<Answer, Unread> {
        self.await_answer(end_ns)?;
        match receive(&self.socket, || left(end_ns))? {
            Some((answer, _)) => Ok(answer),
            None => Err(Unread::Ended),
        }
    }

    /// Waits until it says something, or has closed its socket.
    fn await_answer(&self, end_ns: u64) -> io::Result<()> {
        let look_up = Timespec { tv_sec: 0, tv_nsec: STOP_LOOK_UP_NS };
        loop {
            match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&look_up)) {
                // A signal may be why the caller wants an end.
                Ok(0) | Err(Errno::INTR) => {}
                ready => return ready.map(drop).map_err(io::Error::from),
            }
            if self.stop.is_wanted() {
                return Err(ErrorKind::Interrupted.into());
            }
            left(end_ns)?;
        }
    }

    /// How it has ended, after it has closed its socket. One that goes on all the same is killed.
    fn end(mut self) -> io::Result<ExitStatus> {
        let late_ns = clock::monotonic_ns().saturating_add(END_MAX_NS);
        while clock::monotonic_ns() < late_ns {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(LOOK_UP);
        }
        self.child.kill()?;
        self.child.wait()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // After the kill the wait ends at once.
        if self.child.kill().is_ok() {
            drop(self.child.wait());
        }
    }
}

/// Time until the end; an error when it is there.
fn left(end_ns: u64) -> io::Result<Option<Duration>> {
    clock::left_until(end_ns).map(Some).ok_or_else(|| ErrorKind::TimedOut.into())
}

#[cfg(test)]
mod tests {
    use super::super::maps::Maps;
    use super::*;
    use lab::misleading::Misleading;
    use rustix::fs::Mode;
    use std::fs::File;
    use std::path::Path;

    /// What tells the first test below that it is the process that another test asks.
    const ASKED: &str = "asked by another test";

    /// This program, which becomes the process in the test of that name.
    fn reader() -> NameReader {
        let own = std::env::current_exe().unwrap().into_os_string();
        let test = "profile::reader::tests::the_process_names_functions_and_has_no_rights";
        NameReader { command: vec![own, "--exact".into(), test.into(), ASKED.into()], ..NameReader::default() }
    }

    /// The file of this program, and where in it a function lies.
    fn own_function() -> (OwnedFd, u64) {
        let address = ended as fn(io::Result<ExitStatus>) -> String as usize as u64;
        let maps = Maps::read(std::process::id()).unwrap();
        let offset = maps.find(address).unwrap().file_offset(address);
        (File::open(std::env::current_exe().unwrap()).unwrap().into(), offset)
    }

    #[test]
    fn the_process_names_functions_and_has_no_rights() {
        if std::env::args().any(|argument| argument == ASKED) {
            let _ = read_names();
            return;
        }
        let reader = reader();
        let mut asking = Asking::new(&reader);
        let (file, offset) = own_function();
        let offsets: Vec<u64> = std::iter::repeat_n(offset, ADDRESSES_MAX + 1).collect();
        let names = asking.of_file("own", &file, &offsets);
        assert!(names.len() == ADDRESSES_MAX + 1 && names.iter().all(|names| names[0].contains("ended")), "{names:?}");
        let id = asking.running.as_ref().unwrap().child.id();
        let Ok(threads) = std::fs::read_dir(format!("/proc/{id}/task")) else {
            // Where processes are hidden, so is one that nobody may look into.
            assert!(asking.running.as_mut().unwrap().child.try_wait().unwrap().is_none(), "it has ended");
            return assert_eq!(asking.unread, [""; 0]);
        };
        // It runs on a thread of the tests here, which alone gives up its rights.
        let statuses =
            threads.flatten().filter_map(|thread| std::fs::read_to_string(thread.path().join("status")).ok());
        let confined = statuses.into_iter().find(|status| status.contains("NoNewPrivs:\t1")).unwrap();
        for line in ["CapPrm:\t0000000000000000", "CapEff:\t0000000000000000"] {
            assert!(confined.contains(line), "{confined}");
        }
        assert!(!confined.contains("Uid:\t0\t") && !confined.contains("Gid:\t0\t"), "{confined}");
        assert_eq!(asking.unread, [""; 0]);
    }

    /// A user of the machine aborted root's measurement with a program file.
    #[test]
    fn a_file_that_ends_the_process_loses_its_own_names_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        std::fs::write(&path, Misleading::Size.make(&std::fs::read("/bin/true").unwrap())).unwrap();
        let reader = reader();
        let mut asking = Asking::new(&reader);
        assert_eq!(asking.of_file("evil", &File::open(&path).unwrap().into(), &[0x1000]), [[""; 0]]);
        let (file, offset) = own_function();
        assert!(asking.of_file("own", &file, &[offset])[0][0].contains("ended"));
        let why = "no functions of evil have names: the process that read the file was ended by signal 6; the file may be \
                   damaged, or made to mislead";
        assert_eq!(asking.unread, [why]);
    }

    /// Where the debug information is said to lie, a pipe waits for whoever opens it.
    #[test]
    fn a_file_that_holds_the_process_up_loses_its_own_names_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = pipe_in(folder.path());
        let reader = reader();
        let mut asking = Asking::new(&reader);
        // The process is there before the time runs.
        let (file, offset) = own_function();
        assert!(!asking.of_file("own", &file, &[offset])[0].is_empty());
        asking.file_max_ns = 500_000_000;
        assert_eq!(asking.of_file("evil", &pipe, &[1]), [[""; 0]]);
        asking.file_max_ns = FILE_MAX_NS;
        assert!(!asking.of_file("own", &file, &[offset])[0].is_empty());
        assert!(asking.unread.len() == 1 && asking.unread[0].contains("took longer than"), "{:?}", asking.unread);
    }

    /// Root's profile went on for two minutes after ^C, as a neighbour's libraries named pipes as their debug information.
    #[test]
    fn an_interrupt_ends_the_wait_for_names() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = pipe_in(folder.path());
        let reader = reader();
        let mut asking = Asking::new(&reader);
        let (file, offset) = own_function();
        assert!(!asking.of_file("own", &file, &[offset])[0].is_empty());
        let stop = Arc::clone(&reader.stop);
        let interrupts = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(asking.of_file("evil", &pipe, &[1]), [[""; 0]]);
        interrupts.join().unwrap();
        assert_eq!(asking.of_file("own", &file, &[offset]), [[""; 0]]);
        let why = ["evil", "own"].map(|file| format!("no functions of {file} have names: it was interrupted before"));
        assert_eq!(asking.unread, why);
        // Whoever has ended a load early wants the names of what was sampled.
        assert!(!Asking::new(&reader).of_file("own", &file, &[offset])[0].is_empty());
    }

    #[test]
    fn files_that_root_does_not_own_have_less_time_together() {
        let reader = reader();
        let mut asking = Asking::new(&reader);
        let all_ns = asking.end_ns;
        asking.goes_beyond_root();
        let end_ns = asking.end_ns;
        assert!(all_ns - end_ns > (ALL_MAX_NS - NOT_OF_ROOT_MAX_NS) / 2, "{all_ns} {end_ns}");
        asking.goes_beyond_root();
        assert_eq!(asking.end_ns, end_ns, "the second of them begins no new time");
    }

    /// A descriptor of a pipe, which the process opens anew, and waits.
    fn pipe_in(folder: &Path) -> OwnedFd {
        use rustix::fs::{CWD, FileType, OFlags, mknodat, open};
        let path = folder.join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::RGRP | Mode::ROTH, 0).unwrap();
        open(&path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).unwrap()
    }

    #[test]
    fn a_process_that_cannot_start_is_a_reason() {
        let reader = NameReader { command: vec!["/dev/null".into()], ..NameReader::default() };
        let mut asking = Asking::new(&reader);
        let (file, offset) = own_function();
        assert_eq!(asking.of_file("own", &file, &[offset]), [[""; 0]]);
        assert!(asking.unread[0].contains("could not be started: "), "{:?}", asking.unread);
    }
}
