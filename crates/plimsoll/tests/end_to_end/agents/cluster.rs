//! Agents of Kubernetes as far as no cluster is needed: `cargo xtask kubernetes` has one.

use crate::support::{plimsoll, wait_for};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use super::SOON;

/// The fingerprint of a coordinator's certificate that nobody has.
const NOBODY: &str = "039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81";

/// A port that nobody has.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}

#[test]
fn an_agent_that_waits_prints_its_fingerprint_and_refuses_whoever_is_not_its_coordinator() {
    let port = free_port();
    let agent = plimsoll(["agent", "--listen", &port.to_string(), "--coordinator", NOBODY, "--wait", "5s"]).start();
    let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok();
    let mut stranger = wait_for(SOON, connect).expect("it listens");
    stranger.set_read_timeout(Some(SOON)).expect("a timeout");
    stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("it is open");
    let end = stranger.read_to_end(&mut Vec::new()).map_or_else(|error| error.kind(), |_| ErrorKind::ConnectionReset);
    assert_eq!(end, ErrorKind::ConnectionReset, "the agent ends the connection");
    assert!(connect().is_some(), "its coordinator may still come");
    let ended = agent.end();
    let said = &ended.exits(2).stderr;
    let announced = "the certificate of this agent has the SHA-256 fingerprint ";
    assert!(said.lines().next().is_some_and(|line| line.starts_with(announced)), "{ended:#?}");
    assert!(said.contains(&format!("port {port} of 127.0.0.1: no coordinator came within 5s")), "{ended:#?}");
}

#[test]
fn an_agent_whose_port_is_taken_says_so() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let ended = plimsoll(["agent", "--listen", &port, "--coordinator", NOBODY]).run();
    ended.fails(2, &[&format!("port {port} of 127.0.0.1"), "in use"]);
}

/// Whoever connected first had the rights of the agent's user.
#[test]
fn a_port_without_the_fingerprint_of_a_coordinator_is_refused() {
    let refused = |args: &[&str], named: &[&str]| {
        let ended = plimsoll(["agent"].iter().chain(args).copied()).run();
        let said = &ended.exits(2).stderr;
        assert!(named.iter().all(|part| said.contains(part)), "{named:?}: {ended:#?}");
    };
    refused(&["--listen", "1"], &["--coordinator"]);
    refused(&["--coordinator", NOBODY], &["--listen"]);
    refused(&["--listen", "1", "--coordinator", &NOBODY[1..]], &["--coordinator", "64 hexadecimal digits"]);
    refused(&["--listen", "1", "--coordinator", NOBODY, "--connect", "127.0.0.1:1"], &["--listen", "--connect"]);
    refused(
        &["--manifest", "k8s://load?replicas=1", "--listen", "1", "--coordinator", NOBODY],
        &["--manifest", "--listen"],
    );
}

#[test]
fn what_no_cluster_can_be_asked_for_is_refused_before_anything_is_started() {
    let run = |args: &[&str]| plimsoll(["run", "http://192.0.2.1/", "--client"].iter().chain(args).copied()).run();
    run(&["k8s://load"]).fails(2, &["--client k8s://load", "replicas", "k8s://NAMESPACE?replicas=2"]);
    run(&["k8s://load?replicas=2,ssh://a"]).fails(2, &["k8s://NAMESPACE?replicas=N goes alone"]);
    run(&["k8s://load?replicas=2", "--srun", "srun"]).fails(2, &["--srun", "slurm://N"]);
    run(&["k8s://load?replicas=2", "--agents-listen", "127.0.0.1:0"]).fails(2, &["--agents-listen", "connect://N"]);
    run(&["k8s://load?replicas=2&patch=/nowhere/pods.yaml"]).fails(2, &["patch /nowhere/pods.yaml", "No such file"]);
    plimsoll(["agent", "--manifest", "k8s://load"]).run().fails(2, &["--manifest k8s://load", "replicas"]);
    plimsoll(["agent", "--manifest", "ssh://load"]).run().fails(2, &["--manifest ssh://load is no address"]);
}

#[test]
#[cfg(not(feature = "kubernetes"))]
fn a_build_without_kubernetes_says_so() {
    let target = crate::support::Target::start(&[]);
    let ended = plimsoll(["run", &target.url("/"), "--client", "k8s://load?replicas=1"]).run();
    ended.fails(2, &["needs a plimsoll with Kubernetes", "--features kubernetes"]);
    plimsoll(["agent", "--manifest", "k8s://load?replicas=1"]).run().fails(2, &["needs a plimsoll with Kubernetes"]);
}

#[test]
#[cfg(feature = "kubernetes")]
fn the_manifest_is_printed_without_a_cluster_and_a_patch_is_in_it() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("my pods.yaml");
    std::fs::write(&path, "kind: Pod\nspec: {nodeSelector: {pool: load}}\n").expect("our own file");
    let address = format!("k8s://load?replicas=2&patch={}", path.display().to_string().replace(' ', "%20"));
    let printed = plimsoll(["agent", "--manifest", &address, "--wait", "5s"]).with_env("KUBECONFIG", "/nowhere").run();
    let manifest = &printed.exits(0).stdout;
    for line in ["kind: Job", "  namespace: load", "        pool: load", "        - 5s"] {
        assert!(manifest.lines().any(|found| found == line), "{line}: {manifest}");
    }
    std::fs::write(&path, "kind: Pod\nspec: {nodeSelecter: {pool: load}}\n").expect("our own file");
    let refused = plimsoll(["run", "http://192.0.2.1/", "--client", &address]).run();
    refused.fails(2, &["my pods.yaml: spec.nodeSelecter is no field"]);
}
