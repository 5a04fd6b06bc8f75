//! A restart brings back what was there after provisioning.

use crate::data::{redis, sql};
use model::Step;
use stack::{Door, Options, Running, Spec};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn options() -> Options {
    let program = env!("CARGO_BIN_EXE_plimsoll");
    Options {
        keeper: vec![program.into(), "keep".into()],
        own_program: program.into(),
        now_ns: engine::clock::monotonic_ns,
        cpus: Vec::new(),
        patience_ns: 30_000_000_000,
        stop: Arc::new(AtomicBool::new(false)),
        keep_state: false,
    }
}

#[track_caller]
fn start(text: &str) -> (Running, PathBuf) {
    let spec = Spec::parse(text).expect("known");
    let running = Running::start(&spec, &options()).unwrap_or_else(|error| panic!("{text}: {error}"));
    let Some(Door::Socket { path }) = running.door().cloned() else { panic!("{text} has no socket") };
    (running, path)
}

fn names(running: &Running) -> Vec<String> {
    running
        .served()
        .steps
        .iter()
        .map(|Step { name, ns }| format!("{name}{}", if *ns > 0 { "" } else { " 0" }))
        .collect()
}

#[test]
fn what_was_written_to_mariadb_is_gone() {
    let (mut running, socket) = start("mariadb innodb_buffer_pool_size=32MiB");
    let first: Vec<i32> = running.processes().map(|(_, pid)| pid).collect();
    sql(&socket, "CREATE DATABASE shop");
    assert_eq!(sql(&socket, "SHOW DATABASES LIKE 'shop'"), "shop");
    running.restart().expect("it comes back");
    assert_eq!(sql(&socket, "SHOW DATABASES LIKE 'shop'"), "", "it was there before");
    assert_eq!(names(&running), ["mariadb-install-db", "start mariadb"], "the database was not made anew");
    assert!(running.processes().all(|(_, pid)| !first.contains(&pid)));
    let dir = running.dir().to_owned();
    running.check().expect("it runs");
    drop(running);
    assert!(!dir.exists());
}

/// With its file of changes: in memory alone they would be gone anyway.
#[test]
fn what_was_written_to_redis_is_gone() {
    let (mut running, socket) = start("redis appendonly=on");
    assert!(redis(&socket, "SET key value").starts_with("+OK"));
    running.restart().expect("it comes back");
    assert!(redis(&socket, "GET key").starts_with("$-1"));
    assert_eq!(names(&running), ["start redis"]);
}
