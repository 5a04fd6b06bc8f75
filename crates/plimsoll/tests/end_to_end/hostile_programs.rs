//! Program files and lists of functions that somebody has written who wants to harm whoever profiles: they take their own names
//! away, and nothing else.
//!
//! Sampling needs root, or kernel.perf_event_paranoid=0: a refusal fails these tests.

use crate::support::{Program, Started, Target, count, installed, plimsoll, text, wait_for};
use lab::misleading::Misleading;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::Signal;
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// How long is waited at most for what comes within seconds on an idle machine.
const LONG: Duration = Duration::from_secs(60);
/// Executes code of its own making, whose functions a list could name.
const OWN_CODE: &str = "import ctypes,mmap
m=mmap.mmap(-1,4096,prot=7)
m.write(bytes.fromhex('48ffcf75fbc3'))
f=ctypes.CFUNCTYPE(None,ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(m)))
while True: f(10**8)";
/// CPU time after which it has come to its own code; ticks of 10 ms.
const STARTED_TICKS: u64 = 50;

/// The program of plimsoll, whose built-in server anybody may start, with a file that misleads.
fn misleading(how: Misleading<'_>) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a directory");
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("it is ours");
    let path = folder.path().join("server");
    let program = std::fs::read(env!("CARGO_BIN_EXE_plimsoll")).expect("it is built");
    std::fs::write(&path, how.make(&program)).expect("there is room");
    std::fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("it is ours");
    (folder, path)
}

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o666), 0).expect("a pipe");
    std::fs::set_permissions(path, Permissions::from_mode(0o666)).expect("it is ours");
}

/// The hints of a profile in one line.
fn hints(record: &Value) -> String {
    record["profile"]["hints"].to_string()
}

#[test]
fn a_program_file_that_ends_its_reader_takes_no_result_away() {
    let (_folder, server) = misleading(Misleading::Size);
    let target = Target::start_as(&server, &["--workers", "1"]);
    // Both ends have much to do, so that both are sampled.
    let url = target.url("/");
    let ended =
        plimsoll(["run", &url, "-c", "8", "-d", "2s", "--warmup", "0s", "--profile", "-o", "out", "--json"]).run();
    let record = ended.measured().json();
    assert!(count(&record, "requests.good") > 0 && count(&record, "profile.samples") > 10, "{record:#}");
    assert!(hints(&record).contains("was ended by signal 6"), "{record:#}");
    // Whose files are no such files have names.
    let folded = ended.file("out/profile.folded");
    assert!(folded.contains("_[k]") && folded.contains("[server]") && !folded.contains("Worker::burn"), "{folded}");
    assert!(folded.lines().any(|line| line.starts_with("load_generator;") && line.contains("engine::")), "{folded}");
    assert!(!ended.path("out/profile.samples").exists());
}

/// A profiled run of a server whose reader waits for a pipe.
fn run_that_waits(folder: &Path, target: &Target) -> Started {
    pipe(&folder.join("debug.pipe"));
    let url = target.url("/cpu?us=2000");
    plimsoll(["run", &url, "-c", "2", "-d", "1s", "--warmup", "0s", "--profile", "-q", "-o", "out"]).start()
}

#[test]
fn a_result_is_on_the_disk_before_names_are_looked_up() {
    let (folder, server) = misleading(Misleading::Elsewhere("debug.pipe"));
    let target = Target::start_as(&server, &["--workers", "1"]);
    let mut run = run_that_waits(folder.path(), &target);
    let result = run.directory().join("out/run.json");
    wait_for(LONG, || result.exists().then_some(())).expect("the result without names");
    assert!(!run.has_ended(), "it looks up names");
    // Nobody else may take the directory meanwhile.
    let out = run.directory().join("out");
    plimsoll(["report".as_ref(), "--recover".as_ref(), out.as_os_str()]).run().fails(2, &["has not ended"]);
    run.signal(Signal::KILL);
    let ended = run.end();
    let record: Value = serde_json::from_str(&ended.file("out/run.json")).expect("JSON");
    assert!(count(&record, "requests.good") > 0, "{record:#}");
    assert_eq!(text(&record, "profile_unavailable"), "it ended before it could be profiled");
    // The process that looks them up is gone with it.
    drop(target);
    std::fs::remove_file(folder.path().join("debug.pipe")).expect("it is ours");
    let recover = || plimsoll(["report".as_ref(), "--recover".as_ref(), out.as_os_str()]).run();
    wait_for(LONG, || (recover().status.code() != Some(2)).then_some(())).expect("it is recovered");
    let record: Value = serde_json::from_str(&ended.file("out/run.json")).expect("JSON");
    assert!(count(&record, "profile.samples") > 10, "{record:#}");
    recover().fails(2, &["it is complete"]);
}

#[test]
fn a_program_file_that_holds_its_reader_up_ends_no_run_late() {
    let (folder, server) = misleading(Misleading::Elsewhere("debug.pipe"));
    let target = Target::start_as(&server, &["--workers", "1"]);
    let mut run = run_that_waits(folder.path(), &target);
    // The reader has half a minute for a file.
    wait_for(Duration::from_secs(150), || run.has_ended().then_some(())).expect("it ends");
    let ended = run.end();
    let record: Value = serde_json::from_str(&ended.measured().file("out/run.json")).expect("JSON");
    assert!(hints(&record).contains("took longer than 30 s") && record["interrupted"] == false, "{record:#}");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_pipe_or_a_file_of_another_user_in_place_of_a_list_of_functions_holds_nobody_up() {
    let python = installed("python3", "python3");
    let burner = Program::new(python, ["-c", OWN_CODE]).start();
    let pid = burner.pid().to_string();
    let list = PathBuf::from(format!("/tmp/perf-{pid}.map"));
    wait_for(LONG, || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        (stat.split(' ').nth(13)?.parse::<u64>().ok()? > STARTED_TICKS).then_some(())
    })
    .expect("it burns");
    let profiled = |arguments: &[&str]| {
        let ended =
            plimsoll(["profile", "--pid", &pid, "-d", "1s", "-o", "out", "--json"].iter().chain(arguments)).run();
        (ended.exits(0).json(), ended.file("out/profile.folded"))
    };
    pipe(&list);
    let (of_pipe, _) = profiled(&[]);
    std::fs::remove_file(&list).expect("it is ours");
    std::fs::write(&list, "0 ffffffffffff whole_world\n").expect("there is room");
    let (of_own, folded) = profiled(&[]);
    std::os::unix::fs::chown(&list, Some(54_321), None).expect("root gives it away");
    let (of_other, others) = profiled(&[]);
    std::fs::remove_file(&list).expect("it is root's");
    drop(burner);
    assert!(hints(&of_pipe).contains("is not read: it is no regular file"), "{of_pipe:#}");
    assert!(folded.contains("whole_world_[j]"), "{of_own:#} {folded}");
    assert!(hints(&of_other).contains("is not read: it belongs to user 54321"), "{of_other:#}");
    assert!(others.contains("[generated]") && !others.contains("whole_world"), "{others}");
}
