//! `--fail-if` and the files for CI: conditions that cannot be meant.

use super::{NOWHERE, fails};

/// `plimsoll VERB NOWHERE ARGS` is a usage error whose line has all of `named`.
#[track_caller]
fn refused(verb: &str, args: &[&str], named: &[&str]) {
    fails(&[verb, NOWHERE], args, named);
}

#[test]
fn conditions_that_cannot_be_meant_are_refused() {
    refused("run", &["--fail-if", "p99<100ms"], &["--fail-if", "p99<100ms", "write p99>100ms"]);
    refused("run", &["--fail-if", "goodput"], &["--fail-if", "has no < or >"]);
    refused("sweep", &["--fail-if", "godput<1"], &["--fail-if", "did you mean goodput?"]);
    refused("run", &["--fail-if", "goodput<-3%"], &["goodput<-3%", "--baseline"]);
    refused("run", &["--fail-if", "rss>1GiB", "--no-observe"], &["rss>1GiB", "--no-observe"]);
    refused("sweep", &["--fail-if", "capacity<1000"], &["capacity<1000", "try goodput"]);
    refused("capacity", &["--fail-if", "p99>1s"], &["p99>1s", "--goal"]);
    refused("run", &["--baseline", "nowhere", "--fail-if", "goodput<-3%"], &["nowhere", "no such directory"]);
    refused("run", &["--junit", "nowhere/x.xml"], &["cannot write nowhere/x.xml", "no such directory"]);
}
