//! Servers and proxies whose configuration holds them back.

use super::SetUp;

const POOL: &str = "worker-pool-limited";
const SLOTS: &str = "concurrency-limited (inferred)";

pub(super) static ALL: &[SetUp] = &[
    SetUp {
        name: "nginx-max-conns",
        needs: &["nginx"],
        server: "nginx in front of an idle backend of 10 ms with `max_conns=4`",
        truth: &["not-a-server-limit", SLOTS],
        says: &["ER-01"],
        known_by: "4 at a time of 10 ms are 400/s; beyond them it answers 502",
        script: "origin
            nginx 'upstream u { zone u 64k; server 127.0.0.1:8081 max_conns=4; keepalive 4; }
                server { listen 127.0.0.1:8080; location / { proxy_pass http://u; proxy_http_version 1.1;
                proxy_set_header Connection \"\"; proxy_next_upstream off; } }'
            look '/sleep?time=10ms'",
    },
    SetUp {
        name: "nginx-one-worker",
        needs: &["nginx"],
        server: "nginx with one worker that compresses 30 KiB for each response",
        truth: &["cpu-limited", "single-thread-limited"],
        says: &["nginx uses"],
        known_by: "one worker on one CPU, which `taskset` gives it",
        script: "seq 6000 >body
            nginx \"server { listen 127.0.0.1:8080; root $PWD; gzip on; gzip_types application/octet-stream text/plain; }\"
            chmod 755 .; look /body -H 'Accept-Encoding: gzip'",
    },
    SetUp {
        name: "nginx-limit-rate",
        needs: &["nginx"],
        server: "nginx with `limit_rate 256k` and bodies of 128 KiB",
        truth: &["paced"],
        says: &["limits the rate of each connection"],
        known_by: "128 KiB at 256 KiB/s are 0.5 s whatever the load",
        script: "head -c 131072 /dev/zero >body
            nginx \"server { listen 127.0.0.1:8080; root $PWD; limit_rate 256k; }\"
            chmod 755 .; look /body",
    },
    SetUp {
        name: "haproxy-maxconn",
        needs: &["haproxy"],
        server: "HAProxy with `maxconn 4` in front of an idle backend of 10 ms",
        truth: &[SLOTS],
        says: &["maxconn"],
        known_by: "4 at a time of 10 ms are 400/s, and the backend alone does thousands",
        script: "origin; haproxy 'maxconn SLOTS'; look '/sleep?time=10ms'",
    },
    SetUp {
        name: "haproxy-one-thread",
        needs: &["haproxy"],
        server: "HAProxy with one thread that answers by itself",
        truth: &["cpu-limited", "single-thread-limited"],
        says: &["haproxy uses"],
        known_by: "one thread on one CPU, which `taskset` gives it",
        script: "origin; haproxy '' 'http-request return status 200 content-type text/plain string ok'; look /",
    },
    SetUp {
        name: "apache-prefork-starved",
        needs: &["apache2"],
        server: "Apache prefork with 8 workers that keep their connections, 32 connections",
        truth: &["starved", POOL, "cpu-limited"],
        says: &["8 of 32 connections were served", "apache2 uses"],
        known_by: "each worker keeps one connection: 24 of 32 are never served",
        script: "apache prefork 'StartServers 8
                MinSpareServers 8
                MaxSpareServers 8
                ServerLimit 8
                MaxRequestWorkers 8
                KeepAliveTimeout 30'
            loads='--from 8 --to 32 --points 3' look / --timeout 20s",
    },
    SetUp {
        name: "apache-worker-cpu",
        needs: &["apache2"],
        server: "Apache worker that serves a small file",
        truth: &["cpu-limited"],
        says: &["apache2 uses"],
        known_by: "64 threads on one CPU, which `taskset` gives them",
        script: "threads worker; look /",
    },
    SetUp {
        name: "apache-event-cpu",
        needs: &["apache2"],
        server: "Apache event that serves a small file",
        truth: &["cpu-limited"],
        says: &["apache2 uses"],
        known_by: "64 threads on one CPU, which `taskset` gives them",
        script: "threads event; look /",
    },
    SetUp {
        name: "lighttpd-cpu",
        needs: &["lighttpd"],
        server: "lighttpd that serves a small file",
        truth: &["cpu-limited", "single-thread-limited"],
        says: &["lighttpd uses"],
        known_by: "one process on one CPU, which `taskset` gives it",
        script: "serve lighttpd; look /",
    },
    SetUp {
        name: "caddy-cpu",
        needs: &["caddy"],
        server: "Caddy that answers by itself",
        truth: &["cpu-limited"],
        says: &["caddy uses"],
        known_by: "all of its threads on one CPU, which `taskset` gives them",
        script: "export HOME=$PWD
            in_background /usr/bin/caddy respond --listen 127.0.0.1:8080 --body ok; up 8080; look /",
    },
    SetUp {
        name: "varnish-hits",
        needs: &["varnishd"],
        server: "Varnish that answers from its cache",
        truth: &["cpu-limited"],
        says: &["cache-main uses", "varnishd uses"],
        known_by: "its threads on one CPU, which `taskset` gives them; its main thread sleeps",
        script: "origin
            in_background /usr/sbin/varnishd -F -n $PWD/varnish -a 127.0.0.1:8080 -b 127.0.0.1:8081 -s malloc,32m -j none
            up 8080; look /",
    },
    SetUp {
        name: "varnish-backend-connections",
        needs: &["varnishd"],
        server: "Varnish that passes to an idle backend of 10 ms with `max_connections = 4`",
        truth: &["not-a-server-limit", SLOTS],
        says: &["ER-01"],
        known_by: "4 at a time of 10 ms are 400/s; beyond them it answers 503",
        script: "origin
            printf 'vcl 4.0;\\nbackend b { .host = \"127.0.0.1\"; .port = \"8081\"; .max_connections = 4; }\\n\
                sub vcl_recv { return (pass); }\\n' >v.vcl
            in_background /usr/sbin/varnishd -F -n $PWD/varnish -a 127.0.0.1:8080 -f $PWD/v.vcl -s malloc,32m -j none
            up 8080; look '/sleep?time=10ms'",
    },
    SetUp {
        name: "php-fpm-static",
        needs: &["nginx", "php-fpm8.2"],
        server: "php-fpm with 4 children that sleep for 10 ms",
        truth: &[POOL],
        says: &["all 4 php-fpm"],
        known_by: "4 children of 10 ms are 400/s",
        script: "php SLOTS 'usleep(10000); echo 1;'",
    },
    SetUp {
        name: "php-fpm-cpu",
        needs: &["nginx", "php-fpm8.2"],
        server: "php-fpm with 16 children that compute",
        truth: &["cpu-limited"],
        says: &["php-fpm8.2 uses"],
        known_by: "each request takes some milliseconds of CPU, and there are more children than CPUs",
        script: "php 16 'for ($i = 0; $i < 200000; $i++) { $x = $i * 2; } echo 1;'",
    },
    SetUp {
        name: "php-fpm-slow-upstream",
        needs: &["nginx", "php-fpm8.2"],
        server: "php-fpm with 4 children that each wait 20 ms for another server",
        truth: &[POOL],
        says: &["all 4 php-fpm"],
        known_by: "the other server answers thousands at a time: 4 children of 20 ms are 200/s",
        script: "origin; php SLOTS 'echo strlen(file_get_contents(\"http://127.0.0.1:8081/sleep?time=20ms\"));'",
    },
    SetUp {
        name: "built-in-pool",
        needs: &[],
        server: "the built-in server with a pool of 4 and 5 ms",
        truth: &[POOL, SLOTS],
        says: &["4 slots of", "all 4 plimsoll"],
        known_by: "4 workers of 5 ms are 800/s; they are arithmetic, and no thread of it waits",
        script: "target --pool SLOTS --pool-time 5ms; look /pool",
    },
    SetUp {
        name: "nginx-gzip",
        needs: &["nginx"],
        server: "nginx with one worker on both CPUs that compresses 100 kB; then with two",
        truth: &["single-thread-limited", "worker-pool-limited"],
        says: &["nginx"],
        known_by: "one worker is one thread, which does nothing but compress",
        script: "mkdir -p www; head -c 75000 /dev/urandom | base64 >www/page.txt; chmod -R a+rX .
            CPUS=0,1 nginx \"server { listen 127.0.0.1:8080; root $PWD/www; gzip on; gzip_comp_level 9; gzip_types text/plain; }\" \
                $((SLOTS / 4))
            look /page.txt --header 'Accept-Encoding: gzip'",
    },
    SetUp {
        name: "nginx-of-itself",
        needs: &["nginx"],
        server: "nginx with one worker on both CPUs that proxies to itself; then with two",
        truth: &["single-thread-limited", "worker-pool-limited"],
        says: &["nginx"],
        known_by: "one worker is one thread, which handles each request twice",
        script: "CPUS=0,1 nginx \"
                upstream self { server 127.0.0.1:8080; keepalive 64; }
                server { listen 127.0.0.1:8080; location / { proxy_pass http://self/back; proxy_http_version 1.1;
                    proxy_set_header Connection ''; } location /back { return 200 'ok'; } }\" $((SLOTS / 4))
            look /",
    },
    SetUp {
        name: "nginx-limit-conn",
        needs: &["nginx"],
        server: "nginx with `limit_conn` of 4 in front of an idle backend of 10 ms",
        truth: &["not-a-server-limit", SLOTS],
        says: &["ER-01"],
        known_by: "4 at a time of 10 ms are 400/s; beyond them it answers 503",
        script: "origin
            nginx 'limit_conn_zone $server_name zone=all:1m;
                server { listen 127.0.0.1:8080; server_name zoo; location / { limit_conn all 4; proxy_pass http://127.0.0.1:8081; } }'
            look '/sleep?time=10ms'",
    },
    SetUp {
        name: "haproxy-deny-rate",
        needs: &["haproxy"],
        server: "HAProxy that refuses a client with more than 100 requests in 10 s",
        truth: &["not-a-server-limit"],
        says: &["a rate limiter of the server refused"],
        known_by: "all but 100 requests in 10 s are answered with 429",
        script: "origin
            haproxy '' 'stick-table type ip size 10 expire 10s store http_req_rate(10s)
    http-request track-sc0 src
    http-request deny deny_status 429 if { sc_http_req_rate(0) gt 100 }'
            look '/sleep?time=10ms'",
    },
];
