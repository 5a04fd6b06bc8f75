//! `plimsoll render`, as far as it needs no browser: what is typed wrong, and programs that are none.

use crate::support::plimsoll;

/// A URL nothing listens behind; it must not get that far.
const NOWHERE: &str = "http://127.0.0.1:1/";

#[track_caller]
fn refused(args: &[&str], named: &[&str]) {
    plimsoll(["render"].iter().chain(args)).run().fails(2, named);
}

#[test]
fn what_is_typed_wrong_is_named() {
    refused(&[NOWHERE, NOWHERE, NOWHERE], &["unexpected value", "no more were expected"]);
    refused(&["ftp://127.0.0.1/"], &["ftp://127.0.0.1/", "cannot be measured"]);
    refused(&["fastcgi://127.0.0.1:9000/index.php"], &["render is for http:// and https:// URLs"]);
    refused(&[NOWHERE, "--blocks", "0"], &["--blocks", "0"]);
    refused(&[NOWHERE, "--blocks", "2k"], &["--blocks", "2000"]);
    refused(&[NOWHERE, "--timeout", "10ms"], &["--timeout 10ms is not between 1s and 10m"]);
    refused(&[NOWHERE, "--margin", "80%"], &["--margin", "80%"]);
    let ended = plimsoll(["render"]).run();
    assert_eq!(ended.status.code(), Some(2), "{ended:#?}");
}

#[test]
fn credentials_in_a_url_are_refused_and_not_repeated() {
    let ended = plimsoll(["render", "http://user:hunter2secret@127.0.0.1:1/"]).run();
    ended.fails(2, &["credentials"]);
    assert!(!ended.stderr.contains("hunter2secret"), "{ended:#?}");
}

#[test]
fn a_browser_that_is_not_there_or_none_is_told_in_one_line() {
    refused(&[NOWHERE, "--browser", "/no/such/browser"], &["/no/such/browser: there is no such program"]);
    refused(&[NOWHERE, "--browser", "false"], &["the browser ended with exit code 1"]);
    refused(&[NOWHERE, "--browser", "cat"], &["the browser ended with exit code 1", "--headless"]);
}
