//! Causes that are named by what was seen of the load, and look like something else by the curve alone.

use super::SetUp;

const SLOTS: &str = "concurrency-limited (inferred)";

pub(super) static ALL: &[SetUp] = &[
    SetUp {
        name: "stopped",
        needs: &["python3"],
        server: "asyncio with a handler that computes, stopped and continued every 50 ms",
        truth: &["stopped"],
        says: &["SIGSTOP"],
        known_by: "SIGSTOP and SIGCONT take half of its time, and without them it does twice as many",
        script: "asyncio None 'sum(range(10000))'; stopping $server & look /",
    },
    SetUp {
        name: "log-pipe",
        needs: &["python3"],
        server: "4 processes that each write 2 kB to a pipe for every response, of which 200 kB a second are read",
        truth: &["upstream-limited"],
        says: &["pipe"],
        known_by: "200 kB/s are 100 lines a second, with any number of processes",
        script: "forked 4 'os.write(pipe, b\"x\" * 2000)' 'while os.read(end, 2000): time.sleep(0.01)'; look / --no-keepalive",
    },
    SetUp {
        name: "short-backlog",
        needs: &["python3"],
        server: "2 processes of 20 ms with an accept queue of 4, and a connection for each request",
        truth: &["worker-pool-limited", SLOTS],
        says: &["all 2 python3", "2 slots of 2"],
        known_by: "2 processes of 20 ms are 100/s, with any accept queue",
        script: "forked 2 'time.sleep(0.02)' pass 4; look / --no-keepalive",
    },
    SetUp {
        name: "go-one-processor",
        needs: &["go"],
        server: "Go with GOMAXPROCS=1 whose handlers hold a mutex for 1 ms of CPU",
        truth: &["single-thread-limited"],
        says: &["GOMAXPROCS", "one thread"],
        known_by: "GOMAXPROCS lets one goroutine run at a time, on two CPUs",
        script: "export GOMAXPROCS=1
            CPUS=0,1 golang <<'END'
package main
import (\"net/http\"; \"sync\")
var lock sync.Mutex
func main() {
    http.HandleFunc(\"/\", func(w http.ResponseWriter, r *http.Request) {
        lock.Lock()
        n := 0
        for i := 0; i < 2000000; i++ { n += i & 7 }
        lock.Unlock()
        w.Write([]byte(\"ok\"))
        if n < 0 { panic(n) }
    })
    http.ListenAndServe(\"127.0.0.1:8080\", nil)
}
END
            look /",
    },
    SetUp {
        name: "slow-backend",
        needs: &["haproxy"],
        server: "HAProxy in turn over a backend of 4 at a time of 2 ms and one of 4 at a time of 20 ms",
        truth: &["slow-backend (inferred)"],
        says: &["slow"],
        known_by: "each second request goes to the slow one, which does 200/s",
        script: "backend 8081 2ms; backend 8082 20ms
            haproxy '
    server slow 127.0.0.1:8082'
            look /pool",
    },
    SetUp {
        name: "rate-limit",
        needs: &["nginx"],
        server: "nginx with `limit_req` of 100 requests a second, and a queue for all others",
        truth: &["rate-limited (inferred)"],
        says: &["10.0 ms", "100/s"],
        known_by: "a request each 10 ms, whatever the load",
        script: "nginx 'limit_req_zone $server_name zone=all:1m rate=100r/s;
            server { listen 127.0.0.1:8080; server_name zoo; location / { limit_req zone=all burst=200; proxy_pass http://127.0.0.1:8081; } }'
            origin; look /",
    },
];
