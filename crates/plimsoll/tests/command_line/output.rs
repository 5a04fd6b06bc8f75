//! Where the result goes when pipes close and disks are full.

use crate::support::{Ended, Target, count, mounting, shell};

/// A short run of a fresh target; `$RUN` is the command, and the target lives as long as the script.
#[track_caller]
fn with_run(script: &str) -> Ended {
    let target = Target::start(&[]);
    shell(&of(&target, script)).run()
}

/// The script with the command in it.
fn of(target: &Target, script: &str) -> String {
    let run = format!("run '{}' -n 500 -c 2 --warmup 0s", target.url("/bytes/64"));
    script.replace("RUN", &format!("\"$PLIMSOLL\" {run}"))
}

#[test]
fn reader_that_wants_one_line_gets_it() {
    let ended = with_run("RUN --json | head -1; exit ${PIPESTATUS[0]}");
    assert_eq!(ended.measured().stdout, "{\n");
}

#[test]
fn reader_that_has_gone_changes_no_exit_code() {
    for script in ["RUN | true", "RUN --json | true", "RUN 2>&1 | true", "RUN 2>&-", "RUN >/dev/null 2>/dev/full"] {
        with_run(&format!("{script}; exit ${{PIPESTATUS[0]}}")).measured();
    }
}

#[test]
fn help_into_a_closed_pipe_is_no_error() {
    with_run("\"$PLIMSOLL\" run --help | true; exit ${PIPESTATUS[0]}").exits(0);
}

#[test]
fn stdout_that_takes_nothing_is_named() {
    let ended = with_run("RUN -q --json >/dev/full");
    ended.fails(2, &["cannot write to stdout", "No space left"]);
    assert_eq!(ended.recorded("run.json").lines().next(), Some("{"));
}

#[test]
fn full_disk_costs_the_record_and_not_the_result() {
    let target = Target::start(&[]);
    let fill = "mkdir d && mount -t tmpfs -o size=64k none d && head -c 60000 /dev/zero >d/ballast; RUN --json -q -o d";
    // Where no file system can be mounted a limit on the size of files stands for the disk.
    let limited = "(trap '' XFSZ; ulimit -f 1; RUN --json -q -o d) | cat; exit ${PIPESTATUS[0]}";
    let ended = mounting(&of(&target, fill)).unwrap_or_else(|| shell(&of(&target, limited))).run();
    let record = ended.measured().json();
    assert_eq!(count(&record, "requests.good"), 500);
    let warnings: Vec<&str> = ended.stderr.lines().collect();
    assert!(warnings.iter().all(|line| line.starts_with("warning: cannot write")), "{ended:#?}");
    assert!(warnings.iter().any(|line| line.contains("run.json") && line.contains("printed only")), "{ended:#?}");
}

#[test]
fn file_size_limit_is_a_full_disk_too() {
    let ended = with_run("(trap '' XFSZ; ulimit -f 1; RUN --json -q -o d) | cat; exit ${PIPESTATUS[0]}");
    let record = ended.measured().json();
    assert_eq!(count(&record, "requests.good"), 500);
    let warnings: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(warnings.len(), 2, "one for the events, one for the result: {ended:#?}");
    assert!(warnings[0].contains("cannot write to d") && warnings[0].contains("the run goes on"), "{ended:#?}");
    assert!(warnings[1].contains("d/run.json") && warnings[1].contains("printed only"), "{ended:#?}");
}
