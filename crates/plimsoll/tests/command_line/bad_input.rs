//! What is typed wrong, as it is printed, and files and limits of this machine: exit code 2 and a line that names the thing.

use crate::support::{Target, plimsoll, shell, wait_for};
use crate::support::{count, text};

/// A URL nothing listens behind; it must not get that far.
const NOWHERE: &str = "http://127.0.0.1:1/";

/// `plimsoll run NOWHERE ARGS` is a usage error whose line has all of `named`.
#[track_caller]
fn refused(args: &[&str], named: &[&str]) {
    plimsoll(["run", NOWHERE].iter().chain(args)).run().fails(2, named);
}

#[test]
fn arrivals_need_a_rate() {
    let ended = plimsoll(["run", NOWHERE, "--arrivals", "constant"]).run();
    ended.fails(2, &["required"]);
    assert!(ended.stderr.contains("--rate"), "{ended:#?}");
}

#[test]
fn typing_errors_get_a_suggestion() {
    let ended = plimsoll(["run", NOWHERE, "--conections", "3"]).run();
    ended.fails(2, &["--conections"]);
    assert!(ended.stderr.contains("--connections"), "{ended:#?}");
    let ended = plimsoll(["swep", NOWHERE]).run();
    ended.fails(2, &["swep"]);
    assert!(ended.stderr.contains("sweep"), "{ended:#?}");
}

#[test]
fn a_url_in_the_place_of_a_verb_gets_the_verb() {
    let ended = plimsoll(["127.0.0.1:1/x"]).run();
    ended.fails(2, &["127.0.0.1:1/x"]);
    assert!(ended.stderr.contains("did you mean: plimsoll run http://127.0.0.1:1/x"), "{ended:#?}");
}

#[test]
fn flags_of_other_tools_are_refused_with_what_to_write_here() {
    let ended = plimsoll(["run", NOWHERE, "--concurrency", "3"]).run();
    ended.fails(2, &["--concurrency"]);
    assert!(ended.stderr.contains("-c N for N connections"), "{ended:#?}");
    assert!(!ended.stderr.contains("as a value"), "{ended:#?}");
}

/// Each verb with something that it refuses itself, and with something that the argument parser does; what else they refuse is
/// in `src/refused`.
#[test]
fn whatever_is_refused_is_one_line_or_has_a_hint() {
    for (verb, own, parsed) in [
        (&["run", NOWHERE][..], &["-c", "0"][..], &["-c", "many"][..]),
        (&["sweep", NOWHERE], &["--points", "0"], &["--over", "moon"]),
        (&["capacity", NOWHERE], &["--budget", "1s"], &["--to", "fast"]),
        (&["compare", NOWHERE, NOWHERE], &["--blocks", "0"], &["--only", "moon"]),
        (&["render", NOWHERE], &["--timeout", "10ms"], &["--blocks", "many"]),
        (&["target"], &["--workers", "0"], &["--growth", "soon"]),
        (&["experiment"], &["/nowhere/at-all"], &["--timeout"]),
        (&["report"], &["/nowhere/at-all"], &["--format", "tea"]),
    ] {
        for (args, end) in [(own, "\n"), (parsed, "\n\nFor more information, try '--help'.\n")] {
            let ended = plimsoll(verb.iter().chain(args)).run();
            ended.fails(2, args);
            assert!(ended.stderr.ends_with(end), "{ended:#?}");
        }
    }
}

#[test]
fn target_settings_that_the_server_refuses_are_named() {
    let refused = |args: &[&str], named: &[&str]| {
        plimsoll(["target"].iter().chain(args)).run().fails(2, named);
    };
    refused(&["--stall", "2s/1s"], &["stall"]);
    refused(&["--ramp", "50ms/0s"], &["ramp"]);
    refused(&["--limit", "0/5"], &["limit"]);
    refused(&["--first-byte", "61s"], &["60 s"]);
    refused(&["--error-share", "1.5"], &["error"]);
    refused(&["--error-share", "nan"], &["error"]);
    refused(&["--listen", "unix:/dev/null"], &["unix:/dev/null", "no socket", "--listen"]);
    refused(&["--tls", "--cert", "/dev/null", "--key", "/dev/null"], &["--cert", "no certificate"]);
    refused(&["--listen", "192.0.2.1:0"], &["192.0.2.1", "--listen"]);
    refused(&["--log", "/dev/null/x"], &["/dev/null/x"]);
    refused(&["--cpus", "4000"], &["4000"]);
}

#[test]
fn port_in_use_is_named() {
    let holder = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = holder.local_addr().unwrap().to_string();
    plimsoll(["target", "--listen", &address]).run().fails(2, &[&address, "in use", "--listen"]);
}

#[test]
fn output_folder_that_cannot_be_written_is_named() {
    let target = Target::start(&[]);
    let url = target.url("/");
    for path in ["/dev/null/x", "/proc/plimsoll"] {
        plimsoll(["run", &url, "-d", "1s", "-o", path]).run().fails(2, &["--output", path]);
        plimsoll(["sweep", &url, "-d", "1s", "-o", path]).run().fails(2, &["--output", path]);
    }
    assert_eq!(target.seen().1, 4 * 4, "nothing but the probe has asked for anything");
}

