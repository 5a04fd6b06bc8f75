//! Loads that are not what they seem, and curves that end too soon.

use super::Real;

pub(super) static ALL: &[Real] = &[
    Real {
        rules: &["LD-01", "LD-06"],
        fault: "client paused repeatedly for 30 ms",
        may: &["CL-03"],
        faulty: "target; load 4s / -R 400 -c 64 & underway; stutter 0.03 $!; wait $!",
        clean: "target; load 4s / -R 400 -c 64",
    },
    Real {
        rules: &["LD-02"],
        fault: "closed loop, server stall of 1.4 s",
        may: &["ER-15"],
        faulty: "target --stall 1400ms/4s; load 12s '/sleep?time=1ms' -c 2",
        clean: "target; load 12s '/sleep?time=1ms' -c 2",
    },
    Real {
        rules: &["LD-03"],
        fault: "closed loop",
        may: &[],
        faulty: "target; load 2s / -c 8",
        clean: "target; load 2s / -R 500",
    },
    Real {
        rules: &["LD-04"],
        fault: "measurement window of 2 s",
        may: &[],
        faulty: "target; load 2s / -c 8",
        clean: "target; load 6s / -c 8",
    },
    Real {
        rules: &["LD-07"],
        fault: "one URL",
        may: &[],
        faulty: "target; load 2s /bytes/100 -c 8",
        clean: "target; printf '/bytes/100\\n/bytes/200\\n' >urls; load 2s / --urls urls -c 8",
    },
    Real {
        rules: &["LD-09"],
        fault: "recording of a page of which one request in three goes to its own server",
        may: &[],
        faulty: "target; recording shop cdn cdn >page.har; load 2s / --har page.har -c 8",
        clean: "target; recording shop shop shop >page.har; load 2s / --har page.har -c 8",
    },
    Real {
        rules: &["LD-08"],
        fault: "client and server on the same CPUs",
        may: &[],
        faulty: "\"$PLIMSOLL\" target --die-with-parent --listen 127.0.0.1:8080 --workers 2 >listening & listening
            measure run $url/ -d 3s --warmup 0s -c 32 -t 2",
        clean: "target; load 3s / -c 32",
    },
    Real {
        rules: &["ST-01"],
        fault: "each response 20 µs slower than the last, automatic warm-up",
        may: &[],
        faulty: "target --growth 20us; measure run $url/ -d 2s --warmup auto -t 1 --cpus 1 -c 4",
        clean: "target; measure run \"$url/sleep?time=20ms\" -d 2s --warmup auto -t 1 --cpus 1 -c 4",
    },
    Real {
        rules: &["ST-02"],
        fault: "350/s on a pool with capacity 200/s",
        may: &["CL-15"],
        faulty: "target --pool 1 --pool-time 5ms; load 9s /pool -R 350 -c 4 --timeout 20s",
        clean: "target --pool 4 --pool-time 5ms; load 9s /pool -R 350 -c 64 --timeout 20s",
    },
    Real {
        rules: &["ST-03", "ST-04"],
        fault: "second load on the pool from mid-sweep on",
        // A pool of one does as much at either load: which is the peak is chance.
        may: &["SA-01", "SA-03"],
        faulty: "target --pool 1; (half_way; exec \"$PLIMSOLL\" run $url/pool -c 2 -d $((12 * LONGER))s -q >other) & repeats 6",
        clean: "target --pool 1; repeats 6",
    },
    Real {
        rules: &["ST-06"],
        fault: "two iterations",
        // As above.
        may: &["SA-01", "SA-03"],
        faulty: "target --pool 1; repeats 2",
        clean: "target --pool 1; repeats 6",
    },
    Real {
        rules: &["ST-07"],
        fault: "server stall of 0.5 s during a sweep",
        // As above; one iteration of a load is far below its others; and the longer stall of a second try leaves a second
        // without any response.
        may: &["ER-15", "PH-01", "PH-07", "SA-01", "SA-03", "SA-05", "ST-03"],
        faulty: "target --pool 1; (half_way; stop_for $((LONGER / 2)).5 $server) & repeats 6",
        clean: "target --pool 1; repeats 6",
    },
    Real {
        rules: &["SA-01", "SA-03"],
        fault: "sweep to 8 connections of a pool of 64",
        may: &[],
        faulty: "target --pool 64 --pool-time 20ms; curve /pool --to 8 --points 4",
        clean: "target --pool 3 --pool-time 20ms; curve /pool --to 24 --points 5",
    },
    Real {
        rules: &["SA-02", "SA-05"],
        fault: "200/s pool without CPU use, four rates from 50/s to 800/s",
        // At 400/s and 800/s all connections are busy, and requests time out.
        may: &["CL-05", "CL-14", "CL-15", "ER-01", "ER-05"],
        faulty: "target --pool 1; rates /pool 50 800",
        clean: "target; rates '/cpu?us=500' 50 800",
    },
    Real {
        rules: &["SA-04", "PH-07"],
        fault: "one worker of 20 ms, request timeout 32 ms",
        // The timeout fails requests, under the higher loads all of a second, and closes their connections, on which the server
        // answers then.
        may: &["ER-01", "ER-05", "ER-15", "NE-08", "SA-05"],
        faulty: "target --pool 1 --pool-time 20ms; curve /pool --to 24 --points 5 --timeout 32ms",
        clean: "target --pool 1 --pool-time 20ms; curve /pool --to 24 --points 5",
    },
];
