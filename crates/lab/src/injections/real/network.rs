//! Network and kernel at fault.

use super::Real;

pub(super) static ALL: &[Real] = &[
    Real {
        rules: &["NE-01"],
        fault: "nginx with accept backlog 1, 256 connections",
        // A SYN in vain is tried again after a second: its time is a step above the others, and too late for some. Where the second is
        // dropped as well, the connection is not opened within the timeout; one that is reset had no response (ER-17).
        may: &["CL-06", "ER-01", "ER-05", "ER-15", "ER-17", "LD-05", "NE-02", "NE-03", "NE-04"],
        faulty: "measure run --serve 'nginx backlog=1' -d 3s --warmup 0s -c 256 --no-keepalive --timeout 3s",
        clean: "measure run --serve nginx -d 3s --warmup 0s -c 256 --no-keepalive --timeout 3s",
    },
    Real {
        rules: &["NE-02"],
        fault: "SYN cookies always (`tcp_syncookies` 2)",
        may: &[],
        faulty: "target; echo 2 >/proc/sys/net/ipv4/tcp_syncookies; load 2s / -c 8 --no-keepalive",
        clean: "target; load 2s / -c 8 --no-keepalive",
    },
    Real {
        rules: &["NE-03"],
        fault: "100 Mbit/s link with 30 kB queue (`tc tbf`), 100 kB bodies",
        may: &[],
        faulty: "target; ip link set lo mtu 1500
            tc qdisc add dev lo root tbf rate 100mbit burst 20kb limit 30kb || impossible 'no tbf in this kernel'
            load 3s /bytes/100k -c 8",
        clean: "target; ip link set lo mtu 1500; load 3s /bytes/100k -c 8",
    },
    Real {
        rules: &["NE-04"],
        fault: "accept backlog 1, 256 connections, SYN retries after 1 s",
        // As above.
        may: &["CL-06", "ER-01", "ER-05", "ER-15", "ER-17", "LD-05", "NE-01", "NE-02", "NE-03"],
        faulty: "target --backlog 1; load 3s / -c 256 --no-keepalive --timeout 3s",
        clean: "target; load 3s / -c 256 --no-keepalive --timeout 3s",
    },
    Real {
        rules: &["NE-05"],
        fault: "head and body written separately, with Nagle's algorithm",
        may: &[],
        faulty: "halves nagle; load 3s / -c 4",
        clean: "halves nodelay; load 3s / -c 4",
    },
    Real {
        rules: &["NE-08"],
        fault: "one response in 100 ends in a reset",
        may: &["ER-01"],
        faulty: "target --fault reset=0.01; load 2s / -c 8",
        clean: "target; load 2s / -c 8",
    },
];
