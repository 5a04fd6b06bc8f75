//! The built-in server as a program: who may reach it, and what ends it.

use crate::support::{Started, Target, plimsoll, shell, wait_for};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, prlimit};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A wait that takes longer has failed.
const LIMIT: Duration = Duration::from_secs(30);
const SECRET: &str = "correct-horse-battery";

/// What the server says when it listens.
#[track_caller]
fn first_line(started: &Started) -> Value {
    let path = started.directory().join("stdout");
    let line = wait_for(LIMIT, || {
        let said = std::fs::read_to_string(&path).ok()?;
        said.split_once('\n').map(|(line, _)| line.to_owned())
    });
    serde_json::from_str(&line.expect("it listens")).expect("JSON")
}

/// A server started with `flags`; its first line, and what it wrote to stderr until it was ended.
#[track_caller]
fn said(flags: &str) -> (Value, String) {
    let started = shell(&format!("export SECRET={SECRET}; exec \"$PLIMSOLL\" target {flags}")).start();
    let line = first_line(&started);
    started.signal(Signal::TERM);
    let ended = started.end();
    ended.exits(0);
    assert!(!ended.stdout.contains(SECRET) && !ended.stderr.contains(SECRET), "{ended:#?}");
    (line, ended.stderr)
}

#[test]
fn a_server_that_other_machines_can_reach_says_so_and_is_guarded() {
    for (flags, guard, says) in [
        ("--listen 0.0.0.0:0", "closed", "no --token"),
        ("--listen 0.0.0.0:0 --token env:SECRET", "token", "holders of the token"),
    ] {
        let (line, stderr) = said(flags);
        assert_eq!(line["guard"], guard, "{line}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(stderr.starts_with("warning: 0.0.0.0:") && stderr.contains("from other machines"), "{stderr}");
        assert!(stderr.contains(says), "{stderr}");
    }
}

#[test]
fn a_server_on_loopback_needs_neither_warning_nor_token() {
    for (flags, guard) in [("", "open"), ("--listen unix:target.sock", "open"), ("--token env:SECRET", "token")] {
        let (line, stderr) = said(flags);
        assert_eq!((line["guard"].as_str(), stderr.as_str()), (Some(guard), ""), "{flags}");
    }
}

#[test]
fn a_token_that_is_none_is_named_and_never_repeated() {
    let ended = plimsoll(["target", "--token", SECRET]).run();
    ended.fails(2, &["--token", "env:VAR", "file:PATH"]);
    assert!(!ended.stderr.contains(SECRET), "{ended:#?}");
    plimsoll(["target", "--token", "env:PLIMSOLL_NOT_SET"]).run().fails(2, &["PLIMSOLL_NOT_SET", "not set"]);
    plimsoll(["target", "--token", "file:/nowhere/at-all"]).run().fails(2, &["--token", "/nowhere/at-all"]);
    let short = "umask 077; echo s3cret >token; exec \"$PLIMSOLL\" target --token file:token";
    let ended = shell(short).run();
    ended.fails(2, &["--token", "the file token", "16 to 4096"]);
    assert!(!ended.stderr.contains("s3cret"), "{ended:#?}");
    plimsoll(["target", "--max-per-client", "0"]).run().fails(2, &["--max-per-client"]);
}

/// It served on without its log until somebody pressed ^C.
#[test]
fn a_thread_that_fails_ends_the_program_with_one_line() {
    let ended = plimsoll(["target", "--log", "/dev/full"]).run();
    ended.exits(2);
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:#?}");
    assert!(ended.stderr.starts_with("plimsoll: ") && ended.stderr.contains("/dev/full"), "{ended:#?}");
    assert!(ended.stderr.contains("No space left"), "{ended:#?}");
}

/// Without a descriptor, and without use for the one that it keeps to turn newcomers away, it went round and round.
#[test]
fn a_server_without_descriptors_waits_until_it_has_some() {
    let target = Target::start(&[]);
    let pid = Pid::from_raw(target.pid().cast_signed());
    let maximum = getrlimit(Resource::Nofile).maximum;
    let limit = |current| prlimit(pid, Resource::Nofile, Rlimit { current, maximum }).expect("our own child");
    let before = limit(Some(3));
    let mut stream = TcpStream::connect(target.address()).expect("the kernel takes it");
    stream.set_read_timeout(Some(LIMIT)).expect("a socket option");
    // Who spins never gives its CPU away.
    let status = status_of_acceptor(target.pid());
    let from = voluntary_switches(&status);
    let waits = wait_for(LIMIT, || (voluntary_switches(&status) >= from + 5).then_some(()));
    assert!(waits.is_some(), "it spins");
    limit(before.current);
    stream.write_all(b"GET /bytes/1 HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

/// What the kernel tells of the thread that accepts.
#[track_caller]
fn status_of_acceptor(pid: u32) -> PathBuf {
    let named =
        |path: &PathBuf| std::fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == "target-accept");
    let threads = || std::fs::read_dir(format!("/proc/{pid}/task")).expect("it runs").flatten();
    // It takes its name when it first runs, and the server listens before.
    let thread = wait_for(LIMIT, || threads().map(|thread| thread.path()).find(named));
    thread.expect("a thread that accepts").join("status")
}

#[track_caller]
fn voluntary_switches(status: &Path) -> u64 {
    let text = std::fs::read_to_string(status).expect("it runs");
    let count = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).expect("Linux counts them");
    count.trim().parse().expect("a number")
}
