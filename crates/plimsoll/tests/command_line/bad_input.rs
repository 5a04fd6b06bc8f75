//! What is typed wrong, and files and limits of this machine: exit code 2 and a line that names the thing.

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
fn tls_flags_are_for_https_and_need_a_certificate_file() {
    refused(&["-k"], &["--insecure", "https://", NOWHERE]);
    refused(&["--no-resumption"], &["--no-resumption", "https://"]);
    refused(&["--ca-cert", "/nowhere/at-all"], &["--ca-cert", "https://"]);
    refused(&["--tls"], &["--tls", "built-in target", "https:// in the URL"]);
    let refused = |args: &[&str], named: &[&str]| {
        plimsoll(["run", "https://127.0.0.1:1/"].iter().chain(args)).run().fails(2, named);
    };
    refused(&["--ca-cert", "/nowhere/at-all"], &["--ca-cert", "/nowhere/at-all", "No such file"]);
    refused(&["--ca-cert", "/dev/null"], &["--ca-cert", "/dev/null", "no certificate"]);
    refused(&["--ca-cert", "/dev/null", "-k"], &["--ca-cert", "--insecure"]);
}

#[test]
fn url_that_is_none_is_named() {
    for url in ["ftp://127.0.0.1/", "http://", "http://a b/", "http://127.0.0.1:99999/", "http://127.0.0.1:0/", ""] {
        plimsoll(["run", url]).run().fails(2, &[url, "cannot be measured"]);
    }
}

#[test]
fn counts_out_of_range_are_named() {
    refused(&["-c", "0"], &["--connections", "0"]);
    refused(&["-c", "2M"], &["--connections", "2000000"]);
    refused(&["-c", "-3"], &["-3"]);
    refused(&["-c", "many"], &["--connections", "many"]);
    refused(&["-t", "0"], &["--threads", "0"]);
    refused(&["-t", "5000"], &["--threads", "5000"]);
    refused(&["-n", "0"], &["--requests", "0"]);
    refused(&["-n", "1.5"], &["--requests", "1.5"]);
    refused(&["-n", "99999999999999999999"], &["--requests", "99999999999999999999"]);
    refused(&["--cpus", "4000"], &["--cpus", "4000"]);
}

#[test]
fn rates_out_of_range_are_named() {
    refused(&["-R", "0"], &["--rate", "0"]);
    refused(&["-R", "-5"], &["-5"]);
    refused(&["-R", "fast"], &["--rate", "fast"]);
    refused(&["-R", "100G"], &["--rate", "100000000000"]);
    refused(&["-R", "nan"], &["--rate", "nan"]);
}

#[test]
fn times_out_of_range_are_named() {
    refused(&["-d", "0s"], &["--duration", "0s"]);
    refused(&["-d", "-1s"], &["-1"]);
    refused(&["-d", "8000h"], &["--duration"]);
    refused(&["-d", "5 parsecs"], &["--duration", "parsecs"]);
    refused(&["--warmup", "8000h"], &["--warmup"]);
    refused(&["--warmup", "soon"], &["--warmup", "soon"]);
    refused(&["--timeout", "0s"], &["--timeout", "0s"]);
    refused(&["--timeout", "1ns"], &["--timeout", "1ns"]);
    refused(&["--timeout", "2h"], &["--timeout"]);
}

#[test]
fn duration_and_request_count_exclude_each_other() {
    refused(&["-d", "1s", "-n", "10"], &["--duration", "--requests"]);
}

#[test]
fn flags_that_a_run_would_ignore_are_refused() {
    refused(&["--spin", "1ms"], &["--spin is for open loops: add -R"]);
    refused(&["--spin", "0s", "-n", "10"], &["--spin is for open loops: add -R"]);
    refused(&["-n", "10", "--budget", "1m"], &["--budget", "--requests"]);
}

#[test]
fn flags_that_a_sweep_would_ignore_are_refused() {
    let refused = |args: &[&str], named: &[&str]| {
        plimsoll(["sweep", NOWHERE].iter().chain(args)).run().fails(2, named);
    };
    refused(&["-c", "5"], &["--connections is for --over rate", "--to 5"]);
    refused(&["--arrivals", "constant"], &["--arrivals is for --over rate"]);
    refused(&["--spin", "1ms"], &["--spin is for open loops: add --over rate"]);
    refused(&["--restart"], &["--restart", "[URL]"]);
}

