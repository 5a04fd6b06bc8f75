//! What stops a server when it is behind its workers: a database without connections to spare, a disk.

use crate::limits::{limited, run_first};
use crate::support::{Findings, decide, installed, number, serve, text};
use serde_json::Value;
use stack::{Endpoint, Spec};
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use tempfile::TempDir;

/// A directory with one page, where anybody may write.
fn site(page: impl FnOnce(&str) -> String) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().to_str().expect("UTF-8").to_owned();
    std::fs::write(directory.path().join("index.php"), page(&path)).expect("a file");
    set_permissions(directory.path(), Permissions::from_mode(0o777)).expect("our own directory");
    directory
}

/// 10 connections, fewer than which MariaDB does not take, that are held for 100 ms each by 24 workers: 100/s.
#[test]
fn a_database_without_connections_to_spare_is_named_with_what_more_would_buy() {
    installed("/usr/lib/php/20220829/mysqli.so", "php8.2-mysql");
    let database = serve(&Spec::parse("mariadb user=nobody max_connections=10").expect("it is known"));
    let Some(Endpoint::Socket { path }) = database.endpoint() else { panic!("{:?}", database.endpoint()) };
    let socket = path.display().to_string();
    let site = site(|_| {
        format!(
            "<?php mysqli_report(MYSQLI_REPORT_OFF); \
             while (!($db = @mysqli_connect(null, 'root', '', null, null, '{socket}'))) usleep(50000); \
             echo mysqli_query($db, 'SELECT SLEEP(0.1)')->num_rows;"
        )
    });
    let php = format!("php-fpm children=24 user=nobody root={}", site.path().display());
    let status = format!("mysql+unix://{socket}");
    let args = ["--serve", &php, "-c", "30", "--status", &status, "-d", "2200ms"];
    decide(
        || limited(run_first(&args)),
        |(record, limiter)| {
            assert_eq!(text(limiter, "name"), "connection-limited", "{limiter:#}");
            assert_eq!(text(limiter, "resource"), "max_connections of the database");
            assert!(text(limiter, "says").contains(" of 10 are in use on average, and "), "{limiter:#}");
            assert_eq!(number(limiter, "evidence.connections_limit"), 10.0);
            assert!((60.0..=130.0).contains(&number(limiter, "ceiling_per_s")), "10 in 100 ms: {limiter:#}");
            let prediction = &limiter["prediction"];
            assert_eq!((text(prediction, "setting"), number(prediction, "to")), ("max_connections", 20.0));
            let bought = number(prediction, "expected_per_s") / number(limiter, "ceiling_per_s");
            assert!((1.5..=2.01).contains(&bought), "{bought} times: {limiter:#}");
            let (state, message) = Findings(record).of("SV-06");
            assert_eq!((state, message.contains("of 10 in use (max_connections)")), ("invalid", true), "{message}");
        },
    );
}

/// Two workers that wait for every write to reach the disk: either they are too few for it, or it is all in use.
#[test]
fn workers_that_wait_for_a_disk_are_told_to() {
    let site = site(|path| {
        format!(
            "<?php $f = fopen('{path}/' . getmypid(), 'w'); \
             for ($i = 0; $i < 8; $i++) {{ fwrite($f, str_repeat('x', 4096)); fflush($f); fsync($f); }} echo 'ok';"
        )
    });
    let php = format!("php-fpm children=2 root={}", site.path().display());
    let args = ["--serve", &php, "-c", "8", "-d", "1200ms"];
    decide(
        || limited(run_first(&args)),
        |(record, limiter)| {
            let name = text(limiter, "name");
            assert!(["disk-limited", "worker-pool-limited"].contains(&name), "{limiter:#}");
            let pools = record["observed"]["pools"].as_array().expect("a list");
            let pool =
                pools.iter().find(|pool| pool["program"].as_str().is_some_and(|name| name.starts_with("php-fpm")));
            let pool = pool.unwrap_or_else(|| panic!("no pool of php-fpm: {pools:#?}"));
            let blocked = pool["blocked"].as_object().expect("shares").values().filter_map(Value::as_f64).sum::<f64>();
            let disk = ["disk", "fsync", "fdatasync"]
                .map(|on| pool["blocked"][on].as_f64().unwrap_or(0.0))
                .iter()
                .sum::<f64>();
            assert!(blocked > 0.0 && disk >= 0.7 * blocked, "{pool:#}");
            let says = text(limiter, "says");
            match name {
                "disk-limited" => assert!(says.contains("some process waited for it"), "{says}"),
                // With other programs on the CPUs they wait for one of these as well.
                _ => {
                    assert_eq!(
                        says.contains("waiting on a disk"),
                        disk >= 0.5 * number(pool, "occupancy"),
                        "{says}: {pool:#}"
                    )
                }
            }
        },
    );
}
