//! `plimsoll sweep`: bounds that make no sense, and flags that it would ignore.

use super::{NOWHERE, fails};

/// `plimsoll sweep NOWHERE ARGS` is a usage error whose line has all of `named`.
#[track_caller]
fn refused(args: &[&str], named: &[&str]) {
    fails(&["sweep", NOWHERE], args, named);
}

#[test]
fn flags_that_a_sweep_would_ignore_are_refused() {
    refused(&["-c", "5"], &["--connections is for --over rate", "--to 5"]);
    refused(&["--arrivals", "constant"], &["--arrivals is for --over rate"]);
    refused(&["--spin", "1ms"], &["--spin is for open loops: add --over rate"]);
    refused(&["--restart"], &["--restart", "[URL]"]);
}

#[test]
fn sweep_bounds_that_make_no_sense_are_named() {
    refused(&["--from", "8", "--to", "2"], &["--from 8", "--to 2"]);
    refused(&["--points", "0"], &["--points"]);
    refused(&["--iterations", "0"], &["--iterations"]);
    refused(&["--from", "0"], &["--from"]);
    refused(&["-d", "0s"], &["--duration"]);
    refused(&["--over", "moon"], &["--over", "moon"]);
}
