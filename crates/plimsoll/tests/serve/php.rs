//! php-fpm behind nginx and Apache.

use crate::program::plimsoll;
use crate::shared::exchange;
use crate::support::{Served, kill};
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use tempfile::TempDir;

/// A site of one page that anybody may read.
fn site(page: &str) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("index.php"), page).expect("a file");
    std::fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).expect("our own directory");
    directory
}

/// What the pool says of itself.
#[track_caller]
fn status(served: &Served) -> Value {
    let answer = served.get("/fpm-status?json&full", "");
    serde_json::from_slice(&answer.body).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
}

/// The longest request that a process of the pool remembers, in µs.
fn longest_us(status: &Value) -> Option<u64> {
    status["processes"].as_array()?.iter().filter_map(|process| process["request duration"].as_u64()).max()
}

#[test]
fn both_fronts_serve_the_generated_page_over_both_sockets() {
    for (front, socket) in [("nginx", "tcp"), ("apache", "unix"), ("apache", "tcp")] {
        let (front, socket) = (format!("front={front}"), format!("socket={socket}"));
        let args =
            ["php-fpm", "--set", &front, "--set", &socket, "--file-size", "3000", "--tls", "on", "--set", "children=3"];
        let served = Served::start(&args);
        let answer = served.get("/", "");
        assert_eq!((answer.status, answer.body.len()), (200, 3000), "{args:?}");
        // Apache believes no length that a process behind it names.
        assert_eq!(answer.header("content-length"), (front == "front=nginx").then_some("3000"), "{args:?}");
        assert_eq!(served.get("/index.txt", "").body, answer.body, "{args:?}");
        let status = status(&served);
        assert_eq!((&status["process manager"], &status["total processes"]), (&"static".into(), &3.into()), "{status}");
        let ended = served.stop();
        let is_open = ended.stderr.contains("any user of this machine can run PHP as ");
        assert_eq!(is_open, socket == "socket=tcp", "{ended:?}");
    }
}

#[test]
fn a_page_takes_the_time_it_was_given() {
    let args = ["php-fpm", "--set", "pm=dynamic", "--set", "children=4", "--set", "sleep=30ms", "--set", "burn=20ms"];
    let served = Served::start(&args);
    let status = status(&served);
    assert_eq!(status["process manager"], "dynamic");
    // php-fpm counts what it does itself; sleeping shorter and using less is not possible.
    assert!(longest_us(&status) >= Some(50_000), "{status}");
    served.stop();
}

#[test]
fn a_site_of_the_users_own_is_served_with_its_port() {
    let page = "<?php echo $_SERVER['HTTP_HOST'], ' ', $_SERVER['REQUEST_URI'], ' ', (int) (opcache_get_status(false)['opcache_enabled'] ?? 0);";
    let site = site(page);
    let root = site.path().to_str().expect("UTF-8");
    for (front, opcache, enabled) in [("front=nginx", "opcache=on", 1), ("front=apache", "opcache=off", 0)] {
        let served =
            Served::start(&["php-fpm", "--root", root, "--set", front, "--set", opcache, "--set", "pm=ondemand"]);
        let request = "GET /no/such/file?x=1 HTTP/1.1\r\nHost: site.example:81\r\nConnection: close\r\n\r\n";
        let body = String::from_utf8(exchange(&served.endpoint(), request.as_bytes()).body).expect("text");
        assert_eq!(body, format!("site.example:81 /no/such/file?x=1 {enabled}"), "{front}");
        served.stop();
    }
}

#[test]
fn a_site_that_fails_is_named() {
    let site = site("<?php this is not PHP");
    let root = site.path().to_str().expect("UTF-8");
    let ended = plimsoll(["serve", "php-fpm", "--root", root, "--timeout", "1s"]).run();
    ended.fails(3, &["nginx", "is not ready after 1 s", "answers 500"]);
    let contradiction = plimsoll(["serve", "php-fpm", "--root", root, "--set", "sleep=1ms"]).run();
    contradiction.fails(2, &["sleep and burn are of the generated page"]);
}

#[test]
fn a_configuration_that_is_wrong_is_shown_with_its_line() {
    let program =
        plimsoll(["serve", "php-fpm", "--config", "own.conf"]).with_file("own.conf", b"[global]\nno_such = 1\n");
    program.run().fails(3, &["php-fpm ended with exit code", "own.conf:2", "no_such"]);
}

#[test]
fn a_pool_that_dies_is_an_error() {
    let served = Served::start(&["php-fpm"]);
    kill(served.services()[0].1);
    let ended = served.ends(3);
    assert!(ended.stderr.starts_with("plimsoll: php-fpm was ended by SIGKILL"), "{ended:?}");
}
