//! Redis, MariaDB, MySQL and the built-in target.

use crate::program::plimsoll;
use crate::shared::installed;
use crate::support::Served;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The socket that a server answers on.
pub(crate) fn socket(served: &Served) -> PathBuf {
    served.line["socket"].as_str().expect("a path").into()
}

/// The answer of Redis to one command.
#[track_caller]
pub(crate) fn redis(socket: &Path, command: &str) -> String {
    let mut stream = UnixStream::connect(socket).expect("it listens");
    write!(stream, "{command}\r\nQUIT\r\n").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers and closes");
    answer
}

/// The answer of MariaDB to one statement, without the name of its column.
#[track_caller]
pub(crate) fn sql(socket: &Path, statement: &str) -> String {
    let client = installed("mariadb", "mariadb-client-core");
    let mut command = Command::new(client);
    command.arg("--no-defaults").arg("--socket").arg(socket).args([
        "--user=root",
        "--skip-column-names",
        "-e",
        statement,
    ]);
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{statement}: {output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn redis_has_what_it_was_told() {
    let args = ["redis", "--set", "maxmemory=64MiB", "--set", "maxmemory-policy=allkeys-lru", "--set", "appendonly=on"];
    let served = Served::start(&args);
    let socket = socket(&served);
    assert!(redis(&socket, "CONFIG GET maxmemory").contains("67108864"));
    assert!(redis(&socket, "CONFIG GET maxmemory-policy").contains("allkeys-lru"));
    assert!(redis(&socket, "SET key value").starts_with("+OK"));
    assert!(redis(&socket, "GET key").contains("value"));
    served.stop();
}

#[test]
fn redis_shows_what_it_does_not_understand() {
    let program = plimsoll(["serve", "redis", "--config", "own.conf"]).with_file("own.conf", b"port 0\nno-such 1\n");
    program.run().fails(3, &["redis ended with exit code 1", "at line 2", "no-such 1"]);
}

#[test]
fn mariadb_has_what_it_was_told() {
    let args = ["mariadb", "--set", "max_connections=50", "--set", "innodb_buffer_pool_size=32MiB", "--backlog", "9"];
    let served = Served::start(&args);
    let said =
        sql(&socket(&served), "SELECT @@max_connections, @@innodb_buffer_pool_size, @@back_log, @@skip_networking");
    assert_eq!(said.split_whitespace().collect::<Vec<_>>(), ["50", "33554432", "9", "1"]);
    let steps: Vec<&str> =
        served.line["steps_ms"].as_array().expect("a list").iter().filter_map(|step| step["name"].as_str()).collect();
    assert_eq!(steps, ["mariadb-install-db", "start mariadb"]);
    served.stop();
}

#[test]
fn what_a_socket_cannot_have_is_refused() {
    for name in ["redis", "mariadb"] {
        plimsoll(["serve", name, "--port", "4000"]).run().fails(2, &[name, "Unix socket", "no port"]);
        plimsoll(["serve", name, "--tls", "on"]).run().fails(2, &[name, "has no setting tls; it has"]);
    }
}

/// Debian 12 has a `mysqld` that is MariaDB.
#[test]
fn mysql_runs_or_says_where_it_is_to_be_had() {
    let real = std::fs::canonicalize("/usr/sbin/mysqld");
    if real.is_ok_and(|path| !path.ends_with("mariadbd")) {
        let served = Served::start(&["mysql"]);
        assert_eq!(sql(&socket(&served), "SELECT 1"), "1");
        served.stop();
    } else {
        plimsoll(["serve", "mysql"]).run().fails(2, &["MySQL is not installed", "mysql-server-core", "--binary PATH"]);
    }
}

#[test]
fn the_built_in_target_takes_its_own_flags() {
    let served =
        Served::start(&["target", "--set", "pool=2", "--set", "pool-time=1ms", "--workers", "2", "--tls", "on"]);
    assert!(served.url().starts_with("https://") && served.url().ends_with("/pool"), "{}", served.url());
    assert_eq!(served.get("/pool", "").status, 200);
    served.stop();
    let broken = Served::start(&["target", "--set", "error-share=1", "--path", "/zero?size=10"]);
    assert!(broken.url().ends_with("/zero?size=10"));
    assert_eq!(broken.get("/zero?size=10", "").status, 500);
    broken.stop();
}

#[test]
fn the_built_in_target_says_what_it_cannot_take() {
    let run = |set: &str| plimsoll(["serve", "target", "--set", set]).run();
    run("error-share=2").fails(2, &["target: error_share has to be a share"]);
    run("stall=often").fails(2, &["--stall \"often\" is not LENGTH/PERIOD"]);
    run("pool-time=2ms").fails(2, &["add one, such as pool=4"]);
}
