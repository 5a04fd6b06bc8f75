//! What is not there, cannot be seen or makes no sense: one line, and the code that is documented.

use super::Burner;
use crate::support::{ClosedPort, Nginx, Program, plimsoll};
use rustix::process::geteuid;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

/// Nobody has it.
const UID: &str = "54321";

#[track_caller]
fn fails(args: &[&str], code: i32, named: &[&str]) {
    plimsoll(["observe"].iter().chain(args)).run().fails(code, named);
}

#[test]
fn what_is_not_there_is_named() {
    let gone = Burner::start().pid().to_string();
    fails(&[&gone], 3, &[&gone, "no process", "runs on this machine"]);
    fails(&["no-such-name"], 3, &["no-such-name", "ps -A -o comm"]);
    fails(&["nginx under no-such-name"], 3, &["no process named \"nginx\" runs under no-such-name"]);
    fails(&["cgroup:/no/such"], 3, &["/no/such", "no control group"]);
    fails(&["unix:/no/such.sock"], 3, &["unix:/no/such.sock", "No such file"]);
    let closed = ClosedPort::bind();
    let address = &closed.address;
    let port = format!(":{}", address.rsplit_once(':').expect("a port").1);
    fails(&[&port], 3, &[&port, "nothing listens on TCP port"]);
    fails(&[address], 3, &[address, "no process in this network namespace listens"]);
    fails(&[&format!("http://{address}/x")], 3, &[address, "listens"]);
    fails(&["http://192.0.2.1/"], 3, &["http://192.0.2.1/", "not on this machine"]);
}

#[test]
fn what_makes_no_sense_is_named() {
    fails(&["0"], 2, &["\"0\"", "neither the name of a process nor its number"]);
    fails(&[":http"], 2, &[":http", "names no port"]);
    fails(&["cgroup:relative"], 2, &["cgroup:relative", "begins with /"]);
    fails(&["nginx under 0"], 2, &["nginx under 0", "NAME under NAME"]);
    fails(&["ftp://127.0.0.1/"], 2, &["ftp", "scheme"]);
    fails(&["--interval", "1ms"], 2, &["--interval", "1ms", "100ms"]);
    fails(&["--interval", "2h"], 2, &["--interval", "1h"]);
    fails(&["--duration", "0s"], 2, &["--duration", "0s"]);
}

#[test]
fn sockets_of_another_user_need_root_or_that_user() {
    let nginx = Nginx::start(&[("a", b"b")]);
    let home = tempfile::tempdir().expect("a directory");
    let program = home.path().join("plimsoll");
    std::fs::copy(env!("CARGO_BIN_EXE_plimsoll"), &program).expect("room for it");
    for path in [&program, home.path()] as [&std::path::Path; 2] {
        std::fs::set_permissions(path, Permissions::from_mode(0o755)).expect("our own file");
    }
    assert!(geteuid().is_root(), "only root can be somebody else; run the tests as root");
    let program = program.to_str().expect("UTF-8");
    let set = ["setpriv", "--reuid", UID, "--regid", UID, "--clear-groups", program, "observe"];
    let run = |args: &[&str]| Program::new("env", set.iter().chain(args)).run();
    let port = format!(":{}", nginx.port());
    run(&[&port]).fails(3, &["cannot be seen", "to its own user and to root only"]);
    // What everybody may see is seen: CPU and memory of any process, but not how much of it is shared.
    let burner = Burner::start();
    let ended = run(&[&burner.pid().to_string(), "--json", "-i", "100ms", "-d", "100ms"]);
    let group = super::last_group(&ended);
    assert!(group["rss_bytes"].as_u64() > Some(100_000) && group["pss_bytes"].is_null(), "{group:#}");
}
