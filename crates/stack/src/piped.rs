//! A program that is no server, such as a browser, and no more trusted than one: started as servers are, as another user when we
//! are root and in a state directory of its own, and spoken to over two pipes, its descriptors 3 and 4.
//!
//! It has no supervisor: when we are gone, however we went, the kernel asks it to end, its pipe ends too, and what stays of its
//! directory is found by its note ([`crate::clean()`]).

use crate::account::Account;
use crate::environment;
use crate::error::{self, StackError};
use crate::layout::Stop;
use crate::state::{self, Mark, Note, OUTPUT};
use crate::supervisor::{Child, How, Launch, Logs};
use crate::sys::Pipes;
use crate::tree::Folder;
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::getpid;
use signal_hook::consts::SIGTERM;
use std::fs::File;
use std::io::pipe;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The pipes of a child lie above this before they become its 3 and 4.
const DESCRIPTOR_MIN: i32 = 10;
/// Time that it is given to end once it was asked to.
const KILL_AFTER_MS: u64 = 2_000;
/// How often one looks whether it has ended.
const LOOK_UP: Duration = Duration::from_millis(5);
/// The end of its output that is read for messages.
const SAID_BYTES_MAX: u64 = 16 * 1024;

/// A running program with its pipes. It is ended, with all it has started, when this goes.
#[derive(Debug)]
pub struct Piped {
    child: Child,
    dir: PathBuf,
    logs: Logs,
    now_ns: fn() -> u64,
    /// What is written here it reads from its descriptor 3; none once it was closed.
    pub input: Option<File>,
    /// What it writes to its descriptor 4.
    pub output: File,
}

impl Piped {
    /// Starts `program`, of which `name` is a short one for messages and files, with the arguments that `args` makes of its state
    /// directory. The directory has the folders `data`, `home`, `log`, `run` and `tmp` for it. `now_ns` is a monotonic clock.
    ///
    /// # Errors
    /// If the directory cannot be made, or the program not be started by the user whom it runs as.
    pub fn start(
        name: &str,
        program: &Path,
        args: impl FnOnce(&Path) -> Vec<String>,
        now_ns: fn() -> u64,
    ) -> Result<Self, StackError> {
        let account = Account::choose(None)?;
        let dir = state::create(name, account.as_ref())?;
        let launch = Launch {
            name: name.to_owned(),
            program: program.to_owned(),
            args: args(&dir),
            env: environment::of_helper(&dir),
            dir: dir.join("home"),
            output: dir.join(OUTPUT).join(file(name)),
            account: account.as_ref().map(|account| (account.uid, account.gid)),
            cpus: Vec::new(),
            stop: Stop { signal: SIGTERM, kill_after_ms: KILL_AFTER_MS },
        };
        let started = spawn(&launch).and_then(|(child, input, output)| {
            let own = Mark::of(getpid().as_raw_nonzero().get()).unwrap_or_default();
            let services = vec![(child.mark, program.to_owned())];
            let note = Note { boot: state::boot(), owner: own, supervisor: own, services, standing: None };
            let logs = Logs::new(&dir);
            let piped = Self { child, dir: dir.clone(), logs, now_ns, input: Some(input), output };
            note.write(&dir).map(|()| piped).map_err(std::io::Error::other)
        });
        started.map_err(|error| {
            // The error that counts is the first.
            let _ = state::remove(&dir);
            let who = account.map(|account| format!(" as user {}", account.name)).unwrap_or_default();
            StackError::file(&format!("start{who}"), program, &error)
        })
    }

    /// How it has ended, with the last that it wrote to stderr; none while it runs.
    pub fn ended(&mut self) -> Option<String> {
        let how = self.child.ended()?;
        Some(self.told(how))
    }

    /// The same, once it had so much time to end.
    pub fn ended_within(&mut self, time_ns: u64) -> Option<String> {
        let deadline_ns = (self.now_ns)() + time_ns;
        loop {
            match self.child.ended() {
                Some(how) => return Some(self.told(how)),
                None if (self.now_ns)() >= deadline_ns => return None,
                None => std::thread::sleep(LOOK_UP),
            }
        }
    }

    /// Keeps what it writes to stdout and stderr within bounds; to be called now and then.
    pub fn bound_output(&mut self) {
        self.logs.look((self.now_ns)());
    }

    fn told(&self, how: How) -> String {
        let tail =
            Folder::open(&self.dir.join(OUTPUT)).and_then(|out| out.tail(&file(&self.child.name), SAID_BYTES_MAX));
        format!("{how}{}", error::said(&String::from_utf8_lossy(&tail.unwrap_or_default())))
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        self.input = None;
        self.child.end(self.now_ns);
        // What a file system refuses to remove, `clean` finds.
        let _ = state::remove(&self.dir);
    }
}

fn file(name: &str) -> String {
    format!("{name}.out")
}

/// Starts it, and returns it with our ends of its pipes.
fn spawn(launch: &Launch) -> std::io::Result<(Child, File, File)> {
    let (reads, input) = pipe()?;
    let (output, writes) = pipe()?;
    // These four stay open until it is started, so 3 and 4 are not free for what std opens in between.
    let above = |fd: &dyn AsFd| fcntl_dupfd_cloexec(fd.as_fd(), DESCRIPTOR_MIN);
    let pipes = Pipes { reads: above(&reads)?, writes: above(&writes)? };
    let child = Child::spawn_with(launch, Some(pipes))?;
    Ok((child, File::from(OwnedFd::from(input)), File::from(OwnedFd::from(output))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A clock of its own: each reading is 10 ms later.
    fn now_ns() -> u64 {
        static NOW_NS: AtomicU64 = AtomicU64::new(0);
        NOW_NS.fetch_add(10_000_000, Ordering::Relaxed)
    }

    fn shell(script: &str) -> Piped {
        let args = |_: &Path| vec!["-c".to_owned(), script.to_owned()];
        Piped::start("sh", Path::new("/bin/sh"), args, now_ns).expect("it starts")
    }

    #[test]
    fn what_is_written_to_3_comes_back_from_4_and_nothing_stays() {
        let mut echo = shell("cat <&3 >&4; echo the end >&2; exit 7");
        echo.input.as_mut().expect("open").write_all(b"hello").expect("it reads");
        assert_eq!(echo.ended(), None);
        echo.input = None;
        let mut said = String::new();
        echo.output.read_to_string(&mut said).expect("text");
        assert_eq!(said, "hello");
        // The clock runs without waiting, and other tests read it too: a busy machine needs time of its own.
        let how = (0..1000).find_map(|_| {
            std::thread::sleep(LOOK_UP);
            echo.ended_within(10_000_000)
        });
        assert_eq!(how.as_deref(), Some("ended with exit code 7: the end"));
        let dir = echo.dir.clone();
        assert!(dir.exists());
        drop(echo);
        assert!(!dir.exists());
    }

    #[test]
    fn one_that_hangs_is_ended_with_what_it_has_started() {
        let mut hangs = shell("trap '' TERM; sleep 77 & echo up >&4; while :; do sleep 77; done");
        let mut up = [0; 3];
        hangs.output.read_exact(&mut up).expect("it is up");
        let mark = hangs.child.mark;
        drop(hangs);
        assert!(!mark.is_alive() && crate::supervisor::members(mark).is_empty());
    }

    #[test]
    fn a_program_that_is_not_there_is_named_and_leaves_nothing() {
        let error = Piped::start("none", Path::new("/no/such/browser"), |_| Vec::new(), now_ns).expect_err("none");
        let message = error.to_string();
        assert!(message.contains("/no/such/browser") && message.contains("No such file"), "{message}");
    }
}