#[test]
fn what_is_not_there_is_named_with_what_was_meant() {
    plimsoll(["report", "--recover", "/nowhere/at-all"])
        .run()
        .fails(2, &["/nowhere/at-all: there is no such directory"]);
    plimsoll(["experiment", "wordpress-laddr"]).run().fails(2, &["did you mean wordpress-ladder, which comes with"]);
}

#[test]
fn arrivals_need_a_rate() {
    let ended = plimsoll(["run", NOWHERE, "--arrivals", "constant"]).run();
    ended.fails(2, &["required"]);
    assert!(ended.stderr.contains("--rate"), "{ended:#?}");
}

#[test]
fn header_that_cannot_be_sent_is_named() {
    refused(&["-H", "nocolon"], &["--header", "nocolon", "no colon"]);
    refused(&["-H", "X Y: z"], &["--header", "X Y", "name"]);
    refused(&["-H", "X: a\r\nEvil: b"], &["--header", "Evil", "forbidden"]);
    refused(&["-H", "Content-Length: 7"], &["--header", "Content-Length"]);
}

#[test]
fn method_that_is_none_is_named() {
    refused(&["-m", "GE T"], &["--method", "GE T"]);
    refused(&["-m", ""], &["--method"]);
    refused(&["-m", "connect"], &["--method", "CONNECT"]);
}

#[test]
fn expectation_that_is_none_is_named() {
    for text in ["status", "status=99", "status=ok", "size=20..10", "size=-1", "colour=red", "body~", "hash,hash", ""] {
        refused(&["--expect", text], &["--expect", text]);
    }
}

#[test]
fn body_file_that_cannot_be_read_is_named() {
    refused(&["-m", "POST", "-b", "@/nowhere/at-all"], &["--body", "/nowhere/at-all", "No such file"]);
    refused(&["-m", "POST", "-b", "@/"], &["--body", "@/", "directory"]);
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
fn sweep_bounds_that_make_no_sense_are_named() {
    let refused = |args: &[&str], named: &[&str]| {
        plimsoll(["sweep", NOWHERE].iter().chain(args)).run().fails(2, named);
    };
    refused(&["--from", "8", "--to", "2"], &["--from 8", "--to 2"]);
    refused(&["--points", "0"], &["--points"]);
    refused(&["--iterations", "0"], &["--iterations"]);
    refused(&["--from", "0"], &["--from"]);
    refused(&["-d", "0s"], &["--duration"]);
    refused(&["--over", "moon"], &["--over", "moon"]);
}

#[test]
fn target_settings_that_make_no_sense_are_named() {
    let refused = |args: &[&str], named: &[&str]| {
        plimsoll(["target"].iter().chain(args)).run().fails(2, named);
    };
    refused(&["--stall", "2s/1s"], &["stall"]);
    refused(&["--stall", "often"], &["--stall", "often"]);
    refused(&["--fault", "reset"], &["--fault", "reset=0.01"]);
    refused(&["--fault", "explode=0.1"], &["--fault", "explode", "KIND is reset, half, drop or wrong-size"]);
    refused(&["--fault", "half=1.1"], &["--fault", "half=1.1", "the share is not between 0 and 1"]);
    refused(&["--ramp", "50ms"], &["--ramp", "50ms/10s"]);
    refused(&["--ramp", "50ms/0s"], &["ramp"]);
    refused(&["--limit", "0/5"], &["limit"]);
    refused(&["--limit", "often"], &["--limit", "often"]);
    refused(&["--first-byte", "61s"], &["60 s"]);
    refused(&["--body-rate", "0"], &["--body-rate"]);
    refused(&["--growth", "soon"], &["--growth", "soon"]);
    refused(&["--error-share", "1.5"], &["error"]);
    refused(&["--error-share", "nan"], &["error"]);
    refused(&["--workers", "0"], &["--workers"]);
    refused(&["--listen", "nowhere"], &["--listen", "nowhere", "unix:/"]);
    refused(&["--listen", "unix:/dev/null"], &["unix:/dev/null", "no socket", "--listen"]);
    refused(&["--tls", "--cert", "/nowhere/at-all", "--key", "/dev/null"], &["--cert", "/nowhere/at-all"]);
    refused(&["--tls", "--cert", "/dev/null", "--key", "/nowhere/at-all"], &["--key", "/nowhere/at-all"]);
    refused(&["--tls", "--cert", "/dev/null", "--key", "/dev/null"], &["--cert", "no certificate"]);
    refused(&["--tls", "--cert", "/dev/null"], &["required"]);
    refused(&["--cert", "/dev/null", "--key", "/dev/null"], &["required"]);
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
