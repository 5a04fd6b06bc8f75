//! `plimsoll run`: a URL, flags and files that make no sense.

use super::{NOWHERE, fails};

/// `plimsoll run NOWHERE ARGS` is a usage error whose line has all of `named`.
#[track_caller]
fn refused(args: &[&str], named: &[&str]) {
    fails(&["run", NOWHERE], args, named);
}

#[test]
fn tls_flags_are_for_https_and_need_a_certificate_file() {
    refused(&["-k"], &["--insecure", "https://", NOWHERE]);
    refused(&["--no-resumption"], &["--no-resumption", "https://"]);
    refused(&["--ca-cert", "/nowhere/at-all"], &["--ca-cert", "https://"]);
    refused(&["--tls"], &["--tls", "built-in target", "https:// in the URL"]);
    let refused = |args: &[&str], named: &[&str]| {
        fails(&["run", "https://127.0.0.1:1/"], args, named);
    };
    refused(&["--ca-cert", "/nowhere/at-all"], &["--ca-cert", "/nowhere/at-all", "No such file"]);
    refused(&["--ca-cert", "/dev/null"], &["--ca-cert", "/dev/null", "no certificate"]);
    refused(&["--ca-cert", "/dev/null", "-k"], &["--ca-cert", "--insecure"]);
}

#[test]
fn url_that_is_none_is_named() {
    for url in ["ftp://127.0.0.1/", "http://", "http://a b/", "http://127.0.0.1:99999/", "http://127.0.0.1:0/", ""] {
        fails(&["run"], &[url], &[url, "cannot be measured"]);
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
