//! What a comparison refuses, and what is kept of one that is ended: nothing here is about how fast something is.

use super::{FAST, ONE_BLOCK, SHORT, SLOW, compare};
use crate::support::{Target, mounting, plimsoll, text};
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;

/// What is written within this time is soon enough.
const SOON: Duration = Duration::from_secs(60);

#[test]
fn variants_that_do_not_answer_alike_are_refused_unless_that_is_wanted() {
    let target = Target::start(&[]);
    let (small, large) = (target.url("/bytes/100"), target.url("/bytes/1000"));
    compare(&[&[&small[..], &large], &SHORT[..]].concat())
        .fails(2, &["do not answer alike", "100 and 1000 bytes", "--allow-different-responses"]);
    let short = [&["--budget", "12s", "--allow-different-responses"][..], &ONE_BLOCK].concat();
    let ended = compare(&[&[&small[..], &large], &short[..]].concat());
    let record = ended.json();
    let rules: Vec<&str> = record["verdict"]["findings"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["rule"].as_str())
        .collect();
    assert!(rules.contains(&"CP-01"), "{rules:?}");
}

/// Each trial starts a server, and its configuration goes with it.
#[test]
fn servers_that_have_ended_with_their_files_have_not_changed() {
    let variants = ["--serve", "nginx", "--serve", "nginx workers=2", "--only=saturated", "--budget", "15s"];
    let ended = compare(&[&variants[..], &ONE_BLOCK].concat());
    // One block decides nothing, and disturbed it may not be believed.
    assert!([Some(4), Some(5)].contains(&ended.status.code()), "{ended:#?}");
    let record = ended.json();
    let changes = record["environment"]["changes"].as_array().expect("it was looked for changes");
    let of_programs = changes.iter().filter(|change| text(change, "section").starts_with("program/"));
    assert_eq!(of_programs.count(), 0, "{changes:#?}");
    let facts = record["environment"]["fingerprint"]["facts"].as_object().expect("a fingerprint");
    assert!(facts["program/nginx"].to_string().contains("nginx.conf"), "{facts:#?}");
}

#[test]
fn a_variant_that_never_gets_ready_or_ends_is_named() {
    let dead = ["--serve", FAST, "--serve", "command port=18431 -- /bin/false", "--name", "good", "--name", "dead"];
    compare(&[&dead[..], &SHORT].concat()).fails(3, &["'dead'"]);
}

#[test]
fn a_variant_that_dies_in_a_block_ends_it_and_what_was_measured_is_kept() {
    let (one, other) = (Target::start(&[]), Target::start(&[]));
    let urls = [one.url("/sleep?time=1ms"), other.url("/sleep?time=1ms")];
    let few = ["-d", "1s", "--warmup", "0s", "--blocks", "3", "--only", "saturated", "--no-observe", "--json", "-q"];
    let names = ["--name", "stays", "--name", "dies"];
    let started = plimsoll(["compare", &urls[0], &urls[1]].iter().copied().chain(few).chain(names)).start();
    // A block is measured.
    started.wait_for_sessions(SOON, "compared", 3);
    drop(other);
    let ended = started.end();
    let record = ended.exits(3).json();
    assert_eq!(text(&record, "ended"), "target_gone", "{record:#}");
    assert!(text(&record, "reason").contains("'dies'") && ended.stderr.contains("'dies'"), "{ended:#?}");
    assert_eq!((&record["blocks"][0]["counted"], &record["interrupted"]), (&Value::Bool(true), &Value::Bool(true)));
    assert_eq!(ended.recorded("run.json"), ended.stdout);
}

#[test]
fn a_disk_that_is_full_in_a_block_ends_it_and_whole_blocks_count() {
    // So many files have room: those of all, of two closed loops, of one block, and of the canary of the next.
    let inside = "mkdir d && mount -t tmpfs -o nr_inodes=28 none d
        \"$PLIMSOLL\" compare --serve target --serve target -d 1s --warmup 0s --blocks 3 --only saturated --no-observe --json -q -o d/out";
    let Some(program) = mounting(inside) else { return };
    let ended = program.run();
    let record = ended.exits(2).json();
    assert!(ended.stderr.contains("No space left"), "{ended:#?}");
    let blocks = record["blocks"].as_array().expect("a list");
    let counted = blocks.iter().filter(|block| block["counted"] == true).count();
    assert_eq!((counted, &record["interrupted"]), (1, &Value::Bool(true)), "{record:#}");
}

#[test]
fn two_servers_at_once_are_refused_where_that_says_nothing() {
    let two = ["--serve", "target", "--serve", "target pool=2"];
    let fails = |args: &[&str], named: &[&str]| {
        compare(&[&["--duet"], args].concat()).fails(2, &[&["--duet"], named].concat());
    };
    fails(&[&two[..], &["--serve", "target pool=3"]].concat(), &["one variant, not for 3"]);
    fails(&[&two[..], &["--only", "saturated"]].concat(), &["fixed load"]);
    fails(&[&two[..], &["--observe", "mariadbd"]].concat(), &["--observe", "share a database"]);
    fails(&[&two[..], &["--status", "http://127.0.0.1:1/"]].concat(), &["--status", "share a database"]);
    fails(&[&two[..], &["--cpus", "0"]].concat(), &["leave out --cpus"]);
    fails(&["--serve", "target cpus=0", "--serve", "target"], &["leave out cpus=", "target cpus=0"]);
    fails(&["--serve", "target port=18432", "--serve", "target pool=2 port=18432"], &["listen on port 18432"]);
}

#[test]
fn an_interrupt_keeps_the_whole_blocks() {
    let args = ["compare", "--serve", FAST, "--serve", SLOW, "-d", "1s", "--warmup", "0s", "--json", "-q"];
    let started = plimsoll(args).start();
    // More than a block is measured.
    started.wait_for_sessions(SOON, "compared", 7);
    started.signal(Signal::INT);
    let ended = started.end();
    let record = ended.exits(130).json();
    assert_eq!((text(&record, "ended"), &record["interrupted"]), ("interrupted", &Value::Bool(true)));
    assert!(record["blocks"][0]["values"].as_object().is_some_and(|arms| arms.len() == 2), "{record:#}");
    assert_eq!(ended.recorded("run.json"), ended.stdout);
}
