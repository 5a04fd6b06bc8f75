//! However a server, its supervisor or plimsoll ends, nothing of it is left.

use crate::program::plimsoll;
use crate::support::{Served, children, kill};
use procfs::process::Process;
use rustix::process::Signal;
use std::time::Duration;

#[test]
fn a_signal_to_plimsoll_ends_all() {
    for signal in [Signal::INT, Signal::TERM] {
        let served = Served::start(&["nginx", "--workers", "2"]);
        served.plimsoll().signal(signal);
        served.ends(0);
    }
}

#[test]
fn a_server_that_dies_is_an_error() {
    for name in ["nginx", "apache", "lighttpd", "caddy"] {
        let served = Served::start(&[name]);
        kill(served.services()[0].1);
        let ended = served.ends(3);
        let said = format!("plimsoll: {name} was ended by SIGKILL");
        assert!(ended.stderr.starts_with(&said) && ended.stderr.lines().count() == 1, "{ended:?}");
    }
}

#[test]
fn a_server_behind_a_proxy_that_dies_is_one_too() {
    let served = Served::start(&["haproxy"]);
    kill(served.services()[0].1);
    assert!(served.ends(3).stderr.starts_with("plimsoll: nginx was ended by SIGKILL"));
}

#[test]
fn a_worker_that_dies_is_the_master_s_affair() {
    let served = Served::start(&["nginx"]);
    kill(children(served.services()[0].1)[0]);
    assert_eq!(served.get("/", "").status, 200);
    served.stop();
}

#[test]
fn plimsoll_may_be_killed() {
    for name in ["nginx", "apache", "haproxy", "varnish"] {
        let served = Served::start(&[name, "--workers", "2"]);
        let remains = served.remains();
        served.plimsoll().signal(Signal::KILL);
        remains.are_gone();
    }
}

#[test]
fn the_supervisor_may_be_killed() {
    let served = Served::start(&["apache", "--workers", "2"]);
    kill(served.supervisor());
    let ended = served.ends(3);
    assert!(ended.stderr.contains("lost its supervisor") && ended.stderr.lines().count() == 1, "{ended:?}");
}

/// It looked a hundred times a second whether its server still ran: 0.2 % of a core, and more, beside the server.
#[test]
fn the_supervisor_took_cpu_time_from_a_server_that_only_had_to_run_on() {
    let served = Served::start(&["nginx"]);
    let times_woken_up = || {
        let process = Process::new(served.supervisor()).expect("it runs");
        let threads = process.tasks().expect("its threads").flatten();
        threads.filter_map(|thread| thread.status().ok()?.voluntary_ctxt_switches).sum::<u64>()
    };
    let (before, begin_ns) = (times_woken_up(), clock::monotonic_ns());
    std::thread::sleep(Duration::from_secs(2));
    let rate_per_s = (times_woken_up() - before) as f64 * 1e9 / (clock::monotonic_ns() - begin_ns) as f64;
    assert!(rate_per_s < 20.0, "woken up {rate_per_s:.0} times a second");
}

#[test]
fn what_is_left_when_both_are_killed_goes_when_it_is_asked_for() {
    let served = Served::start(&["nginx", "--workers", "2"]);
    let (remains, state) = (served.remains(), served.state());
    let stopped = served.plimsoll();
    // Without its time to notice.
    stopped.signal(Signal::STOP);
    kill(served.supervisor());
    stopped.signal(Signal::KILL);
    remains.processes_are_gone();
    assert!(state.exists(), "nobody was there to remove it");
    let ended = plimsoll(["serve", "--clean"]).run();
    ended.exits(0);
    assert!(ended.stdout.contains(&state.display().to_string()), "{ended:?}");
    remains.are_gone();
}

/// The shell ignores the signal, and so does what it starts.
#[test]
fn a_server_that_does_not_want_to_end_is_killed_and_named() {
    let script = "trap '' TERM; \"$PLIMSOLL\" target --listen 127.0.0.1:$PORT & while :; do sleep 1; done";
    let served = Served::start(&["--", "sh", "-c", script]);
    assert_eq!(served.get("/zero?size=5", "").body, [0; 5]);
    let ended = served.stop();
    assert!(ended.stderr.contains("sh did not end when it was asked to, and was killed"), "{ended:?}");
}
