//! Who belongs to the server is told by what it does, and by no name.

use crate::support::{Findings, Kind, Program, Server, Site, Target, installed, number, plimsoll, skip, text};
use serde_json::Value;
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// What programs behind a server are often called, and others that are no part of it by their name.
const NAMES: [&str; 10] =
    ["python3", "node", "java", "php-fpm8.2", "ruby", "mariadbd", "nginx", "postgres", "sh", "plimsoll"];

/// A process that keeps a CPU busy, and is killed when dropped.
struct Hog(Child);

impl Hog {
    /// By the name of `program`, a link to the shell.
    fn start(program: &Path) -> Self {
        symlink("/bin/sh", program).expect("a link");
        Self(Command::new(program).args(["-c", "while :; do :; done"]).spawn().expect("a shell"))
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The names of the other processes.
fn others(record: &Value) -> Vec<&str> {
    let processes = record["observed"]["others"]["processes"].as_array().expect("a list");
    processes.iter().map(|process| text(process, "name")).collect()
}

/// A real-time hog named python3 beside a load was taken to work for the server: VALID, and 1,664/s of 2,000/s.
#[test]
fn programs_that_use_the_cpus_are_strangers_whatever_they_are_called() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let target = Target::start(&["--workers", "1"]);
    let hogs = NAMES.map(|name| Hog::start(&directory.path().join(name)));
    let args = ["run", &target.url("/cpu?us=500"), "-c", "4", "-d", "3s", "--warmup", "1s", "--json", "-q"];
    let record = plimsoll(args).run().json();
    drop(hogs);
    let told = others(&record);
    // Ten are named, and some other program of this machine may have used more than one of them.
    let named = NAMES.iter().filter(|name| told.contains(*name)).count();
    assert!(named >= NAMES.len() - 3, "{told:?}");
    assert!(record["observed"]["companions"].as_object().is_none_or(serde_json::Map::is_empty), "{record:#}");
    let taken = &record["disturbance"]["taken"];
    assert!(number(taken, "other_programs") > 0.1, "{taken:#}");
    let (state, message) = Findings(&record).of("EN-03");
    assert!(["warning", "bound", "invalid"].contains(&state), "{state}: {message}");
}

/// nginx opens a connection for each request, and only under load.
#[test]
fn a_backend_is_followed_by_its_sockets_and_a_program_beside_it_is_not() {
    installed("nginx", "nginx");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| -> PathBuf { directory.path().join(name) };
    symlink(env!("CARGO_BIN_EXE_plimsoll"), path("node")).expect("a link");
    let backend = Target::start_as(&path("node"), &["--workers", "1"]);
    let directives = format!("location /cpu {{ proxy_pass http://{}; }}", backend.address());
    let nginx = Server::start(Kind::Nginx, Site { nginx_directives: &directives, ..Site::of(&[]) });
    let _hog = Hog::start(&path("python3"));
    let args = ["run", &nginx.url("/cpu?us=2000"), "-c", "4", "-d", "3s", "--warmup", "2s", "--json", "-q"];
    let record = plimsoll(args).run().json();
    let companions = &record["observed"]["companions"];
    let node = &companions["node"];
    assert!(number(node, "cpu_ns_per_request") > 1.5e6, "each burns 2 ms: {companions:#}");
    assert_eq!(companions.as_object().map(serde_json::Map::len), Some(1), "{companions:#}");
    // All of it is the server's, and not that of the front alone.
    assert!(number(&record, "server_cpu_ns_per_request.value") > 1.5e6, "{:#}", record["server_cpu_ns_per_request"]);
    let told = others(&record);
    assert!(told.contains(&"python3") && !told.contains(&"node"), "{told:?}");
}

/// A user without root who measured a server of root had it told as a disturbance of itself for the whole window, and VALID.
#[test]
fn the_server_of_another_user_is_no_stranger_to_its_own_load() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can run a server and be another user");
    }
    installed("nginx", "nginx");
    let program = installed("setpriv", "util-linux");
    let nginx = Server::start(Kind::Nginx, Site { nginx_workers: 1, ..Site::of(&[("small", &[b'.'; 64])]) });
    let directory = tempfile::tempdir().expect("a temporary directory");
    let results = directory.path().join("results");
    std::fs::create_dir(&results).expect("our own directory");
    for path in [directory.path(), &results] {
        set_permissions(path, Permissions::from_mode(0o777)).expect("our own directory");
    }
    // The binary may be where that user cannot go.
    let binary = directory.path().join("measure");
    std::fs::copy(env!("CARGO_BIN_EXE_plimsoll"), &binary).expect("room for a copy");
    let user = "--reuid=1234 --regid=1234 --clear-groups --".split(' ').map(str::to_owned);
    let out = results.join("run").display().to_string();
    let url = nginx.url("/small");
    let load = ["run", &url, "-c", "8", "-d", "3s", "--warmup", "1s", "-o", &out].map(str::to_owned);
    let ended = Program::new(program, user.chain([binary.display().to_string()]).chain(load)).run();
    let record = std::fs::read_to_string(results.join("run/run.json"));
    let record: Value =
        serde_json::from_str(&record.unwrap_or_else(|error| panic!("{error}: {}", ended.stderr))).expect("JSON");
    assert!(
        ended.stderr.contains("nginx is taken to be the server, as that is what it calls itself"),
        "{}",
        ended.stderr
    );
    assert_eq!(text(&record["observed"]["server"]["processes"][0], "name"), "nginx");
    assert!(number(&record, "server_cpu_ns_per_request.value") > 1_000.0);
    let told = others(&record);
    assert!(!told.contains(&"nginx"), "{told:?}");
}
