//! The load generator at fault.

use super::Real;

pub(super) static ALL: &[Real] = &[
    Real {
        rules: &["CL-01"],
        fault: "60,000 random letters generated per request by one thread",
        may: &[],
        faulty: "target; load 2s /upload -m POST -b \"$(printf '{{random:1000}}%.0s' {1..60})\" --template -c 16",
        clean: "target; load 2s '/sleep?time=1ms' --template -H 'X-Random: {{random:60}}' -c 16",
    },
    Real {
        rules: &["CL-03"],
        fault: "client paused for 400 ms, without monitoring",
        // What was due meanwhile is more than there are connections.
        may: &["CL-15"],
        faulty: "target; load 3s '/sleep?time=10ms' -R 500 -c 16 --no-observe & l=$!; underway; stop_for 0.4 $(pgrep -P $l -x plimsoll); wait $l",
        clean: "target; load 3s '/sleep?time=10ms' -R 500 -c 16 --no-observe",
    },
    Real {
        rules: &["CL-05"],
        fault: "300,000 requests/s asked of one thread",
        // Requests that wait for a connection for longer than their timeout have failed.
        may: &["CL-14", "CL-15", "ER-01", "ER-05"],
        faulty: "target; load 2s / -R 300000 -c 64 --timeout 1s",
        clean: "target; load 2s / -R 500 -c 64 --timeout 1s",
    },
    Real {
        rules: &["CL-06"],
        fault: "`ulimit -n 100`, 200 connections",
        may: &[],
        faulty: "target; ulimit -n 100; load 2s / -c 200",
        clean: "target; load 2s / -c 200",
    },
    Real {
        rules: &["CL-07"],
        fault: "151 local ports, 120 of them in use, 100 connections",
        // A connection without a port is missing, and its requests have failed.
        may: &["CL-06", "ER-01"],
        faulty: "target; echo 40000 40150 >/proc/sys/net/ipv4/ip_local_port_range
            \"$PLIMSOLL\" run $url/ -d 6s -c 120 -q >other & underway; load 2s / -c 100",
        clean: "target; echo 40000 40150 >/proc/sys/net/ipv4/ip_local_port_range; load 2s / -c 100",
    },
    Real {
        rules: &["CL-09"],
        fault: "three other programs on the client's CPU",
        may: &[],
        faulty: "hog 1; hog 1; hog 1; target; load 3s / -c 8",
        clean: "target; load 3s / -c 8",
    },
    Real {
        rules: &["CL-10"],
        fault: "CPU quota of 3 % on the client",
        may: &[],
        faulty: "target; quota 3; within load 3s / -c 8",
        clean: "target; load 3s / -c 8",
    },
    Real {
        rules: &["CL-11", "NE-10"],
        fault: "client with 128 KiB receive buffers paused repeatedly during 64 MiB bodies",
        may: &[],
        faulty: "echo 4096 65536 131072 >/proc/sys/net/ipv4/tcp_rmem
            target; load 3s '/zero?size=64MiB' -c 8 & underway; stutter 0.1 $!; wait $!",
        clean: "target; load 3s '/zero?size=64MiB' -c 8",
    },
    Real {
        rules: &["CL-14"],
        fault: "server stall of 40 ms, 4 connections, request timeout 15 ms",
        // The timeout fails requests and closes their connections, on which the server answers then.
        may: &["CL-05", "CL-15", "ER-01", "ER-05", "NE-08"],
        faulty: "target --stall 40ms/2500ms; load 4s / -R 1000 -c 4 --timeout 15ms",
        clean: "target; load 4s / -R 1000 -c 4 --timeout 15ms",
    },
    Real {
        rules: &["CL-15"],
        fault: "190/s of 20 ms each on 4 connections",
        may: &[],
        faulty: "target; load 4s '/sleep?time=20ms' -R 190 -c 4",
        clean: "target; load 4s '/sleep?time=20ms' -R 190 -c 64",
    },
    Real {
        rules: &["CL-17"],
        fault: "TLS connections closed after 5 requests",
        may: &["ER-09", "NE-08"],
        faulty: "measure run --serve 'nginx tls=on keepalive-requests=5' -d 2s --warmup 0s -c 4",
        clean: "measure run --serve 'nginx tls=on' -d 2s --warmup 0s -c 4",
    },
];
