//! `plimsoll render`: wrong URLs and flags.

use super::{NOWHERE, fails};

/// `plimsoll render ARGS` is a usage error whose line has all of `named`.
#[track_caller]
fn refused(args: &[&str], named: &[&str]) {
    fails(&["render"], args, named);
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
    refused(&[], &[]);
}
