//! Servers that stand by themselves ([`Standing`]): found by their notes, looked at, ended.

use crate::clean;
use crate::error::StackError;
use crate::layout::{Body, Layout, Ready};
use crate::ready::{Asker, Look};
use crate::standing::Standing;
use crate::state::{self, Mark, Note, OUTPUT};
use crate::supervisor::send;
use crate::tree::Folder;
use model::Address;
use rustix::process::Signal;
use std::path::Path;
use std::time::Duration;

/// How often one looks whether a supervisor has ended.
const LOOK_UP: Duration = Duration::from_millis(5);
/// Time that a supervisor is given to end what it keeps: a database may take 20 s, and there are few processes; ns.
const END_MAX_NS: u64 = 120_000_000_000;
/// Logs of a stack that are looked for.
const LOGS_MAX: usize = 100;
/// The end of a log that is read.
const LOG_BYTES_MAX: u64 = 256 << 10;

/// A server that stands by itself.
#[derive(Clone, Debug)]
pub struct Stack {
    /// What it is.
    pub standing: Standing,
    note: Note,
}

/// The end of a log of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// Its path below the state directory.
    pub name: String,
    /// The last that was written to it.
    pub tail: Vec<u8>,
}

/// All that this user has left to their supervisors, in the order of their names.
///
/// # Errors
/// If the folder of state directories cannot be read.
pub fn stacks() -> Result<Vec<Stack>, StackError> {
    let base = state::base()?;
    let entries = std::fs::read_dir(&base).map_err(|error| StackError::file("read", &base, &error))?;
    let dirs = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let of = |dir: &Path| {
        let note = Note::read(dir)?;
        let standing = Standing { state: dir.to_owned(), ..note.standing.clone()? };
        Some(Stack { standing, note })
    };
    let mut all: Vec<Stack> = dirs.filter_map(|entry| of(&entry.path())).collect();
    all.sort_by(|a, b| (&a.standing.name, &a.standing.state).cmp(&(&b.standing.name, &b.standing.state)));
    Ok(all)
}

/// The stack that listens at this address of this machine; none where no stack of this user is up there. It makes nothing.
#[must_use]
pub fn standing_at(address: &Address) -> Option<Standing> {
    let all = if state::has_base() { stacks().unwrap_or_default() } else { Vec::new() };
    all.into_iter().find(|stack| stack.is_kept() && stack.standing.is_at(address)).map(|stack| stack.standing)
}

impl Stack {
    /// Looks whether all of it runs and answers.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub fn check(&self) -> Result<(), String> {
        if let Some((name, how)) = self.standing.ended.first() {
            return Err(format!("{name} {how}"));
        }
        if !self.is_kept() {
            return Err("its supervisor has ended".into());
        }
        let alive = |pid: i32| self.note.services.iter().any(|(mark, _)| mark.pid == pid && mark.is_alive());
        if let Some((name, _)) = self.standing.processes.iter().find(|(_, pid)| !alive(*pid)) {
            return Err(format!("{name} has ended"));
        }
        let body = self.standing.page_holds.clone().map(|text| Body::Holds(vec![text]));
        let layout = Layout { endpoint: self.standing.endpoint.clone(), body, ..Layout::default() };
        match Asker::new(self.standing.uid, self.note.supervisor.pid).look(&Ready::Endpoint, &layout) {
            Look::Ready => Ok(()),
            Look::NotYet(why) | Look::Wrong(why) => Err(why),
        }
    }

    /// Ends it and removes its directory. Returns whether its supervisor had to be killed.
    ///
    /// # Errors
    /// If the directory cannot be removed.
    pub fn down(&self, now_ns: fn() -> u64) -> Result<bool, StackError> {
        let dir = &self.standing.state;
        let mut killed = false;
        if self.is_of_this_boot() {
            send(self.note.supervisor, Signal::TERM);
            killed = !ends(self.note.supervisor, now_ns);
            if killed {
                send(self.note.supervisor, Signal::KILL);
            }
        }
        // What a supervisor that was killed has left, or could not remove.
        let stays = if dir.exists() { clean::end(dir, now_ns).stays } else { None };
        match stays {
            Some(reason) => Err(StackError::Machine { doing: format!("remove {}", dir.display()), reason }),
            None => Ok(killed),
        }
    }

    /// The ends of its logs: what its processes wrote to stdout and stderr, then the files that they opened themselves.
    #[must_use]
    pub fn logs(&self) -> Vec<Log> {
        [OUTPUT, "log"].iter().flat_map(|folder| logs(&self.standing.state, folder)).collect()
    }

    /// True if its supervisor keeps it.
    fn is_kept(&self) -> bool {
        self.is_of_this_boot() && self.note.supervisor.is_alive()
    }

    fn is_of_this_boot(&self) -> bool {
        self.note.boot == state::boot()
    }
}

