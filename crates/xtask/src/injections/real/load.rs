//! Loads that are not what they seem, and curves that end too soon.

use super::Real;

pub(super) static ALL: &[Real] = &[
    Real {
        rule: "LD-02",
        fault: "a closed loop on a server that stands still for 1.4 s",
        faulty: "target --stall 1400ms/4s; load 5s '/sleep?time=1ms' -c 2",
        clean: "target; load 5s '/sleep?time=1ms' -c 2",
    },
    Real { rule: "LD-04", fault: "a window of 2 s", faulty: "target; load 2s / -c 8", clean: "target; load 6s / -c 8" },
    Real {
        rule: "LD-08",
        fault: "client and server on the same CPUs",
        faulty: "\"$PLIMSOLL\" target --die-with-parent --listen 127.0.0.1:8080 --workers 2 >listening & listening
            measure run $url/ -d 3s --warmup 0s -c 32 -t 2",
        clean: "target; load 3s / -c 32",
    },
    Real {
        rule: "ST-01",
        fault: "each answer comes 0.2 µs later than the one before, and the warm-up ends by itself",
        faulty: "target --growth 200ns; measure run $url/ -d 2s --warmup auto -t 1 --cpus 1 -c 64",
        clean: "target; measure run $url/ -d 2s --warmup auto -t 1 --cpus 1 -c 8",
    },
    Real {
        rule: "ST-02",
        fault: "350/s on a pool that holds 200/s",
        faulty: "target --pool 1 --pool-time 5ms; load 9s /pool -R 350 -c 4 --timeout 20s",
        clean: "target --pool 4 --pool-time 5ms; load 9s /pool -R 350 -c 64 --timeout 20s",
    },
    Real {
        rule: "SA-01",
        fault: "a sweep that ends at 8 connections, before a pool of 64",
        faulty: "target --pool 64 --pool-time 20ms; curve /pool --to 8 --points 4",
        clean: "target --pool 3 --pool-time 20ms; curve /pool --to 24 --points 5",
    },
    Real {
        rule: "SA-03",
        fault: "the same: its peak is its last load",
        faulty: "target --pool 64 --pool-time 20ms; curve /pool --to 8 --points 4",
        clean: "target --pool 3 --pool-time 20ms; curve /pool --to 24 --points 5",
    },
];
