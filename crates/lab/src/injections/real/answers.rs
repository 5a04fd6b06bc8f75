//! Answers that are not the right ones.

use super::Real;

pub(super) static ALL: &[Real] = &[
    Real {
        rules: &["ER-01"],
        fault: "one response in 20 is a 500",
        may: &[],
        faulty: "target --error-share 0.05; load 2s / -c 8",
        clean: "target; load 2s / -c 8",
    },
    Real {
        rules: &["ER-02"],
        // A redirect that the probe sees is refused before the load.
        fault: "one response in ten redirects to /login",
        may: &[],
        faulty: "site 'if (mt_rand(0, 9) == 0) { header(\"Location: /login\"); } echo 1;'
            measure run --serve \"php-fpm root=$PWD/site\" -c 2 -d 6s --warmup 0s",
        clean: "site 'mt_rand(0, 9); echo 1;'
            measure run --serve \"php-fpm root=$PWD/site\" -c 2 -d 6s --warmup 0s",
    },
    Real {
        rules: &["ER-03"],
        fault: "30 % of bodies half as long",
        may: &[],
        faulty: "target --fault wrong-size=0.3; load 2s /bytes/2048 -c 8",
        clean: "target; load 2s /bytes/2048 -c 8",
    },
    Real {
        rules: &["ER-04"],
        fault: "2 workers of 5 ms, queue of 4, then an immediate 503",
        may: &["ER-01", "PH-07"],
        faulty: "target --pool 2 --pool-time 5ms --pool-queue 4; curve /pool --to 32 --points 5",
        clean: "target --pool 2 --pool-time 5ms; curve /pool --to 32 --points 5",
    },
    Real {
        rules: &["ER-05"],
        fault: "one request in 50 never answered",
        may: &["ER-01"],
        faulty: "target --fault drop=0.02; load 2s / -c 8 --timeout 500ms",
        clean: "target; load 2s / -c 8 --timeout 500ms",
    },
    Real {
        rules: &["ER-06"],
        fault: "30 % of bodies half as long, any size accepted",
        // A shorter body is another one than the probe's.
        may: &["ER-16"],
        faulty: "target --fault wrong-size=0.3; load 2s /bytes/2048 -c 8 --expect status=200,size=1..4096",
        clean: "target; load 2s /bytes/2048 -c 8 --expect status=200,size=1..4096",
    },
    Real {
        rules: &["ER-07"],
        fault: "second load on the same server",
        may: &[],
        faulty: "(underway; exec \"$PLIMSOLL\" run $url/ -d 8s -c 16 -q --warmup 0s >other) &
            measure run --serve 'nginx port=8080' -d 8s --warmup 0s -c 4",
        clean: "measure run --serve 'nginx port=8080' -d 8s --warmup 0s -c 4",
    },
    Real {
        rules: &["ER-08"],
        fault: "rate limit of 200/s",
        may: &["ER-01"],
        faulty: "target --limit 200/10; load 2s / -c 8",
        clean: "target; load 2s / -c 8",
    },
    Real {
        rules: &["ER-08"],
        fault: "Apache with mod_evasive",
        // While it bans, no good response comes.
        may: &["ER-01", "ER-15"],
        faulty: "\"$PLIMSOLL\" serve apache --print-config --port 8080 | sed '/^(/,$d; s|/tmp/plimsoll-state|{state}|' >apache.conf
            echo 'LoadModule evasive20_module /usr/lib/apache2/modules/mod_evasive20.so' >>apache.conf
            printf 'DOSPageCount 5\\nDOSSiteCount 50\\nDOSLogDir {state}/tmp\\n' >>apache.conf
            serve apache --config apache.conf; load 3s / -c 8",
        clean: "serve apache; load 3s / -c 8",
    },
    Real {
        rules: &["ER-09"],
        fault: "connections closed after 5 requests",
        may: &[],
        faulty: "measure run --serve 'nginx keepalive-requests=5' -d 2s --warmup 0s -c 4",
        clean: "measure run --serve nginx -d 2s --warmup 0s -c 4",
    },
    Real {
        rules: &["ER-11"],
        fault: "cache in front of the server",
        may: &[],
        faulty: "measure run --serve varnish -d 2s --warmup 0s -c 4",
        clean: "measure run --serve haproxy -d 2s --warmup 0s -c 4",
    },
    Real {
        rules: &["ER-12"],
        fault: "`--server` names another process",
        may: &[],
        faulty: "target; sleep 60 & load 6s / -c 8 --server $!",
        clean: "target; load 6s / -c 8 --server $server",
    },
    Real {
        rules: &["ER-13"],
        fault: "each POST makes the next one read nine more rows",
        may: &[],
        faulty: "site '$t = sys_get_temp_dir().\"/table\"; file_put_contents($t, str_repeat(\"x\".PHP_EOL, 9), FILE_APPEND); count(file($t)); echo 1;'
            measure run --serve \"php-fpm root=$PWD/site\" -m POST --body x -c 2 -d 16s --warmup 0s",
        clean: "site '$t = sys_get_temp_dir().\"/table\"; file_put_contents($t, str_repeat(\"x\".PHP_EOL, 9)); count(file($t)); echo 1;'
            measure run --serve \"php-fpm root=$PWD/site\" -m POST --body x -c 2 -d 16s --warmup 0s",
    },
    Real {
        rules: &["ER-14"],
        fault: "rate limit of 500/s, swept from 200/s to 1,600/s",
        // The refusals are fast, and nothing is busy at the limit.
        may: &["ER-01", "ER-04", "ER-08", "PH-07", "SA-05"],
        faulty: "target --limit 500/50; rates / 200 1600",
        clean: "target; rates / 200 1600",
    },
    Real {
        rules: &["ER-15"],
        fault: "server stall of 2.2 s",
        may: &[],
        faulty: "target; (underway; stop_for 2.2 $server) & load 5s / -c 8",
        clean: "target; load 5s / -c 8",
    },
];
