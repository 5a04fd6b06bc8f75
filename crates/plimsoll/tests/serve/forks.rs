//! Servers that fork and exit as fast as they can, in sessions of their own and deaf to SIGTERM: no search through `/proc` meets
//! one of them for longer than a moment, and all of them end with their server nevertheless.

use crate::ordinary_user::User;
use crate::program::plimsoll;
use crate::shared::installed;
use crate::support::{Served, kill};
use crate::wait_for;
use procfs::process::all_processes;
use rustix::fs::{CWD, FileType, Mode, OFlags, StatVfsMountFlags, mknodat, open, statvfs};
use rustix::io::{Errno, read};
use rustix::process::{Signal, geteuid};
use serde_json::Value;
use std::fs::{Permissions, copy, read_to_string, set_permissions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

const TIMEOUT: Duration = Duration::from_secs(30);
/// What the chain does: it opens the pipe, says that it is there, and forks on for 20 s at most.
const CHAIN: &str = "use POSIX; $SIG{TERM} = $SIG{HUP} = q(IGNORE); open(PIPE, q(>), $ARGV[0]) or die; \
                     syswrite(PIPE, q(.)); my $end = time + 20; while (time < $end) { exit if fork; POSIX::setsid() }";

/// A pipe with a name that all of a chain hold open: it ends when the last of them has ended, and not before.
struct Chain {
    folder: TempDir,
    pipe: OwnedFd,
}

impl Chain {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::empty(), 0).expect("a pipe");
        for (path, mode) in [(folder.path(), 0o755), (&path, 0o666)] {
            set_permissions(path, Permissions::from_mode(mode)).expect("our own");
        }
        let pipe = open(&path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).expect("our own");
        Self { folder, pipe }
    }

    /// The command line of a server that starts it.
    fn server(&self) -> [String; 4] {
        let pipe = self.folder.path().join("pipe");
        let script =
            format!("perl -e '{CHAIN}' {} & exec \"$PLIMSOLL\" target --listen 127.0.0.1:$PORT", pipe.display());
        ["--".into(), "sh".into(), "-c".into(), script]
    }

    /// What the pipe says now: a byte of somebody new, or that nobody is left, or nothing.
    fn heard(&self) -> Result<usize, Errno> {
        read(&self.pipe, &mut [0; 1])
    }

    #[track_caller]
    fn is_up(&self) {
        wait_for(TIMEOUT, || (self.heard() == Ok(1)).then_some(())).expect("it forks");
    }

    #[track_caller]
    fn has_ended(&self) {
        assert_eq!(self.heard(), Ok(0), "the chain goes on");
    }
}

#[test]
fn a_chain_of_forks_ends_with_its_server() {
    let chain = Chain::new();
    let served = Served::start(&chain.server());
    chain.is_up();
    let ended = served.stop();
    chain.has_ended();
    assert_eq!(ended.stderr, "", "nothing was left");
}

#[test]
fn a_chain_of_forks_of_an_ordinary_user_ends_with_its_server() {
    let (chain, user) = (Chain::new(), User::new());
    let args = chain.server();
    let served = Served::of(user.serve(&args.each_ref().map(String::as_str)));
    chain.is_up();
    let ended = served.stop();
    chain.has_ended();
    assert_eq!(ended.stderr, "", "nothing was left");
}

