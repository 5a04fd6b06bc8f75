//! Servers that nobody had prepared for it.

use super::{Case, Seen};

pub(super) static ALL: &[Case] = &[
    Case {
        name: "node-hashes",
        what: "01: Node that hashes on libuv's four threads",
        right: "the CPUs are the limit",
        seen: Seen::Printed {
            needs: &["node"],
            script: "node <<'END'
const crypto = require('crypto')
require('http').createServer((_, answer) => crypto.pbkdf2('a', 'b', 2000, 64, 'sha512', () => answer.end('ok')))
    .listen(8080, '127.0.0.1')
END
                loads='--from 1 --to 16 --points 5'; say sweep $url/ $WINDOW -t 1 --cpus 1 $loads",
            has: &["cpu-limited"],
            lacks: &["panicked"],
        },
    },
    Case {
        name: "session-lock",
        what: "02: php-fpm whose requests share a session",
        right: "PHP's session is the limit, and without it the children do as many as they can",
        seen: Seen::Zoo("php-session"),
    },
    Case {
        name: "threads-that-hash",
        what: "03b: gunicorn with threads that hash outside of the interpreter's lock",
        right: "the CPUs are the limit, and more of them raise it",
        seen: Seen::Zoo("gunicorn-gthread-hash"),
    },
    Case {
        name: "gomaxprocs",
        what: "04: Go with GOMAXPROCS=1 and a mutex",
        right: "one thread is the limit, and GOMAXPROCS is named",
        seen: Seen::Zoo("go-one-processor"),
    },
    Case {
        name: "stopped",
        what: "05: a server that is stopped half of the time",
        right: "something stops the server",
        seen: Seen::Zoo("stopped"),
    },
    Case {
        name: "slow-backend",
        what: "06: HAProxy over a fast and a slow backend",
        right: "one of several backends is slow",
        seen: Seen::Zoo("slow-backend"),
    },
    Case {
        name: "log-pipe",
        what: "07: an access log into a pipe that is read slowly",
        right: "the reader of the pipe is the limit",
        seen: Seen::Zoo("log-pipe"),
    },
    Case {
        name: "uneven-workers",
        what: "08: two workers of nginx with reuseport and three connections",
        right: "there are two workers, and the connections are spread unevenly over them",
        seen: Seen::Test("a_full_worker_beside_others_that_rest_needs_an_even_spread_and_no_second_worker"),
    },
    Case {
        name: "one-worker",
        what: "09: nginx with one worker that compresses",
        right: "its one thread is the limit, and a second one doubles it",
        seen: Seen::Zoo("nginx-gzip"),
    },
    Case {
        name: "row-lock",
        what: "10: a lock of MariaDB behind php-fpm",
        right: "the database is what is to be looked at",
        seen: Seen::Zoo("mariadb-row-lock"),
    },
    Case {
        name: "short-backlog",
        what: "11: two workers with an accept queue of 4",
        right: "the workers are the limit, not the queue",
        seen: Seen::Zoo("short-backlog"),
    },
    Case {
        name: "starved",
        what: "12: a server with fewer connections than are asked for",
        right: "connections that are never served predict nothing",
        seen: Seen::Test("connections_that_are_never_served_do_not_explain_a_curve_that_bent_before"),
    },
    Case {
        name: "overflow-beyond-the-knee",
        what: "12b: drops of an accept queue beyond the knee",
        right: "they do not limit",
        seen: Seen::Test("an_accept_queue_that_overflows_beyond_the_knee_does_not_limit"),
    },
    Case {
        name: "black-hole",
        what: "13: workers that wait for an address that does not answer",
        right: "the workers are the limit, and what they wait for is named",
        seen: Seen::Zoo("slow-lookup"),
    },
    Case {
        name: "few-descriptors",
        what: "14: a server near its limit of descriptors",
        right: "its descriptors are named with the reserve that it may keep",
        seen: Seen::Test("wrong_responses_come_with_their_cause_where_it_was_seen"),
    },
    Case {
        name: "semaphore",
        what: "15: a semaphore of asyncio",
        right: "so many requests at a time, and nothing is retrograde by chance",
        seen: Seen::Zoo("python-semaphore"),
    },
    Case {
        name: "quota",
        what: "17: a CPU quota",
        right: "the quota is the limit, by the name of its file",
        seen: Seen::Zoo("cpu-quota"),
    },
    Case {
        name: "main-thread",
        what: "18: Node that turns a large object into JSON",
        right: "one thread or its CPU is the limit",
        seen: Seen::Zoo("node-cpu"),
    },
    Case {
        name: "ruby-lock",
        what: "19: puma with threads that compute",
        right: "Ruby's lock is the limit",
        seen: Seen::Zoo("puma-lock"),
    },
    Case {
        name: "redis-script",
        what: "20: php-fpm and a slow script of Redis",
        right: "Redis is the limit, and a second one raises it",
        seen: Seen::Zoo("php-redis-script"),
    },
    Case {
        name: "some-redirects",
        what: "21: a tenth of the responses are redirects",
        right: "the share is told, and that the others were pages",
        seen: Seen::Printed {
            needs: &["python3"],
            script: "counting 'ok(client, b\"\", b\"Location: /login\\r\\n\", b\"302 Found\") if n % 10 == 0 else ok(client)'
                say run $url/ -c 8 -d 6s",
            has: &["ER-02", "10 %"],
            lacks: &["no page was measured"],
        },
    },
    Case {
        name: "pages-that-are-errors",
        what: "22: half of the pages are an error page of the same size",
        right: "a sampled hash of the bodies warns",
        seen: Seen::Printed {
            needs: &["python3"],
            script: "counting 'import time; time.sleep(0.002); ok(client, b\"error!\" if flying >= 5 else b\"hello!\")'
                say run $url/ -c 8 -d 6s",
            has: &["ER-16"],
            lacks: &["all validity checks"],
        },
    },
    Case {
        name: "two-framings",
        what: "23: Content-Length and chunks in turn",
        right: "nothing is wrong",
        seen: Seen::Printed {
            needs: &["python3"],
            script: "counting 'client.sendall(b\"HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n2\\r\\nok\\r\\n0\\r\\n\\r\\n\") if n % 2 else ok(client)'
                say run $url/ -c 8 -d 6s",
            has: &["VALID", "exit 0"],
            lacks: &["INVALID", "ER-0"],
        },
    },
    Case {
        name: "closed-after-a-hundred",
        what: "24: an unannounced close after each 100 requests",
        right: "the closed connections are told",
        seen: Seen::Printed {
            needs: &["python3"],
            script: "counting 'ok(client)
    served[client] = served.get(client, 0) + 1
    if served[client] == 100: client.close(); return False' 'served = globals().setdefault(\"served\", {})'
                say run $url/ -c 8 -d 6s",
            has: &["NE-08"],
            lacks: &["all validity checks"],
        },
    },
    Case {
        name: "early-hints",
        what: "25: 103 before each response",
        right: "nothing is wrong",
        seen: Seen::Printed {
            needs: &["python3"],
            script: "counting 'client.sendall(b\"HTTP/1.1 103 Early Hints\\r\\nLink: </a.css>\\r\\n\\r\\n\"); ok(client)'
                say run $url/ -c 8 -d 6s",
            has: &["VALID", "exit 0"],
            lacks: &["INVALID", "ER-0"],
        },
    },
    Case {
        name: "trickles",
        what: "26: a body in ten parts, 5 ms apart",
        right: "the response takes 50 ms, and no timer is blamed",
        seen: Seen::Printed {
            needs: &["python3"],
            script: "counting 'import time
    client.sendall(b\"HTTP/1.1 200 OK\\r\\nContent-Length: 20\\r\\n\\r\\n\")
    for _ in range(10): time.sleep(0.005); client.sendall(b\"xx\")'
                say run $url/ -c 32 -d 31s",
            has: &["VALID", "exit 0"],
            lacks: &["INVALID", "NE-05", "timer-limited"],
        },
    },
    Case {
        name: "ipv6-only",
        what: "27: a server on [::1] alone",
        right: "`localhost` finds it",
        seen: Seen::Printed {
            needs: &["python3"],
            script: "counting 'ok(client)'; kill $server; wait $server || :
                sed -i 's/create_server((\"127.0.0.1\", 8080), backlog=1024)/create_server((\"::1\", 8080), family=socket.AF_INET6, backlog=1024)/' app.py
                in_background /usr/bin/python3 app.py; sleep 1
                say run http://[::1]:8080/ -c 8 -d 6s; say run http://localhost:8080/ -n 5",
            has: &["VALID", "exit 0"],
            lacks: &["refused"],
        },
    },
    Case {
        name: "one-stop",
        what: "30: a server that stops for 1 s, in a closed loop",
        right: "independent users would see that second, which a closed loop hides",
        seen: Seen::Printed {
            needs: &["python3"],
            script: "counting 'import time
    if time.monotonic() % 9 < 1: time.sleep(1 - time.monotonic() % 9)
    ok(client)'
                say run $url/ -c 8 -d 16s",
            has: &["LD-02", "independent users"],
            lacks: &["all validity checks"],
        },
    },
    Case {
        name: "proxy-of-itself",
        what: "nginx with one worker that proxies to itself",
        right: "its one worker is the limit, not slots of an upstream",
        seen: Seen::Zoo("nginx-of-itself"),
    },
    Case {
        name: "ports-of-a-proxy",
        what: "a proxy without a local port for its upstream",
        right: "the ports are named beside the 502",
        seen: Seen::Test("ports_that_a_proxy_lacks_are_told_apart_from_the_clients"),
    },
    Case {
        name: "upstream-connections",
        what: "a proxy of Go that keeps two idle connections to its upstream",
        right: "it opens a connection for nearly each request, and that is told",
        seen: Seen::Test("a_connection_for_nearly_each_response_is_told"),
    },
    Case {
        name: "libuv",
        what: "Node that looks up names",
        right: "the threads of libuv are among the places to look at",
        seen: Seen::Test("places_to_look_at_are_those_that_this_load_has_shown"),
    },
    Case {
        name: "hog-of-any-name",
        what: "a hog beside the server that is called python3, node, php-fpm or nginx",
        right: "its time is disturbed time, whatever it is called",
        seen: Seen::Test("programs_that_use_the_cpus_are_strangers_whatever_they_are_called"),
    },
    Case {
        name: "odd-trial",
        what: "a sweep with one odd trial at 2 connections",
        right: "it goes on to the load that was asked for",
        seen: Seen::Test("one_low_load_among_others_and_a_fall_within_chance_are_no_overload"),
    },
];