#[test]
fn output_folder_with_a_result_is_left_alone() {
    let target = Target::start(&[]);
    let program = plimsoll(["run", &target.url("/"), "-d", "1s", "-o", "."]).with_file("run.json", b"precious");
    let ended = program.run();
    ended.fails(2, &["--output", "result in it already"]);
    assert_eq!(ended.file("run.json"), "precious");
}

#[test]
fn events_of_a_run_that_did_not_end_are_left_alone() {
    let target = Target::start(&[]);
    let url = target.url("/");
    for verb in ["run", "sweep"] {
        let program = plimsoll([verb, &url, "-d", "1s", "-o", "."]).with_file("events.jsonl", b"precious");
        let ended = program.run();
        ended.fails(2, &["--output", "did not end", "plimsoll report --recover ."]);
        assert_eq!(ended.file("events.jsonl"), "precious");
    }
}

#[test]
fn files_without_an_end_are_refused_at_their_limit() {
    refused(&["-m", "POST", "-b", "@/dev/zero"], &["--body", "/dev/zero", "more than 67108864 bytes"]);
    let program = plimsoll(["run", "--urls", "list"]).with_file("list", b"POST http://127.0.0.1:1/ @/etc/shadow\n");
    program.run().fails(2, &["--urls list", "line 1", "/etc/shadow", "names nothing outside"]);
    let refused = |args: &[&str], named: &[&str]| {
        plimsoll(["run", "https://127.0.0.1:1/"].iter().chain(args)).run().fails(2, named);
    };
    refused(&["--ca-cert", "/dev/zero"], &["--ca-cert", "/dev/zero", "more than 16777216 bytes"]);
}

#[test]
fn too_few_descriptors_are_named_with_their_number() {
    let script = format!("ulimit -Sn 80; ulimit -Hn 80; exec \"$PLIMSOLL\" run {NOWHERE} -c 500");
    shell(&script).run().fails(2, &["500 connections", "limit is 80", "ulimit -Hn 56"]);
}

#[test]
fn a_target_raises_its_limit_as_far_as_its_connections_need_or_says_why_not() {
    for (hard, soft, warns) in [(1000, "665", false), (300, "300", true)] {
        let script = format!("ulimit -Sn 100; ulimit -Hn {hard}; exec \"$PLIMSOLL\" target --max-connections 598");
        let started = shell(&script).start();
        let listens = wait_for(std::time::Duration::from_secs(10), || {
            std::fs::read_to_string(started.directory().join("stdout")).ok().filter(|said| said.ends_with('\n'))
        });
        assert!(listens.is_some());
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", started.pid())).expect("it runs");
        let files = limits.lines().find_map(|line| line.strip_prefix("Max open files")).expect("Linux");
        assert_eq!(files.split_whitespace().next(), Some(soft), "{limits}");
        started.signal(rustix::process::Signal::TERM);
        let ended = started.end();
        ended.exits(0);
        assert_eq!(ended.stderr.contains("--max-connections: 598 connections need 665"), warns, "{ended:#?}");
    }
}

#[test]
fn low_soft_limit_is_raised() {
    let target = Target::start(&[]);
    let script =
        format!("ulimit -Sn 80; exec \"$PLIMSOLL\" run '{}' -c 500 -d 1s --warmup 0s --json", target.url("/bytes/64"));
    let ended = shell(&script).run();
    let record = ended.exits(4).json();
    assert_eq!(count(&record, "connections.established"), 500);
    assert!(count(&record, "environment.nofile") >= 500, "{record:#}");
}

#[test]
fn too_few_ports_are_named_with_their_number() {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap();
    let ends: Vec<u64> = range.split_whitespace().map(|end| end.parse().unwrap()).collect();
    let ports = ends[1] - ends[0] + 1;
    let script = format!("ulimit -n 200000 2>/dev/null; exec \"$PLIMSOLL\" run {NOWHERE} -c {}", ports + 1);
    let ended = shell(&script).run();
    // Without the right to open that many files, that limit is met first.
    let named = if ended.stderr.contains("descriptors") { "ulimit -Hn" } else { "ip_local_port_range" };
    ended.fails(2, &[&format!("{} connections", ports + 1), named]);
}

#[test]
fn answer_404_needs_to_be_declared() {
    let target = Target::start(&[]);
    let url = target.url("/nothing-here");
    plimsoll(["run", &url, "-d", "1s"]).run().fails(3, &["404", "--expect status=404"]);
    let ended = plimsoll(["run", &url, "-d", "1s", "--warmup", "0s", "--expect", "status=404", "--json"]).run();
    let record = ended.exits(4).json();
    assert_eq!(text(&record, "format"), "plimsoll.run/1");
    assert_eq!(count(&record, "requests.good"), count(&record, "requests.planned"));
    assert_eq!(count(&record, "requests.status.404"), count(&record, "requests.planned"));
}
