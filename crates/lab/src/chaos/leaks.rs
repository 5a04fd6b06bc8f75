//! Leftovers of a server: processes, sockets, mounts, files.

use procfs::net::{TcpState, tcp, tcp6, unix};
use procfs::process::{FDTarget, Process, all_processes};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, geteuid, pidfd_open};
use std::collections::BTreeSet;
use std::fs::read_dir;
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Whom commands run as when root starts them.
const NOBODY: u32 = 65_534;
/// Whom its servers and browsers run as.
const OWN: RangeInclusive<u32> = 61_184..=65_519;
/// Where servers would write if they were not told otherwise, and how deep one looks there.
const OUTSIDE: [(&str, usize); 5] = [("/tmp", 1), ("/dev/shm", 1), ("/run", 2), ("/var/log", 2), ("/var/lib", 2)];

/// What belongs to one server: all that has to do with a directory, and what was seen while it ran.
pub(super) struct Left {
    tmp: PathBuf,
    /// Other directories that its processes are known by.
    others: Vec<PathBuf>,
    /// Each process that a supervisor starts leads a session of its own.
    sessions: Vec<i32>,
    /// Of sockets.
    inodes: BTreeSet<u64>,
}

impl Left {
    pub(super) fn new(tmp: &Path) -> Self {
        Self { tmp: tmp.to_owned(), others: Vec::new(), sessions: Vec::new(), inodes: BTreeSet::new() }
    }

    /// The same with processes that have to do with these directories.
    pub(super) fn with(self, others: Vec<PathBuf>) -> Self {
        Self { others, ..self }
    }

    /// Notes what a server that runs has, so that it is known when it has nothing to do with the directory any more.
    pub(super) fn remember(&mut self, sessions: Vec<i32>) {
        self.sessions = sessions;
        let inode = |target| if let FDTarget::Socket(inode) = target { Some(inode) } else { None };
        let open =
            |process: Process| process.fd().into_iter().flatten().flatten().filter_map(|fd| inode(fd.target)).collect();
        let sockets: Vec<Vec<u64>> = self.members().map(open).collect();
        self.inodes.extend(sockets.concat());
    }

    /// All that is left, for people.
    pub(super) fn all(&self) -> Vec<String> {
        let mut all = self.processes();
        all.extend(self.sockets());
        let mounts = Process::myself().and_then(|own| own.mountinfo()).into_iter().flatten();
        all.extend(
            mounts
                .filter(|mount| mount.mount_point.starts_with(&self.tmp))
                .map(|mount| format!("left mount {:?}", mount.mount_point)),
        );
        let base = self.tmp.join(format!("plimsoll-{}", geteuid().as_raw()));
        all.extend(
            read_dir(base).into_iter().flatten().flatten().map(|file| format!("left file {}", file.path().display())),
        );
        all
    }

    pub(super) fn processes(&self) -> Vec<String> {
        let name = |process: Process| {
            let words = process.cmdline().unwrap_or_default().join(" ");
            format!("left process {} ({})", process.pid, words.chars().take(80).collect::<String>())
        };
        self.members().map(name).collect()
    }

    /// Descriptors of its processes, as a number may become that of somebody else.
    pub(super) fn handles(&self) -> Vec<OwnedFd> {
        let pids: Vec<i32> = self.members().map(|process| process.pid).collect();
        pids.into_iter().filter_map(|pid| self.handle(pid)).collect()
    }

    fn handle(&self, pid: i32) -> Option<OwnedFd> {
        let handle = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        // Who has the number now is whom the descriptor is of, unless that one has ended and gets no signal any more.
        Process::new(pid).is_ok_and(|process| self.is_ours(&process)).then_some(handle)
    }

    fn members(&self) -> impl Iterator<Item = Process> {
        all_processes().into_iter().flatten().flatten().filter(|process| self.is_ours(process))
    }

    fn is_ours(&self, process: &Process) -> bool {
        let Ok(stat) = process.stat() else { return false };
        let below =
            |path: &Path| path.starts_with(&self.tmp) || self.others.iter().any(|other| path.starts_with(other));
        // What lies beside such a directory and begins as it does is not in it.
        let in_other = |word: &str| self.others.iter().any(|other| word.contains(&format!("{}/", other.display())));
        let names = |word: &str| word.contains(&*self.tmp.to_string_lossy()) || in_other(word);
        stat.state != 'Z'
            && (self.sessions.contains(&stat.session)
                || process.cwd().is_ok_and(|path| below(&path))
                || process.exe().is_ok_and(|path| below(&path))
                || process.cmdline().is_ok_and(|words| words.iter().any(|word| names(word)))
                || process.environ().is_ok_and(|all| all.values().any(|value| below(Path::new(value)))))
    }

