//! Server and environment at fault.

use super::Real;

pub(super) static ALL: &[Real] = &[
    Real {
        rules: &["SV-01"],
        fault: "php-fpm with 2 workers of 20 ms, 8 connections",
        may: &[],
        faulty: "measure run --serve 'php-fpm children=2 sleep=20ms socket=tcp' -d 3s --warmup 1s -c 8",
        clean: "measure run --serve 'php-fpm children=16 sleep=20ms socket=tcp' -d 3s --warmup 1s -c 4",
    },
    Real {
        rules: &["SV-02"],
        fault: "nginx with 32 connections, 64 concurrent requests of 50 ms",
        // nginx resets the connections that it has no room for, some of them before all of the load's are open.
        may: &["CL-06", "ER-01", "ER-17", "NE-08"],
        faulty: "serve nginx-lua --worker-connections 32; load 4s '/sleep?time=0.05' -c 64 --status $url/nginx-status",
        clean: "serve nginx-lua --worker-connections 512; load 4s '/sleep?time=0.05' -c 64 --status $url/nginx-status",
    },
    Real {
        rules: &["SV-03"],
        fault: "nginx worker killed",
        // The kernel resets its connections.
        may: &["NE-08"],
        faulty: "serve nginx --workers 2; (underway; kill -KILL $(ours nginx | tail -n 1)) & load 3s / -c 8",
        clean: "serve nginx --workers 2; load 3s / -c 8",
    },
    Real {
        rules: &["SV-04"],
        fault: "CPU quota of 5 % on the server",
        may: &[],
        faulty: "quota 5; within serve nginx; load 3s / -c 8",
        clean: "serve nginx; load 3s / -c 8",
    },
    Real {
        rules: &["SV-05"],
        fault: "server with 64 file descriptors, 56 connections",
        // The server resets the connections that it has no descriptor for, some of them before all are open.
        may: &["CL-06", "ER-01", "ER-17", "NE-08"],
        faulty: "target; prlimit --pid $server --nofile=64; load 3s / -c 56",
        clean: "target; load 3s / -c 56",
    },
    Real {
        rules: &["SV-06"],
        fault: "MariaDB with 10 connections behind 24 php-fpm workers",
        may: &[],
        faulty: "database 10
            measure run --serve \"php-fpm children=24 user=nobody root=$PWD/site\" -c 30 -d 3s --warmup 0s --status mysql+unix://$socket",
        clean: "database 50
            measure run --serve \"php-fpm children=24 user=nobody root=$PWD/site\" -c 30 -d 3s --warmup 0s --status mysql+unix://$socket",
    },
    Real {
        rules: &["SV-09"],
        fault: "php-fpm that waits for disk in each request",
        may: &[],
        faulty: "site '$f = fopen(__DIR__.\"/\".getmypid(), \"w\"); for ($i = 0; $i < 8; $i++) { fwrite($f, \"x\"); fsync($f); } echo 1;'
            measure run --serve \"php-fpm children=2 root=$PWD/site\" -c 4 -d 3s --warmup 0s",
        clean: "site 'echo 1;'; measure run --serve \"php-fpm children=2 root=$PWD/site\" -c 4 -d 3s --warmup 0s",
    },
    Real {
        rules: &["PH-06"],
        fault: "short-lived processes whose CPU time nobody collects",
        may: &[],
        faulty: "brief 0; target; load 4s / -c 8",
        clean: "target; load 4s / -c 8",
    },
    Real {
        rules: &["EN-03"],
        fault: "another program on each CPU",
        may: &[],
        faulty: "hog 0; hog 1; target; load 3s / -c 8",
        clean: "target; load 3s / -c 8",
    },
    Real {
        rules: &["EN-04"],
        fault: "second load on the pool after 11 s",
        may: &[],
        faulty: "target --pool 1; (underway; sleep 11; exec \"$PLIMSOLL\" run $url/pool -c 4 -d 60s --warmup 0s -q >other) &
            load 22s /pool -c 4",
        clean: "target --pool 1; load 22s /pool -c 4",
    },
    Real {
        rules: &["EN-05"],
        fault: "`net.core.somaxconn` changed during the run",
        may: &[],
        faulty: "target; (underway; echo 1024 >/proc/sys/net/core/somaxconn) & load 3s / -c 8",
        clean: "target; load 3s / -c 8",
    },
    Real {
        rules: &["EN-06"],
        fault: "nginx configuration edited during the run",
        may: &[],
        faulty: "serve nginx; conf=$(tr '\\0 ' '\\n\\n' </proc/$(ours nginx | head -n 1)/cmdline | grep 'conf$')
            (underway; echo '# edited' >>$conf) & load 3s / -c 8",
        clean: "serve nginx; load 3s / -c 8",
    },
    Real {
        rules: &["PR-01"],
        fault: "`--profile`",
        may: &[],
        faulty: "target; load 2s / -c 8 --profile",
        clean: "target; load 2s / -c 8",
    },
];
