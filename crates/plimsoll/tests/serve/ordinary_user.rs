//! Servers that an ordinary user starts: one without a name, a home or a right to anything.

use crate::program::{Program, plimsoll};
use crate::shared::installed;
use crate::support::{Served, readable};
use procfs::process::all_processes;
use rustix::process::geteuid;
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use tempfile::TempDir;

/// Nobody has it, and no other test at the same time: each is a process of its own.
fn own_uid() -> u32 {
    50_000 + std::process::id() % 10_000
}

/// A directory of that user with our program in it.
pub(crate) struct User {
    pub(crate) home: TempDir,
}

impl User {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let set = |path: &Path| std::fs::set_permissions(path, Permissions::from_mode(0o755)).expect("our own file");
        let program = home.path().join("plimsoll");
        std::fs::copy(env!("CARGO_BIN_EXE_plimsoll"), &program).expect("room for it");
        set(&program);
        set(home.path());
        if geteuid().is_root() {
            chown(home.path(), Some(own_uid()), Some(own_uid())).expect("root may");
        }
        Self { home }
    }

    /// `plimsoll serve` as that user; as ourselves when we are an ordinary user already.
    pub(crate) fn serve(&self, args: &[&str]) -> Program {
        let home = self.home.path().display();
        let mut words = vec![format!("HOME={home}"), format!("TMPDIR={home}")];
        if geteuid().is_root() {
            words.extend(
                ["setpriv", &format!("--reuid={}", own_uid()), &format!("--regid={}", own_uid()), "--clear-groups"]
                    .map(String::from),
            );
        }
        words.extend([format!("{home}/plimsoll"), "serve".into()]);
        words.extend(args.iter().map(ToString::to_string));
        Program::new("env", words)
    }

    fn uid(&self) -> u32 {
        std::fs::metadata(self.home.path()).expect("it is there").uid()
    }
}

#[test]
fn an_ordinary_user_starts_them_all() {
    let user = User::new();
    for name in ["nginx", "php-fpm", "redis", "mariadb", "target"] {
        let served = Served::of(user.serve(&[name]));
        assert!(served.state().starts_with(user.home.path()), "{}", served.line);
        for (_, pid) in served.services() {
            assert_eq!(process_uid(pid), user.uid(), "{name}");
        }
        if served.line["url"].is_string() {
            assert_eq!(served.get("/", "").status, 200, "{name}");
        }
        served.stop();
    }
    let left: Vec<_> =
        std::fs::read_dir(user.home.path().join(format!("plimsoll-{}", user.uid()))).expect("it was used").collect();
    assert!(left.is_empty(), "{left:?}");
    if geteuid().is_root() {
        let processes = all_processes().expect("/proc").flatten();
        assert_eq!(
            processes.filter(|process| process.uid().is_ok_and(|uid| uid == own_uid())).count(),
            0,
            "somebody is left"
        );
    }
}

#[test]
fn an_ordinary_user_becomes_nobody_else() {
    let user = User::new();
    user.serve(&["nginx", "--user", "daemon"]).run().fails(2, &["only root can run a server as user daemon"]);
}

#[test]
fn root_s_servers_run_as_users_of_their_own_commands_as_nobody_and_our_own_program_as_root() {
    if !geteuid().is_root() {
        // What differs is root's alone; the tests above are this user's.
        plimsoll(["serve", "nginx", "--user", "root"]).run().fails(2, &["only root can run a server as user root"]);
        return;
    }
    let command = ["--", "sh", "-c", "exec \"$PLIMSOLL\" target --listen 127.0.0.1:$PORT"];
    let as_root = [&["--user", "root"][..], &command].concat();
    for (args, uid) in
        [(&["nginx", "--user", "nobody"][..], 65_534), (&["target"], 0), (&command, 65_534), (&as_root, 0)]
    {
        let served = Served::start(args);
        for (_, pid) in served.services() {
            assert_eq!(process_uid(pid), uid, "{args:?}");
        }
        served.stop();
    }
    let all = [["nginx"], ["nginx"], ["php-fpm"]].map(|args| Served::start(&args));
    let mut uids = all.each_ref().map(|served| process_uid(served.services()[0].1));
    uids.sort_unstable();
    assert!(uids[0] < uids[1] && uids[1] < uids[2], "each has its own: {uids:?}");
    assert!(uids.iter().all(|uid| (61_184..=65_519).contains(uid)), "none that an account has: {uids:?}");
    for served in all {
        served.stop();
    }
}

/// Both are root's, as two variants of a comparison are.
#[test]
fn a_server_of_root_s_cannot_read_or_end_another() {
    if !geteuid().is_root() {
        // Servers of an ordinary user are this user: there is nothing between them.
        return;
    }
    let (folder, victim) = (readable(&[]), Served::start(&["nginx"]));
    let program = folder.path().join("redis");
    let (pid, state) = (victim.services()[0].1, victim.state());
    let script = format!(
        "#!/bin/sh
         exec 2>${{1%/conf/redis.conf}}/log/said
         export LC_ALL=C
         kill -KILL {pid} && echo killed >&2
         ls {} {}/log && echo was-read >&2
         cat /proc/{pid}/environ && echo was-read >&2
         exec {} \"$@\"
",
        state.display(),
        state.display(),
        installed("redis-server", "redis-server").display()
    );
    std::fs::write(&program, script).expect("a file");
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("our own file");
    let hostile = Served::start(&["redis", "--binary", &program.display().to_string()]);
    let said = std::fs::read_to_string(hostile.state().join("log/said")).expect("it was run");
    assert!(said.contains("not permitted") && said.matches("ermission denied").count() == 3, "{said}");
    assert!(!said.contains("killed") && !said.contains("was-read"), "{said}");
    assert_eq!(victim.get("/", "").status, 200);
    hostile.stop();
    victim.stop();
}

#[track_caller]
fn process_uid(pid: i32) -> u32 {
    procfs::process::Process::new(pid).and_then(|process| process.uid()).expect("it runs")
}
