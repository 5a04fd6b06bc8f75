//! What a server is surrounded by: environment, wrapper and CPUs, as the kernel tells of its process.

use crate::support::Served;
use procfs::process::Process;
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
