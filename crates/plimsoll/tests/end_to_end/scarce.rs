//! Memory, processes and descriptors that are scarce: what cannot be had is told in one line, and nothing panics.

use crate::support::{Ended, Program, Target, installed, shell};
use rustix::process::geteuid;

/// What the program may need at most to say that it has not enough; the memory of a process, KiB.
const MEMORY_KIB: std::ops::RangeInclusive<u32> = 16_000..=128_000;
const MEMORY_STEP_KIB: usize = 2_000;
/// Exit code of a program that the kernel or the dynamic allocator ended: memory that Rust itself asks for and does not get.
const ABORTED: i32 = 134;
/// Nobody else's, so that only processes of the test count.
const UID: &str = "64123";

/// One clear line and exit code 2, unless there was enough.
#[track_caller]
fn is_told(ended: &Ended, limit: &str) -> bool {
    let said = &ended.stderr;
    for sign in ["panicked", "stack backtrace", "RUST_BACKTRACE"] {
        assert!(!said.contains(sign), "{limit}: {ended:#?}");
    }
    match ended.status.code() {
        Some(0 | 4) => true,
        // 3 is the end of the server, which is a process of its own.
        Some(2 | 3) => {
            let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("plimsoll: ")).collect();
            assert_eq!(lines.len(), 1, "{limit}: {ended:#?}");
            false
        }
        // A shell says 134 of a program that was aborted; Rust's allocations end so.
        Some(ABORTED) => {
            assert!(said.contains("memory allocation of"), "{limit}: {ended:#?}");
            false
        }
        code => panic!("{limit}: exit code {code:?} of {ended:#?}"),
    }
}

/// It panicked for want of a thread, and for want of memory to compress its log in the middle of a load.
#[test]
fn with_little_memory_it_says_so_in_one_line_and_panics_nowhere() {
    let mut outcomes = Vec::new();
    for kib in MEMORY_KIB.step_by(MEMORY_STEP_KIB) {
        // With less the system does not even load the program.
        if !shell(&format!("ulimit -v {kib}; exec \"$PLIMSOLL\" --version")).run().status.success() {
            continue;
        }
        // A process that a signal ended has a code of the shell.
        let script = format!("(ulimit -v {kib}; \"$PLIMSOLL\" run -c 1 -n 5 -t 1 --warmup 0s -q); exit $?");
        outcomes.push(is_told(&shell(&script).run(), &format!("{kib} KiB")));
    }
    // glibc reserves more for the threads of a program that may have more, so that the last may be refused again.
    assert!(outcomes.first() == Some(&false) && outcomes.contains(&true), "{outcomes:?}");
}

#[test]
fn without_processes_it_says_so_in_one_line_and_panics_nowhere() {
    let setpriv = installed("setpriv", "util-linux");
    let (target, is_root) = (Target::start(&[]), geteuid().is_root());
    let (url, page) = (target.url("/"), target.url("/stats"));
    let mut outcomes = Vec::new();
    for processes in 1..=12 {
        // Another user has to reach the binary, which may lie in a directory of root's.
        let script = format!(
            "cp \"$PLIMSOLL\" plimsoll && chmod 755 plimsoll && chmod 777 . && prlimit --nproc={processes} $AS \
             ./plimsoll run '{url}' --status '{page}' -c 1 -n 5 -t 1 --warmup 0s -q"
        );
        let user = format!("{} --reuid={UID} --regid={UID} --clear-groups", setpriv.display());
        // The limit does not hold for root.
        let program = Program::new("bash", ["-c", &script]).with_env("AS", if is_root { &user } else { "" });
        outcomes.push(is_told(&program.run(), &format!("{processes} processes")));
    }
    assert!(outcomes.first() == Some(&false) && outcomes.last() == Some(&true), "{outcomes:?}");
}

#[test]
fn advice_about_descriptors_names_no_load_without_connections() {
    let target = Target::start(&[]);
    let url = target.url("/");
    for limit in [6, 12, 24, 64] {
        let script = format!("ulimit -n {limit}; exec \"$PLIMSOLL\" run '{url}' -c 1 -n 5 -t 1 --warmup 0s -q");
        let ended = shell(&script).run();
        assert!(!is_told(&ended, &format!("{limit} descriptors")), "{ended:#?}");
        assert!(!ended.stderr.contains("at most 0"), "{}", ended.stderr);
    }
    let script = format!("ulimit -n 64; exec \"$PLIMSOLL\" run '{url}' -c 16");
    shell(&script).run().fails(2, &["16 connections need 8", "hard limit is 64", "ulimit -Hn 8"]);
}

/// A limit of the size of files ended it by a signal, without a word and without its result.
#[test]
fn a_limit_of_the_size_of_files_takes_no_result_away() {
    let target = Target::start(&[]);
    let url = target.url("/");
    let script =
        format!("ulimit -f 8; exec \"$PLIMSOLL\" run '{url}' -c 1 -d 5s -t 1 --warmup 0s -q --json -o out >/dev/null");
    let ended = shell(&script).run();
    assert!(matches!(ended.status.code(), Some(0 | 4)), "{ended:#?}");
    assert!(ended.stderr.contains("File too large") && ended.stderr.contains("the run goes on"), "{ended:#?}");
}