    /// Sockets that listen, of which the owner was seen before.
    pub(super) fn sockets(&self) -> Vec<String> {
        let listening = [tcp(), tcp6()].into_iter().flatten().flatten().filter(|entry| entry.state == TcpState::Listen);
        let tcp = listening.filter(|entry| self.inodes.contains(&entry.inode));
        let tcp = tcp.map(|entry| format!("left socket {}", entry.local_address));
        let unix = unix().into_iter().flatten().filter_map(|entry| entry.path);
        let unix =
            unix.filter(|path| path.starts_with(&self.tmp)).map(|path| format!("left socket {}", path.display()));
        tcp.chain(unix).collect()
    }
}

/// Files of the servers' user where servers write by default.
pub(super) struct Outside {
    known: BTreeSet<PathBuf>,
}

impl Outside {
    pub(super) fn now() -> Self {
        Self { known: found() }
    }

    /// What has come since the last call.
    pub(super) fn more(&mut self) -> Vec<String> {
        let found = found();
        let more = found.difference(&self.known).map(|path| format!("left file {}", path.display())).collect();
        self.known = found;
        more
    }
}

fn found() -> BTreeSet<PathBuf> {
    let root = geteuid().is_root();
    let is_theirs = |uid: u32| if root { uid == NOBODY || OWN.contains(&uid) } else { uid == geteuid().as_raw() };
    let mut found = BTreeSet::new();
    // An ordinary user's servers share /tmp with all that this user runs; theirs have it below their own directory.
    for (folder, depth) in OUTSIDE.iter().filter(|(folder, _)| root || *folder != "/tmp") {
        list(Path::new(folder), *depth, &is_theirs, &mut found);
    }
    found
}

fn list(folder: &Path, depth: usize, is_theirs: &dyn Fn(u32) -> bool, found: &mut BTreeSet<PathBuf>) {
    for entry in read_dir(folder).into_iter().flatten().flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        if is_theirs(metadata.uid()) {
            found.insert(entry.path());
        }
        if metadata.is_dir() && depth > 1 {
            list(&entry.path(), depth - 1, is_theirs, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixListener;
    use std::process::{Command, Stdio};

    #[test]
    fn what_is_left_is_found_until_it_is_gone() {
        let tmp = tempfile::tempdir().expect("a directory");
        let mut left = Left::new(tmp.path());
        assert_eq!(left.all(), Vec::<String>::new());
        // Neither its place nor its words say whose it is: its environment does.
        let mut command = Command::new("sleep");
        command.arg("600").current_dir("/").env("HOME", tmp.path()).stdout(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        let base = tmp.path().join(format!("plimsoll-{}", geteuid().as_raw()));
        std::fs::create_dir_all(base.join("nginx-x")).expect("a directory");
        let unix = UnixListener::bind(tmp.path().join("socket")).expect("a socket");
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
        let own = Process::myself().expect("/proc");
        left.sessions = vec![own.stat().expect("/proc").session];
        left.remember(left.sessions.clone());
        left.sessions.clear();
        // The session's other members, this program's other tests among them, come and go as they like.
        let socket = std::fs::metadata(format!("/proc/self/fd/{}", tcp.as_raw_fd())).expect("/proc").ino();
        assert!(left.inodes.contains(&socket), "{socket} is not in {:?}", left.inodes);
        left.inodes.retain(|inode| *inode == socket);
        // The kernel lets go of the parent a moment before the new environment can be read.
        let all = all_once(&left, |all| all.contains("left process"));
        let port = tcp.local_addr().expect("an address").to_string();
        let pid = format!("left process {} (sleep 600)", child.id());
        for part in [pid.as_str(), "/nginx-x", "/socket", &format!("left socket {port}")] {
            assert!(all.contains(part), "{part} is not in {all}");
        }
        child.kill().and_then(|()| child.wait()).expect("our own child");
        std::fs::remove_dir_all(&base).expect("our own directory");
        drop((unix, tcp));
        // A child that another test is about to start holds our descriptors until it becomes its own program.
        assert_eq!(all_once(&left, str::is_empty), "");
    }

    /// What is left as soon as it is as expected, or what is left after a second.
    fn all_once(left: &Left, expected: impl Fn(&str) -> bool) -> String {
        for _ in 0..100 {
            let all = left.all().join("\n");
            if expected(&all) {
                return all;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        left.all().join("\n")
    }
}