/// Its server has started a program that becomes root, whom this user cannot end.
#[test]
fn what_cannot_be_ended_is_named() {
    if !geteuid().is_root() {
        return;
    }
    let user = User::new();
    let is_obeyed = statvfs(user.home.path()).is_ok_and(|found| !found.f_flag.contains(StatVfsMountFlags::NOSUID));
    assert!(
        is_obeyed,
        "{}: programs cannot be root's there; set TMPDIR to another directory",
        user.home.path().display()
    );
    let program = user.home.path().join("become-root");
    copy(installed("setpriv", "util-linux"), &program).expect("room for it");
    set_permissions(&program, Permissions::from_mode(0o4755)).expect("our own file");
    let seconds = format!("7{}.5", std::process::id());
    let words = ["sleep", &seconds];
    let script = format!(
        "setsid {} --reuid=0 --regid=0 --clear-groups sleep {seconds} & exec \"$PLIMSOLL\" target --listen 127.0.0.1:$PORT",
        program.display()
    );
    let served = Served::of(user.serve(&["--", "sh", "-c", &script]));
    let root_s = || {
        let all = all_processes().expect("/proc").flatten();
        let mut own = all.filter(|process| process.cmdline().is_ok_and(|found| found == words));
        own.find(|process| process.uid().is_ok_and(|uid| uid == 0)).map(|process| process.pid)
    };
    let pid = wait_for(TIMEOUT, root_s).expect("it becomes root");
    let ended = served.stop();
    kill(pid);
    assert_eq!(ended.stderr, format!("warning: 1 process(es) of the server could not be ended: {pid}\n"));
}

#[test]
fn a_chain_of_forks_ends_with_a_build() {
    let chain = Chain::new();
    let pipe = chain.folder.path().join("pipe");
    let build = format!("perl -e '{CHAIN}' {} &", pipe.display());
    let served = Served::start(&["target", "--build", &build]);
    // It may have been ended before it had opened the pipe.
    while chain.heard() == Ok(1) {}
    chain.has_ended();
    served.stop();
}

/// The group of a state directory; none where none can be made.
fn group(state: &Path) -> Option<PathBuf> {
    let note = read_to_string(state.with_added_extension("json")).expect("a note");
    let note: Value = serde_json::from_str(&note).expect("JSON");
    note["group"].as_str().map(PathBuf::from)
}

/// Without a group the orphans of a supervisor that was killed are nobody's, and not found.
#[test]
fn a_chain_of_forks_ends_though_the_supervisor_was_killed() {
    let chain = Chain::new();
    let served = Served::start(&chain.server());
    chain.is_up();
    let Some(group) = group(&served.state()) else { return };
    kill(served.supervisor());
    served.ends(3);
    chain.has_ended();
    assert!(!group.exists(), "{}", group.display());
}

#[test]
fn a_chain_of_forks_that_two_kills_have_left_ends_when_it_is_asked_for() {
    let chain = Chain::new();
    let served = Served::start(&chain.server());
    chain.is_up();
    let (remains, state) = (served.remains(), served.state());
    let Some(group) = group(&state) else { return };
    let stopped = served.plimsoll();
    stopped.signal(Signal::STOP);
    kill(served.supervisor());
    stopped.signal(Signal::KILL);
    remains.processes_are_gone();
    assert!(group.exists(), "nobody was there to remove it");
    let ended = plimsoll(["serve", "--clean"]).run();
    ended.exits(0);
    assert!(ended.stdout.contains(&format!("removed {}, ended ", state.display())), "{ended:?}");
    chain.has_ended();
    remains.are_gone();
    assert!(!group.exists(), "{}", group.display());
}

/// All of a server is in its group, whoever it runs as, and the supervisor is not.
#[test]
fn a_server_is_in_a_group_of_its_own_that_goes_with_it() {
    let served = Served::start(&["nginx", "--workers", "2"]);
    let Some(group) = group(&served.state()) else {
        assert!(!geteuid().is_root() || !Path::new("/sys/fs/cgroup/cgroup.kill").exists(), "root can make one");
        return;
    };
    let members = read_to_string(group.join("cgroup.procs")).expect("it is there");
    let members: Vec<i32> = members.lines().filter_map(|line| line.parse().ok()).collect();
    assert!(members.contains(&served.services()[0].1) && members.len() == 3, "a master and two workers: {members:?}");
    assert!(!members.contains(&served.supervisor()));
    served.stop();
    assert!(!group.exists(), "{}", group.display());
}
