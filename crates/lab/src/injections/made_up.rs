//! Self-test of each rule: the fault in its mutated evidence, in words. The evidence is `judge`'s, which judges it as it does
//! measured evidence.

use judge::SelfTest;
use model::FindingState;

use super::Row;

/// Rules and their faults, in the order of the catalogue.
pub(super) static ALL: &[(&str, &str)] = &[
    // Load generator.
    ("CL-01", "load thread 95 % busy in one second"),
    ("CL-03", "send delay 2.1 ms of 4 ms response time (p99)"),
    ("CL-05", "10 % of the schedule not sent, send delay 50 ms"),
    ("CL-06", "1,006 of 10,000 connections open"),
    ("CL-07", "12,000 connects without a local port"),
    ("CL-08", "8 % steal on the client's CPU"),
    ("CL-09", "load thread 31 % in run-queue wait"),
    ("CL-10", "40 periods throttled by CFS, 2 s in all"),
    ("CL-11", "20,000 segments dropped from the receive queue"),
    ("CL-14", "1,000 of a million requests never sent"),
    ("CL-15", "connection wait 40 ms (p99)"),
    ("CL-16", "240 major page faults"),
    ("CL-17", "20,000 TLS handshakes for a million requests"),
    ("CL-18", "one of two agents lost after two thirds of the window"),
    ("CL-19", "median response times of 80 µs at one agent and 21 ms at another"),
    // Answers.
    ("ER-01", "5 % unanswered"),
    ("ER-02", "every response a 302 to /home"),
    ("ER-03", "2,000 bodies of another size"),
    ("ER-04", "at 8 connections a third fail, in 0.1 ms"),
    ("ER-05", "2 % unanswered at the timeout"),
    ("ER-06", "a sixth of the bytes that the probe got"),
    ("ER-07", "the server counted 700,000 of a million requests"),
    ("ER-08", "300,000 responses 429"),
    ("ER-09", "connection per request"),
    ("ER-10", "gzip of 300 of 1,024 bytes for clients that take it"),
    ("ER-11", "`X-Cache: HIT` in the probe's response"),
    ("ER-12", "20 ns of server CPU per request"),
    ("ER-13", "POST, and server CPU that doubles in the window"),
    ("ER-14", "half the bytes at the third load level"),
    ("ER-15", "no response in the second half"),
    ("ER-16", "half of the compared bodies are others than the probe's"),
    ("ER-17", "14 of 78 connections reset before any response"),
    // Load and statistics.
    ("LD-01", "Poisson schedule sent in bursts of 8"),
    ("LD-02", "closed loop with corrected p99 1.1 s"),
    ("LD-03", "closed loop"),
    ("LD-04", "10 s and 3,000 requests"),
    ("LD-05", "4 distinct values up to p99"),
    ("LD-06", "repeatedly ten requests sent at one instant"),
    ("LD-07", "one URL"),
    ("LD-08", "client and server share two CPUs, 97 % busy"),
    ("ST-01", "warm-up without steady state"),
    ("ST-02", "backlog that grows by 500 requests a second"),
    ("ST-03", "170/s, then 230/s at one load level"),
    ("ST-04", "iterations at 160/s and at 200/s in turn"),
    ("ST-05", "goodput that rises every second"),
    ("ST-06", "one run"),
    ("ST-07", "iteration of 140/s among five of 200/s"),
    // Saturation and physics.
    ("SA-01", "sweep that still rises at its end"),
    ("SA-02", "2,000/s sustained, 4,000/s not"),
    ("SA-03", "peak at the last load level"),
    ("SA-04", "80/s at 16 connections, 200/s at 2"),
    ("SA-05", "knee without a busy resource"),
    ("SA-06", "3,000/s sustained, 2,000/s not"),
    ("PH-01", "40 in flight of 64 connections"),
    ("PH-02", "1.6 CPUs used of one"),
    ("PH-03", "970 Mbit/s on a link of 1,000"),
    ("PH-04", "1,300/s at 8 connections, 10 ms at one"),
    ("PH-05", "response in 2 ms, connect in 20 ms"),
    ("PH-06", "processes with 60 % of the busy time"),
    ("PH-07", "264/s at one connection, 210/s at most with more"),
    ("PH-08", "clocksource hpet"),
    // Network and kernel.
    ("NE-01", "214 overflows of an accept queue of 8"),
    ("NE-02", "900 SYN cookies, 120 drops"),
    ("NE-03", "24,000 TCP retransmissions"),
    ("NE-04", "300 TCP timeouts, 300 responses after 1.0 s"),
    ("NE-05", "90,000 delayed ACKs and responses after 40 ms"),
    ("NE-06", "1,200 packets dropped by the backlog, and as many retransmissions"),
    ("NE-07", "2,000 packets dropped by the interface, and 1,700 retransmissions"),
    ("NE-08", "40 resets"),
    ("NE-09", "64,000 of 65,536 tracked connections"),
    ("NE-10", "31,000 zero receive windows"),
    ("NE-11", "one CPU 97 % in softirq"),
    ("NE-12", "970,000 connections to an upstream for a million requests"),
    // Server, environment, profile.
    ("SV-01", "5 of 5 workers busy, 59 requests waiting"),
    ("SV-02", "1,032 connections accepted, not handled"),
    ("SV-03", "nginx process ended"),
    ("SV-04", "throttled by CFS in 240 of 300 periods"),
    ("SV-05", "1,024 of 1,024 file descriptors"),
    ("SV-06", "812 connections refused by MariaDB"),
    ("SV-08", "40,000 pages swapped out"),
    ("SV-09", "9 of 30 s spent waiting for a disk"),
    ("EN-01", "7 % steal"),
    ("EN-02", "throttled 14 times by heat"),
    ("EN-03", "stress-ng on 0.6 CPUs"),
    ("EN-04", "goodput 30 % lower from second 18 on"),
    ("EN-05", "somaxconn 4096, then 128"),
    ("EN-06", "nginx.conf with another hash"),
    ("PR-01", "profiled at 99 Hz"),
];

/// Judges the fault made up for a rule, and the same without it.
pub(super) fn row(rule: &'static &'static str, fault: &'static str) -> Row {
    let mut row = Row { times: 1, clean_times: 1, ..Row::new(std::slice::from_ref(rule), fault) };
    let Some(SelfTest { fault, clean }) = judge::self_test(rule) else {
        row.remark = Some("judge has no fault for it".to_owned());
        return row;
    };
    row.fired = u32::from(fault.findings.iter().any(|finding| finding.rule == *rule));
    let is_silent = clean.findings.iter().all(|finding| finding.rule != *rule);
    row.silent = u32::from(is_silent && clean.unchecked.iter().all(|id| id != rule));
    let grave = fault.findings.iter().filter(|finding| finding.state > FindingState::Note && finding.rule != *rule);
    row.others = grave.map(|finding| finding.rule.clone()).collect();
    row
}
