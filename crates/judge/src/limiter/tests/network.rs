//! Links, loss, and accept queues.

use super::*;
use crate::testing::{probed_path, seen_there};

#[test]
fn a_full_link_is_the_network_unless_the_cpus_are_fuller() {
    let limited = |bytes, busy: f64| {
        named_after(|evidence| {
            count(evidence, "nic/eth0", "sent_bytes", bytes);
            seen(evidence).machine.as_mut().unwrap().busy_mean = busy;
            server(evidence).cpu_cores = 4.0 * busy;
        })
    };
    // 90 % of 1 Gbit/s for 30 s are 3.375 GB.
    assert_eq!(limited(3_380_000_000, 0.1), "network-limited");
    assert_eq!(limited(3_300_000_000, 0.1), UNKNOWN, "near, and not there");
    assert_eq!(limited(3_380_000_000, 0.97), "cpu-limited");
    assert_eq!(limited(3_700_000_000, 0.93), "network-limited", "99 % of it");
    // A faster link would gain 2 %.
    assert_eq!(limited(3_700_000_000, 0.97), "cpu-limited");
}

/// nginx whose one worker was 100 % busy with 10,000 connections: "network-limited (medium confidence): 0.13 % of the packets
/// were dropped by a network interface", of 2 retransmissions of 3.2 million segments.
#[test]
fn loss_limits_by_what_had_to_be_sent_again() {
    let with = |again, timeouts, dropped, busy| {
        let mut evidence = run();
        count(&mut evidence, "nic/eth0", "sent_bytes", 1_000_000_000);
        count(&mut evidence, "nic/eth0", "sent_dropped", dropped);
        count(&mut evidence, "tcp", "RetransSegs", again);
        count(&mut evidence, "tcp", "TCPLossProbes", 0);
        count(&mut evidence, "tcp", "TCPTimeouts", timeouts);
        server(&mut evidence).threads = vec![thread("nginx", 1, busy)];
        of(&evidence)
    };
    let busy = with(2, 0, 10_000, 0.9996);
    assert_eq!((busy.name.as_str(), busy.resource.as_str()), ("single-thread-limited", "thread nginx"), "{busy:#?}");
    assert_eq!(with(2, 0, 10_000, 0.5).name, NOT_SATURATED, "nobody missed what was dropped");
    let lossy = with(601, 0, 700, 0.5);
    assert_eq!(lossy.name, "network-limited");
    assert_eq!(lossy.says, "TCP retransmitted 1.0 % of the segments; eth0 dropped 700 packets");
    assert_eq!(with(601, 0, 700, 0.9996).name, "single-thread-limited", "a thread that is full loses them");
    // 20 connections for 30 s; 300 timeouts of 0.2 s are 60 s.
    let slow = with(300, 300, 300, 0.5);
    let says =
        "TCP retransmitted 0.50 % of the segments, and its timeouts took at least 10 % of the time of all connections";
    assert!(slow.name == "network-limited" && slow.says.starts_with(says), "{slow:#?}");
    assert_eq!(with(300, 299, 300, 0.5).name, NOT_SATURATED);
}

#[test]
fn a_probed_path_that_is_full_is_the_network_unless_the_cpus_are() {
    let limited = |share: f64, busy: f64| {
        let mut evidence = run();
        seen_there(&mut evidence);
        // As where agents generate the load.
        evidence.client_machine = Some(Observed::default());
        evidence.bandwidth = Some(probed_path(100_000_000));
        let machine = seen(&mut evidence).machine.as_mut().expect("it was observed");
        (machine.busy_mean, machine.cpu_busy_mean) = (busy, vec![busy; 4]);
        // In full frames.
        let bytes = share * 100e6 / 8.0 * SECONDS * 1514.0 / 1448.0;
        count(&mut evidence, "nic/eth0", "sent_bytes", bytes.round() as u64);
        of(&evidence)
    };
    let limiter = limited(0.96, 0.61);
    assert_eq!(
        limiter.says,
        "the path from the server carries 96.0 Mbit/s of the 100 Mbit/s that were probed (96 %) at 61 % server CPU"
    );
    assert_eq!((limiter.name.as_str(), limiter.resource.as_str()), ("network-limited", "path from the server"));
    assert!(limiter.confidence <= Confidence::Medium, "{limiter:#?}");
    assert_ne!(limited(0.85, 0.61).name, "network-limited", "near, and not there");
    assert_ne!(limited(0.96, 0.95).name, "network-limited", "the CPUs may have held up both");
    assert_ne!(limited(1.3, 0.61).name, "network-limited", "the probe was no bound");
}

#[test]
fn an_accept_queue_that_keeps_connections_out_is_named() {
    let overflown = |n| {
        let mut evidence = run();
        overflow(&mut evidence, n);
        of(&evidence)
    };
    let limiter = overflown(180);
    assert_eq!((limiter.name.as_str(), limiter.next.clone()), ("accept-backlog-limited", None), "{limiter:#?}");
    let says = "the accept queue (511 places) dropped 180 connection attempts between samples, each of which is repeated \
                after 1 s or longer: at least 30 % of the time of the load's connections";
    assert!(limiter.says.starts_with(says), "{}", limiter.says);
    assert_eq!(overflown(179).name, NOT_SATURATED, "a warning of NE-01");
    // The counters of the kernel are those of all servers.
    let of_all = |fullest| {
        named_after(|evidence| {
            count(evidence, "tcp", "ListenOverflows", 594);
            seen(evidence).sockets.as_mut().unwrap().accept_fullest_max = Some(fullest);
        })
    };
    assert_eq!((of_all(1.0).as_str(), of_all(0.9).as_str()), ("accept-backlog-limited", NOT_SATURATED));
    let full = named_after(|evidence| seen(evidence).sockets.as_mut().unwrap().accept_fullest_max = Some(1.0));
    assert_eq!(full, NOT_SATURATED, "it was full, and nobody was turned away");
}