/// Waits for the end of a supervisor; false if it still runs when its time is over.
fn ends(supervisor: Mark, now_ns: fn() -> u64) -> bool {
    let deadline_ns = now_ns() + END_MAX_NS;
    while supervisor.is_alive() {
        if now_ns() > deadline_ns {
            return false;
        }
        std::thread::sleep(LOOK_UP);
    }
    true
}

/// The logs of a folder that have something in them.
fn logs(dir: &Path, name: &str) -> Vec<Log> {
    let Ok(folder) = Folder::open(&dir.join(name)) else { return Vec::new() };
    let mut files = folder.names(LOGS_MAX).unwrap_or_default();
    files.sort();
    let log = |file: &std::ffi::CString| {
        let file = file.to_str().ok()?;
        let tail = folder.tail(file, LOG_BYTES_MAX).ok().filter(|tail| !tail.is_empty())?;
        Some(Log { name: format!("{name}/{file}"), tail })
    };
    files.iter().filter_map(log).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn stack(dir: &Path, boot: String, supervisor: Mark) -> Stack {
        let standing = Standing { name: "shop".into(), state: dir.to_owned(), ..Standing::default() };
        Stack { standing, note: Note { boot, supervisor, ..Note::default() } }
    }

    #[test]
    fn a_page_without_its_end_is_not_in_order() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}/", listener.local_addr().expect("its address"));
        let server = std::thread::spawn(move || {
            for page in ["<html>whole</html>", "<html>half"] {
                let (mut stream, _) = listener.accept().expect("it is asked");
                let mut request = [0; 4096];
                let _ = std::io::Read::read(&mut stream, &mut request).expect("a request");
                let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{page}", page.len());
                std::io::Write::write_all(&mut stream, answer.as_bytes()).expect("it is read");
            }
        });
        let own = Mark::of(std::process::id().cast_signed()).expect("it runs");
        let mut stack = stack(Path::new("/tmp/none"), state::boot(), own);
        stack.standing.endpoint = Some(crate::layout::Endpoint::Http { url });
        stack.standing.page_holds = Some("</html>".into());
        assert_eq!(stack.check(), Ok(()));
        let said = stack.check().expect_err("half a page");
        assert!(said.contains("without \"</html>\" in it") && said.ends_with("it ends with \"half\""), "{said}");
        server.join().expect("it was asked twice");
    }

    #[test]
    fn what_has_ended_is_told() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut gone = Command::new("true").spawn().expect("it starts");
        let mark = Mark::of(gone.id().cast_signed()).unwrap_or_default();
        gone.wait().expect("our own child");
        let mut stack = stack(dir.path(), state::boot(), mark);
        assert_eq!(stack.check(), Err("its supervisor has ended".into()));
        assert!(!stack.is_kept(), "whoever is at its address now is another server");
        stack.standing.ended.push(("php-fpm".into(), "was ended by SIGKILL".into()));
        assert_eq!(stack.check(), Err("php-fpm was ended by SIGKILL".into()));
    }

    #[test]
    fn a_process_of_another_boot_is_left_alone() {
        let base = tempfile::tempdir().expect("a directory");
        let dir = base.path().join("shop-1");
        std::fs::create_dir(&dir).expect("a directory in it");
        let mut sleep = Command::new("sleep").arg("600").spawn().expect("it starts");
        let running = Mark::of(sleep.id().cast_signed()).expect("it runs");
        let stack = stack(&dir, "another".into(), running);
        assert!(stack.check().is_err());
        assert!(!stack.down(|| 0).expect("it can be removed"));
        assert!(running.is_alive() && !dir.exists());
        sleep.kill().and_then(|()| sleep.wait()).expect("our own child");
    }

    #[test]
    fn logs_with_something_in_them_are_shown_by_their_ends() {
        let dir = tempfile::tempdir().expect("a directory");
        for (folder, file, text) in
            [("out", "nginx.out", ""), ("out", "php.out", "said"), ("log", "error.log", "failed")]
        {
            std::fs::create_dir_all(dir.path().join(folder)).expect("a directory");
            std::fs::write(dir.path().join(folder).join(file), text).expect("a file");
        }
        let logs = stack(dir.path(), String::new(), Mark::default()).logs();
        let shown: Vec<_> = logs.iter().map(|log| (log.name.as_str(), &log.tail[..])).collect();
        assert_eq!(shown, [("out/php.out", &b"said"[..]), ("log/error.log", b"failed")]);
    }
}
