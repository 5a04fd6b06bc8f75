//! One fault for each rule, made up: what is in it, in words. The fault itself is `judge`'s, which judges it as it does a
//! measured one.

use judge::SelfTest;
use model::FindingState;

use super::Row;

/// Rules and their faults, in the order of the catalogue.
pub(super) static ALL: &[(&str, &str)] = &[
    // Load generator.
    ("CL-01", "a load thread 95 % busy in one second"),
    ("CL-03", "sent 2.1 ms late at p99, of 4 ms response time"),
    ("CL-05", "a tenth of the schedule not sent, 50 ms late"),
    ("CL-06", "1,006 of 10,000 connections"),
    ("CL-07", "12,000 connects without a port"),
    ("CL-08", "8 % of the client's CPU stolen"),
    ("CL-09", "a load thread that waits for a CPU 31 % of the time"),
    ("CL-10", "40 stops by a quota, 2 s in all"),
    ("CL-11", "20,000 segments dropped unread"),
    ("CL-14", "1,000 of a million requests never sent"),
    ("CL-15", "40 ms for a free connection at p99"),
    ("CL-16", "240 major page faults"),
    ("CL-17", "20,000 handshakes for a million requests"),
    // Answers.
    ("ER-01", "5 % unanswered"),
    ("ER-02", "every answer a 302 to /home"),
    ("ER-03", "2,000 bodies of another size"),
    ("ER-04", "from 8 connections on a third fail, in 0.1 ms"),
    ("ER-05", "2 % unanswered at the deadline"),
    ("ER-06", "a sixth of the bytes that the probe got"),
    ("ER-07", "the server counted 700,000 of a million"),
    ("ER-08", "300,000 answers 429"),
    ("ER-09", "a connection for each request"),
    ("ER-11", "`X-Cache: HIT` in the probe's answer"),
    ("ER-12", "20 ns of server CPU for each request"),
    ("ER-13", "POST, and CPU that doubles in the window"),
    ("ER-14", "half the bytes at the third load"),
    ("ER-15", "nothing answered in the second half"),
    // Load and statistics.
    ("LD-01", "a Poisson schedule sent in bunches of 8"),
    ("LD-02", "a pause of 1.1 s in one second of a closed loop"),
    ("LD-03", "a closed loop"),
    ("LD-04", "10 s and 3,000 requests"),
    ("LD-05", "4 different values up to p99"),
    ("LD-06", "ten sent at the same instant, again and again"),
    ("LD-07", "one URL"),
    ("LD-08", "two CPUs for both, 97 % busy"),
    ("ST-01", "a warm-up that never settled"),
    ("ST-02", "500 more requests due each second"),
    ("ST-03", "170/s, then 230/s at one load"),
    ("ST-04", "iterations at 160/s and at 200/s"),
    ("ST-05", "goodput that rises second by second"),
    ("ST-06", "one run"),
    ("ST-07", "140/s among five of 200/s"),
    // Saturation and physics.
    ("SA-01", "a sweep that still rises at its end"),
    ("SA-02", "held at 2,000/s, not at 4,000/s"),
    ("SA-03", "a peak at the last load"),
    ("SA-04", "80/s at 16 connections, 200/s at 2"),
    ("SA-05", "a curve that bends, and nothing busy"),
    ("SA-06", "held at 3,000/s, not at 2,000/s"),
    ("PH-01", "40 in flight of 64 connections"),
    ("PH-02", "1.6 CPUs used of one"),
    ("PH-03", "970 Mbit/s on a link of 1,000"),
    ("PH-04", "1,300/s at 8 connections, 10 ms at one"),
    ("PH-05", "2 ms for an answer, 20 ms to connect"),
    ("PH-06", "processes with 60 % of the busy time"),
    ("PH-07", "264/s at one connection, 210/s at most with more"),
    ("PH-08", "clocksource hpet"),
    // Network and kernel.
    ("NE-01", "214 overflows of an accept queue of 8"),
    ("NE-02", "900 SYN cookies, 120 drops"),
    ("NE-03", "24,000 segments sent again"),
    ("NE-04", "300 timeouts, 300 answers after 1.0 s"),
    ("NE-05", "90,000 answers after 40 ms"),
    ("NE-06", "1,200 packets dropped by the backlog"),
    ("NE-07", "2,000 packets dropped by the interface"),
    ("NE-08", "40 resets"),
    ("NE-09", "64,000 of 65,536 tracked connections"),
    ("NE-10", "31,000 windows closed"),
    ("NE-11", "one CPU 97 % in interrupts"),
    // Server, environment, profile.
    ("SV-01", "5 of 5 workers busy, 59 requests waiting"),
    ("SV-02", "1,032 connections accepted and not handled"),
    ("SV-03", "a process of nginx ended"),
    ("SV-04", "stopped in 240 of 300 periods"),
    ("SV-05", "1,024 of 1,024 descriptors"),
    ("SV-06", "812 connections refused by MariaDB"),
    ("SV-08", "40,000 pages swapped out"),
    ("SV-09", "9 of 30 s spent waiting for a disk"),
    ("EN-01", "7 % of the CPU time stolen"),
    ("EN-02", "slowed 14 times by heat"),
    ("EN-03", "stress-ng on 0.6 CPUs"),
    ("EN-04", "30 % less from the 18th second on"),
    ("EN-05", "somaxconn 4096, then 128"),
    ("EN-06", "nginx.conf with another hash"),
    ("PR-01", "sampled at 99 Hz"),
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
