//! A restart brings back what was there after provisioning.

use crate::data::{redis, sql};
use crate::shared::{Endpoint, address, exchange, serve};
use model::Step;
use stack::{Running, Spec};
use std::path::PathBuf;

#[track_caller]
fn start(text: &str) -> (Running, PathBuf) {
    let running = serve(&Spec::parse(text).expect("known"));
    let Some(stack::Endpoint::Socket { path }) = running.endpoint().cloned() else { panic!("{text} has no socket") };
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

/// Several processes, with sockets between them and a port that has to be free again.
#[test]
fn php_fpm_comes_back_at_its_old_address() {
    let mut running = serve(&Spec::parse("php-fpm file-size=10").expect("known"));
    let endpoint = Endpoint::plain(address(&running));
    running.restart().expect("it comes back");
    let answer = exchange(&endpoint, b"GET / HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
    assert_eq!((answer.status, answer.body.len()), (200, 10));
    assert_eq!(names(&running), ["start php-fpm", "start nginx"]);
    running.check().expect("all of it runs");
}
