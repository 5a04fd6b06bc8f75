//! `plimsoll target`: settings that make no sense. What the server itself refuses is in `tests/command_line`.

use super::fails;

/// `plimsoll target ARGS` is a usage error whose line has all of `named`.
#[track_caller]
fn refused(args: &[&str], named: &[&str]) {
    fails(&["target"], args, named);
}

#[test]
fn target_settings_that_make_no_sense_are_named() {
    refused(&["--stall", "often"], &["--stall", "often"]);
    refused(&["--fault", "reset"], &["--fault", "reset=0.01"]);
    refused(&["--fault", "explode=0.1"], &["--fault", "explode", "KIND is reset, half, drop or wrong-size"]);
    refused(&["--fault", "half=1.1"], &["--fault", "half=1.1", "the share is not between 0 and 1"]);
    refused(&["--ramp", "50ms"], &["--ramp", "50ms/10s"]);
    refused(&["--limit", "often"], &["--limit", "often"]);
    refused(&["--body-rate", "0"], &["--body-rate"]);
    refused(&["--growth", "soon"], &["--growth", "soon"]);
    refused(&["--workers", "0"], &["--workers"]);
    refused(&["--listen", "nowhere"], &["--listen", "nowhere", "unix:/"]);
    refused(&["--tls", "--cert", "/nowhere/at-all", "--key", "/dev/null"], &["--cert", "/nowhere/at-all"]);
    refused(&["--tls", "--cert", "/dev/null", "--key", "/nowhere/at-all"], &["--key", "/nowhere/at-all"]);
    refused(&["--tls", "--cert", "/dev/null"], &["required"]);
    refused(&["--cert", "/dev/null", "--key", "/dev/null"], &["required"]);
}
