//! Agents of Kubernetes as far as no cluster is needed: `cargo xtask kubernetes` has one.

use crate::support::{Program, mounting, plimsoll, skip, wait_for};
use std::io::Read;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};

use super::SOON;

/// `plimsoll agent` with these flags as in a pod, where root may wait for a coordinator without a token.
fn in_a_pod(args: &[&str]) -> Program {
    plimsoll(["agent"].iter().chain(args)).with_env("KUBERNETES_SERVICE_HOST", "192.0.2.1")
}

/// A port that nobody has.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

#[test]
fn an_agent_that_waits_on_its_loopback_serves_the_first_who_comes_and_ends_with_them() {
    let port = free_port();
    let agent = in_a_pod(&["--listen", &port.to_string()]).start();
    let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok();
    let mut first = wait_for(SOON, connect).expect("it listens");
    first.set_read_timeout(Some(SOON)).expect("a timeout");
    first.read_exact(&mut [0]).expect("an agent speaks first");
    assert!(connect().is_none(), "nobody else is let in");
    first.shutdown(Shutdown::Write).expect("it is open");
    first.read_to_end(&mut Vec::new()).expect("the agent ends it too");
    agent.end().exits(0);
}

#[test]
fn an_agent_for_whom_nobody_comes_ends() {
    let port = free_port().to_string();
    let ended = in_a_pod(&["--listen", &port, "--wait", "300ms"]).run();
    ended.fails(2, &[&format!("port {port} of 127.0.0.1"), "no coordinator came within 300ms"]);
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    in_a_pod(&["--listen", &port]).run().fails(2, &[&format!("port {port} of 127.0.0.1"), "in use"]);
    in_a_pod(&["--listen", &port, "--connect", "127.0.0.1:1"]).run().fails(2, &["--listen", "--connect"]);
}

/// Whoever connected first had the rights of root, with which the agent reads whatever the plan names.
#[test]
fn root_outside_a_container_does_not_wait_for_whoever_connects() {
    // The same machine without the marks of a container, if this is one.
    let script = r#"mount -t tmpfs none /mnt
        for d in /*; do
            if [ -L "$d" ]; then cp -d "$d" /mnt/
            elif [ -d "$d" ] && [ "$d" != /mnt ]; then mkdir "/mnt$d" && mount --rbind "$d" "/mnt$d"; fi
        done
        mount -t tmpfs none /mnt/run
        unset KUBERNETES_SERVICE_HOST
        exec chroot /mnt "$PLIMSOLL" agent --listen 1"#;
    let Some(program) = mounting(script) else {
        return skip("nothing may be mounted here");
    };
    program.run().fails(2, &["port 1 of 127.0.0.1", "the rights of root", "--connect", "token"]);
}

#[test]
fn what_no_cluster_can_be_asked_for_is_refused_before_anything_is_started() {
    let run = |args: &[&str]| plimsoll(["run", "http://192.0.2.1/", "--client"].iter().chain(args).copied()).run();
    run(&["k8s://load"]).fails(2, &["--client k8s://load", "replicas", "k8s://NAMESPACE?replicas=2"]);
    run(&["k8s://load?replicas=2,ssh://a"]).fails(2, &["k8s://NAMESPACE?replicas=N goes alone"]);
    run(&["k8s://load?replicas=2", "--srun", "srun"]).fails(2, &["--srun", "slurm://N"]);
    run(&["k8s://load?replicas=2", "--agents-listen", "127.0.0.1:0"]).fails(2, &["--agents-listen", "connect://N"]);
}

#[test]
#[cfg(not(feature = "kubernetes"))]
fn a_build_without_kubernetes_says_so() {
    let target = crate::support::Target::start(&[]);
    let ended = plimsoll(["run", &target.url("/"), "--client", "k8s://load?replicas=1"]).run();
    ended.fails(2, &["needs a plimsoll with Kubernetes", "--features kubernetes"]);
}
