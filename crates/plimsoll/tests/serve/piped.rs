//! Programs that are spoken to over two pipes, as the browser of `render` is: they end with plimsoll and leave nothing.

use crate::program::Program;
use crate::shared::list;
use crate::support::readable;
use crate::wait_for;
use procfs::process::{Process, all_processes};
use rustix::process::{Signal, geteuid};
use serde_json::Value;
use stack::Piped;
use std::ffi::OsString;
use std::fs::{Permissions, read_to_string, set_permissions};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(30);
const TIMEOUT_NS: u64 = 30_000_000_000;

/// A program, and its state directory.
fn start(program: &str, script: &str) -> Result<(Piped, PathBuf), String> {
    let supervisor = [OsString::from(env!("CARGO_BIN_EXE_plimsoll")), OsString::from("keep")];
    let mut state = PathBuf::new();
    let args = |dir: &Path| {
        state = dir.to_owned();
        vec!["-c".to_owned(), script.to_owned()]
    };
    let started = Piped::start("sh", Path::new(program), args, &supervisor, clock::monotonic_ns);
    match started {
        Ok(piped) => Ok((piped, state)),
        Err(error) => {
            assert!(!state.exists(), "it is left");
            Err(error.to_string())
        }
    }
}

#[test]
fn what_is_written_to_3_comes_back_from_4_and_nothing_stays() {
    let (mut echo, state) = start("/bin/sh", "cat <&3 >&4; echo the end >&2; exit 7").expect("it starts");
    echo.input.as_mut().expect("open").write_all(b"hello").expect("it reads");
    assert_eq!(echo.ended(), None);
    echo.input = None;
    let mut said = String::new();
    // To its end: nobody else holds the pipe open.
    echo.output.read_to_string(&mut said).expect("text");
    assert_eq!(said, "hello");
    assert_eq!(echo.ended_within(TIMEOUT_NS).as_deref(), Some("ended with exit code 7: the end"));
    assert!(state.exists());
    drop(echo);
    assert!(!state.exists());
}

#[test]
fn one_that_hangs_is_ended_with_what_it_has_started() {
    let script = "trap '' TERM; (setsid sleep 77 &); echo $$ >&4; while :; do sleep 77; done";
    let (mut hangs, state) = start("/bin/sh", script).expect("it starts");
    let mut number = Vec::new();
    while number.last() != Some(&b'\n') {
        let mut byte = [0];
        hangs.output.read_exact(&mut byte).expect("it is up");
        number.extend(byte);
    }
    let pid: i32 = String::from_utf8_lossy(&number).trim().parse().expect("a number");
    assert!(Process::new(pid).is_ok());
    drop(hangs);
    let works_there = |process: &Process| process.cwd().is_ok_and(|cwd| cwd.starts_with(&state));
    assert!(!all_processes().expect("/proc").flatten().any(|process| works_there(&process)), "somebody is left");
    assert!(Process::new(pid).is_err() && !state.exists());
}

#[test]
fn a_program_that_is_not_there_is_named_and_leaves_nothing() {
    let message = start("/no/such/browser", "").map(|_| ()).expect_err("there is none");
    assert!(message.contains("/no/such/browser") && message.contains("No such file"), "{message}");
}

/// It is no browser, and says nothing: plimsoll waits for it.
#[test]
fn a_browser_leaves_nothing_though_plimsoll_was_killed() {
    let folder = readable(&[("browser", "#!/bin/sh\nsetsid sleep 600 &\nexec sleep 600\n")]);
    let browser = folder.path().join("browser");
    set_permissions(&browser, Permissions::from_mode(0o755)).expect("our own file");
    let temp = format!("TMPDIR={}", folder.path().display());
    let words = [&temp, env!("CARGO_BIN_EXE_plimsoll"), "render", "http://127.0.0.1:9/", "--browser"];
    let words = words.map(OsString::from).into_iter().chain([browser.into_os_string()]);
    let started = Program::new("env", words).start();
    let base = folder.path().join(format!("plimsoll-{}", geteuid().as_raw()));
    let pid = || {
        let note = list(&base).into_iter().find(|path| path.extension().is_some_and(|kind| kind == "json"))?;
        let note: Value = serde_json::from_str(&read_to_string(note).ok()?).ok()?;
        note["services"][0][0]["pid"].as_i64()
    };
    let pid = wait_for(TIMEOUT, pid).expect("it is started") as i32;
    let session = || all_processes().expect("/proc").flatten().filter(|process| is_of(process, pid, &base)).count();
    wait_for(TIMEOUT, || (session() == 2).then_some(())).expect("it has started another");
    started.signal(Signal::KILL);
    started.end();
    wait_for(TIMEOUT, || (session() == 0 && list(&base).is_empty()).then_some(()))
        .unwrap_or_else(|| panic!("left: {} processes, {:?}", session(), list(&base)));
}

/// True of the browser and of all that works where it does.
fn is_of(process: &Process, pid: i32, base: &Path) -> bool {
    let is_alive = process.stat().is_ok_and(|stat| stat.state != 'Z');
    is_alive && (process.pid == pid || process.cwd().is_ok_and(|cwd| cwd.starts_with(base)))
}
