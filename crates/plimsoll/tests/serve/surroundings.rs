//! What a server is surrounded by: environment, wrapper and CPUs, as the kernel tells of its process.

use crate::program::Program;
use crate::support::Served;
use procfs::process::Process;
use rustix::process::geteuid;
use std::ffi::OsStr;

#[test]
fn environment_wrapper_and_cpus_reach_the_process() {
    let served =
        Served::start(&["target", "--env", "MARK=here", "--wrapper", "nice -n 7", "--cpus", "0", "--workers", "1"]);
    let (_, pid) = served.services()[0].clone();
    let process = Process::new(pid).expect("it runs");
    // `nice` has become the server by its exec.
    assert_eq!(process.exe().expect("a program"), std::path::Path::new(env!("CARGO_BIN_EXE_plimsoll")));
    assert_eq!(process.stat().expect("a line").nice, 7);
    let environment = process.environ().expect("it is ours");
    let value = |name: &str| environment.get(OsStr::new(name)).and_then(|value| value.to_str());
    assert_eq!(value("MARK"), Some("here"));
    assert!(value("PATH").is_some() && value("CARGO_MANIFEST_DIR").is_none(), "only what it was given");
    assert_eq!(process.status().expect("a page").cpus_allowed_list, Some(vec![(0, 0)]));
    served.stop();
}

#[test]
fn a_command_gets_no_credentials_and_not_the_rights_of_root() {
    let words = [
        "API_TOKEN=s3cret",
        "PLIMSOLL_MYSQL_PASSWORD=s3cret",
        "TZ=Europe/Berlin",
        env!("CARGO_BIN_EXE_plimsoll"),
        "serve",
        "--env",
        "MARK=here",
        "--",
        "sh",
        "-c",
        "exec \"$PLIMSOLL\" target --listen 127.0.0.1:$PORT",
    ];
    let served = Served::of(Program::new("env", words));
    let process = Process::new(served.services()[0].1).expect("it runs");
    let environment = process.environ().expect("it is ours");
    let value = |name: &str| environment.get(OsStr::new(name)).and_then(|value| value.to_str());
    assert_eq!((value("TZ"), value("MARK")), (Some("Europe/Berlin"), Some("here")));
    // The last are what a shell sets by itself.
    let own = ["MARK", "PWD", "OLDPWD", "SHLVL", "_"];
    let known = [&stack::PASSED_VARIABLES[..], &stack::SET_VARIABLES, &own].concat();
    for name in environment.keys() {
        assert!(known.iter().any(|known| name == OsStr::new(known)), "{name:?} has passed");
    }
    let uid = if geteuid().is_root() { 65_534 } else { geteuid().as_raw() };
    assert_eq!(process.uid().expect("it runs"), uid);
    served.stop();
}
