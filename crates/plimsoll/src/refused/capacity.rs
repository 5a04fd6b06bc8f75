//! `plimsoll capacity`: wrong goals and ranges.

use super::{NOWHERE, fails};

/// `plimsoll capacity NOWHERE ARGS` is a usage error whose line has all of `named`.
#[track_caller]
fn refused(args: &[&str], named: &[&str]) {
    fails(&["capacity", NOWHERE], args, named);
}

#[test]
fn goals_that_are_none_are_named_with_what_was_meant() {
    refused(&["--goal", "p99<"], &["--goal", "p99<", "500ms"]);
    refused(&["--goal", "erors<1%"], &["--goal", "erors<1%", "did you mean errors?"]);
    refused(&["--goal", "latency<1s"], &["--goal", "latency<1s", "p50, p95, p99.9"]);
    refused(&["--goal", "errors<0.1"], &["--goal", "in percent", "errors<0.1%"]);
    refused(&["--goal", ""], &["--goal", "p99<100ms"]);
    refused(&["--goal", "p99<100"], &["--goal", "p99<100", "with its unit, such as 100ms or 100s"]);
}

#[test]
fn goals_that_contradict_themselves_or_a_flag_are_refused() {
    refused(&["--goal", "p99<100ms,p99<50ms"], &["--goal", "p99<100ms", "p99<50ms", "same quantity"]);
    refused(&["--goal", "p50<100ms,p99<50ms"], &["--goal", "p50<100ms", "p99<50ms"]);
    refused(&["--goal", "p99>100ms"], &["--goal", "from above", "p99<100ms"]);
    refused(&["--goal", "p99<6s"], &["--goal", "p99<6s", "--timeout 5s"]);
    refused(&["--goal", "rss<1GiB", "--no-observe"], &["--goal", "rss<1GiB", "--no-observe"]);
    refused(&["--goal", "errors<5%", "--width", "2%"], &["--width 2%", "5.0 %"]);
}

#[test]
fn ranges_and_times_out_of_range_are_named() {
    refused(&["--from", "2k", "--to", "1k"], &["--from 2,000/s", "--to 1,000/s"]);
    refused(&["--from", "0"], &["--from", "0"]);
    refused(&["--to", "fast"], &["--to", "fast"]);
    refused(&["--width", "80%"], &["--width", "80%", "0.5%"]);
    refused(&["--budget", "1s"], &["--budget 1s", "10s"]);
    refused(&["--budget", "12s"], &["--budget 12s", "two trials"]);
    refused(&["-d", "1s"], &["--duration 1s", "4s"]);
    refused(&["--pipeline", "4"], &["--pipeline 4"]);
    refused(&["--restart"], &["--restart", "[URL]"]);
    refused(&["-c", "0"], &["--connections", "0"]);
}
