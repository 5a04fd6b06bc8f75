//! A machine on which nothing is installed: a copy of a bare Debian tree, with processes and a network of its own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Bare;
use crate::hermetic::TestBinary;

/// Makes the mounts, and runs the command.
const SCRIPT: &str = include_str!("room.sh");

/// A command that takes longer hangs, and is ended (timeout(1): exit status 124); s.
const LONGEST_S: u32 = 3_000;

/// Who runs a command, and what that machine is like.
#[derive(Debug, Clone, Copy)]
pub(super) struct Machine {
    /// In a sentence: "failed as ...".
    pub(super) name: &'static str,
    pub(super) user: User,
    has_ipv6: bool,
    /// Options of its `/proc`.
    proc: &'static str,
    /// Descriptors that a process may have; none leaves what is usual.
    files: Option<u32>,
    environment: &'static [(&'static str, &'static str)],
}

/// A user of such a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum User {
    Root,
    Ordinary,
}

impl User {
    const fn id(self) -> &'static str {
        match self {
            Self::Root => "0",
            Self::Ordinary => "1000",
        }
    }

    pub(super) const fn home(self) -> &'static str {
        match self {
            Self::Root => "/root",
            Self::Ordinary => "/home/ordinary",
        }
    }
}

const ROOT: Machine = Machine {
    name: "root, without any variable and without a network",
    user: User::Root,
    has_ipv6: true,
    proc: "defaults",
    files: None,
    environment: &[],
};

/// Where the hermetic tests have to pass: with nothing given, and with all that they could take from a machine being unusual.
pub(super) const MACHINES: [Machine; 3] = [
    ROOT,
    Machine {
        name: "an ordinary user, without any variable, without a network and without IPv6",
        user: User::Ordinary,
        has_ipv6: false,
        ..ROOT
    },
    Machine {
        name: "an ordinary user, with unusual variables, few descriptors and a /proc that hides other users' processes",
        user: User::Ordinary,
        proc: "hidepid=2",
        files: Some(1024),
        environment: &[
            ("COLUMNS", "40"),
            ("HOME", "/nonexistent"),
            ("http_proxy", "http://192.0.2.1:9/"),
            ("https_proxy", "http://192.0.2.1:9/"),
            ("LANG", "tr_TR.UTF-8"),
            ("LC_ALL", "de_DE.ISO-8859-1"),
            ("LINES", "3"),
            ("NO_COLOR", "1"),
            ("PATH", "/nonexistent:/usr/bin:/bin"),
            ("TERM", "dumb"),
            ("TZ", "Asia/Kathmandu"),
        ],
        ..ROOT
    },
];

impl Machine {
    /// One on which a user builds the project, from crates that have been downloaded before.
    pub(super) const fn of_builder(user: User) -> Self {
        Self { user, ..ROOT }
    }

    /// Runs `program` in `folder`. `changes` is an empty directory: what the command writes into the tree is kept there, or
    /// in memory. `shown` are directories of this machine that it has too.
    pub(super) fn command(
        &self,
        tree: &Path,
        changes: &Changes,
        shown: &[Shown],
        folder: &Path,
        variables: &[(&str, OsString)],
        program: &[&Path],
    ) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts", "--net"]);
        command.args(["sh", "-c", SCRIPT, "room"]).arg(tree).arg(&changes.folder).args([self.user.id(), self.proc]);
        for Shown { source, at, is_writable } in shown {
            command.arg(source).arg(at).arg(if *is_writable { "writable" } else { "read-only" });
        }
        command.arg("--").arg("/usr/bin/env").arg("-i").arg("-C").arg(folder);
        let own = self.environment.iter().map(|(name, value)| (*name, OsString::from(value)));
        for (name, value) in own.chain(variables.iter().cloned()) {
            let mut word = OsString::from(name);
            word.push("=");
            word.push(value);
            command.arg(word);
        }
        command.args(program);
        let flag = |is_set: bool| if is_set { "1" } else { "" };
        command.env("NO_IPV6", flag(!self.has_ipv6));
        command.env("IN_MEMORY", flag(changes.in_memory)).env("LONGEST_S", LONGEST_S.to_string());
        command.env("FILES", self.files.map(|files| files.to_string()).unwrap_or_default());
        command
    }

    /// Runs a test binary as cargo would.
    pub(super) fn test(&self, bare: &Bare, changes: &Changes, binary: &TestBinary) -> Command {
        // What is random is not what a machine decides: all cases were tried on this one.
        let few = ("PROPTEST_CASES", PathBuf::from("8"));
        let all = bare.variables.iter().cloned().chain(binary.variables()).chain([few]);
        let variables: Vec<_> = all.map(|(name, value)| (name, value.into_os_string())).collect();
        self.command(&bare.tree, changes, &bare.shown, &binary.folder, &variables, &[&binary.executable])
    }
}

/// A directory of this machine that a command has too.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) source: PathBuf,
    pub(super) at: PathBuf,
    pub(super) is_writable: bool,
}

impl Shown {
    /// Only to be read, at the path that it has here.
    pub(super) fn read_only(path: PathBuf) -> Self {
        Self { source: path.clone(), at: path, is_writable: false }
    }
}

/// Where a command's changes of the tree are.
#[derive(Debug)]
pub(super) struct Changes {
    pub(super) folder: PathBuf,
    /// The directory is a place for a mount only, and stays empty.
    pub(super) in_memory: bool,
}
