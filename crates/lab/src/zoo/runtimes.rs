//! Language runtimes: pools of threads, locks of interpreters, event loops, collectors.

use super::SetUp;

const POOL: &str = "worker-pool-limited";
const SLOTS: &str = "concurrency-limited (inferred)";
const LOOP: &[&str] = &["cpu-limited", "single-thread-limited"];

pub(super) static ALL: &[SetUp] = &[
    SetUp {
        name: "gunicorn-sync",
        needs: &["gunicorn"],
        server: "gunicorn with 4 sync workers that sleep for 10 ms",
        truth: &[POOL],
        says: &["all 4 gunicorn"],
        known_by: "4 workers of 10 ms are 400/s",
        script: "wsgi '' 'time.sleep(0.01)'; gunicorn -w SLOTS; look / --no-keepalive",
    },
    SetUp {
        name: "gunicorn-gthread-sleep",
        needs: &["gunicorn"],
        server: "gunicorn with one worker of 4 threads that sleep for 20 ms",
        truth: &[POOL, SLOTS],
        says: &["all 4 gunicorn", "4 slots of 2"],
        known_by: "4 threads of 20 ms are 200/s",
        script: "wsgi '' 'time.sleep(0.02)'; gunicorn -w 1 -k gthread --threads SLOTS; look /",
    },
    SetUp {
        name: "gunicorn-gthread-hash",
        needs: &["gunicorn"],
        server: "gunicorn with one worker of 8 threads that hash, which needs no lock, on one CPU; then on two",
        truth: &["cpu-limited"],
        says: &["gunicorn uses"],
        known_by: "hashing releases CPython's lock, and `taskset` gives it one CPU",
        script: "wsgi '' 'hashlib.pbkdf2_hmac(\"sha256\", b\"a\", b\"b\", 4000)'
            CPUS=0-$((SLOTS / 4 - 1)) gunicorn -w 1 -k gthread --threads 8; look /",
    },
    SetUp {
        name: "gunicorn-gthread-lock",
        needs: &["gunicorn"],
        server: "gunicorn with one worker of 8 threads that compute, on all CPUs",
        truth: &["interpreter-lock-limited"],
        says: &["CPython's global interpreter lock"],
        known_by: "CPython runs one thread at a time, and a second process doubles it on an idle machine",
        script: "wsgi '' 'sum(range(20000))'; CPUS=0,1 gunicorn -w 1 -k gthread --threads 8; look /",
    },
    SetUp {
        name: "python-event-loop",
        needs: &["python3"],
        server: "asyncio with a handler that computes for 1 ms",
        truth: LOOP,
        says: &["python3 uses"],
        known_by: "one thread on one CPU, which `taskset` gives it",
        script: "asyncio None 'sum(range(30000))'; look /",
    },
    SetUp {
        name: "python-thread-pool",
        needs: &["python3"],
        server: "asyncio whose handlers block for 10 ms in an executor of 4 threads",
        truth: &[POOL, SLOTS],
        says: &["all 4 python3", "4 slots of 1"],
        known_by: "4 threads of 10 ms are 400/s",
        script: "asyncio 'concurrent.futures.ThreadPoolExecutor(SLOTS)' \
                'await asyncio.get_running_loop().run_in_executor(own, time.sleep, 0.01)'
            look /",
    },
    SetUp {
        name: "python-semaphore",
        needs: &["python3"],
        server: "asyncio whose handlers wait 10 ms behind a semaphore of 4",
        truth: &[SLOTS],
        says: &["a semaphore"],
        known_by: "4 at a time of 10 ms are 400/s, and no thread is busy",
        script: "asyncio 'asyncio.Semaphore(SLOTS)' 'async with own: await asyncio.sleep(0.01)'; look /",
    },
    SetUp {
        name: "uvicorn-blocking",
        needs: &["uvicorn"],
        server: "uvicorn whose handler blocks the event loop for 5 ms",
        truth: &[POOL, SLOTS],
        says: &["the only worker (uvicorn)", "1 slot of"],
        known_by: "one thread that sleeps: one at a time of 5 ms is 200/s",
        script: "cat >app.py <<'END'
import time
async def app(scope, receive, send):
    time.sleep(0.005)
    await send({'type': 'http.response.start', 'status': 200, 'headers': [(b'content-length', b'2')]})
    await send({'type': 'http.response.body', 'body': b'ok'})
END
            in_background /usr/bin/uvicorn --port 8080 --lifespan off --no-access-log --log-level error app:app
            up 8080; look /",
    },
    SetUp {
        name: "puma-threads",
        needs: &["puma"],
        server: "puma with 4 threads that sleep for 10 ms",
        truth: &[POOL, SLOTS],
        says: &["4 slots of 1", "all 4 puma"],
        known_by: "4 threads of 10 ms are 400/s",
        script: "puma SLOTS 'sleep 0.01'; look / --no-keepalive",
    },
    SetUp {
        name: "puma-lock",
        needs: &["puma"],
        server: "puma with 8 threads that compute, on all CPUs",
        truth: &["interpreter-lock-limited"],
        says: &["Ruby's global VM lock"],
        known_by: "CRuby runs one thread at a time, and a second process doubles it on an idle machine",
        script: "CPUS=0,1 puma 8 '30_000.times { }'; look / --no-keepalive",
    },
    SetUp {
        name: "node-cpu",
        needs: &["node"],
        server: "Node with a handler that computes, pinned to one CPU",
        truth: &["cpu-limited"],
        says: &["node uses"],
        known_by: "one CPU, which `taskset` gives it: more processes buy nothing",
        script: "node <<'END'
require('http').createServer((_, answer) => { for (let i = 0; i < 1e6; i++); answer.end('ok') }).listen(8080, '127.0.0.1')
END
            look /",
    },
    SetUp {
        name: "node-agent-sockets",
        needs: &["node"],
        server: "Node that asks an idle backend of 10 ms over an agent of 4 sockets",
        truth: &[SLOTS],
        says: &["maxSockets"],
        known_by: "4 sockets of 10 ms are 400/s",
        script: "origin
            node <<'END'
const http = require('http'), agent = new http.Agent({ keepAlive: true, maxSockets: SLOTS })
http.createServer((_, answer) => http.get({ port: 8081, path: '/sleep?time=10ms', agent }, (from) => {
    from.resume(); from.on('end', () => answer.end('ok')) })).listen(8080, '127.0.0.1')
END
            look /",
    },
    SetUp {
        name: "node-cluster",
        needs: &["node"],
        server: "Node with a cluster of two workers that compute, pinned to one CPU",
        truth: &["cpu-limited"],
        says: &["node uses"],
        known_by: "two processes on one CPU, which `taskset` gives them",
        script: "node <<'END'
const cluster = require('cluster')
if (cluster.isPrimary) { cluster.fork(); cluster.fork() } else {
    require('http').createServer((_, answer) => { for (let i = 0; i < 1e6; i++); answer.end('ok') })
        .listen(8080, '127.0.0.1') }
END
            look /",
    },
    SetUp {
        name: "go-semaphore",
        needs: &["go"],
        server: "Go whose handlers sleep for 10 ms behind a semaphore of 4",
        truth: &[SLOTS],
        says: &["4 slots of 1"],
        known_by: "4 at a time of 10 ms are 400/s, and no thread is busy",
        script: "golang <<'END'
package main
import (\"net/http\"; \"time\")
func main() {
    gate := make(chan bool, SLOTS)
    http.ListenAndServe(\"127.0.0.1:8080\", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
        gate <- true
        time.Sleep(10 * time.Millisecond)
        <-gate
        w.Write([]byte(\"ok\"))
    }))
}
END
            look /",
    },
    SetUp {
        name: "go-mutex",
        needs: &["go"],
        server: "Go whose handlers sleep for 5 ms with a mutex held",
        truth: &[SLOTS, "contention-limited"],
        says: &["1 slot of 5", "locks"],
        known_by: "one at a time of 5 ms is 200/s",
        script: "golang <<'END'
package main
import (\"net/http\"; \"sync\"; \"time\")
func main() {
    var lock sync.Mutex
    http.ListenAndServe(\"127.0.0.1:8080\", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
        lock.Lock()
        time.Sleep(5 * time.Millisecond)
        lock.Unlock()
        w.Write([]byte(\"ok\"))
    }))
}
END
            look /",
    },
    SetUp {
        name: "go-one-thread-mutex",
        needs: &["go"],
        server: "Go with GOMAXPROCS=1 on both CPUs, whose handlers compute with a mutex held; then two such processes",
        truth: &["single-thread-limited"],
        says: &["GOMAXPROCS", "one thread"],
        known_by: "one thread runs at a time with the mutex or without it",
        script: "golang <<'END'
package main
import (\"context\"; \"net\"; \"net/http\"; \"runtime\"; \"sync\"; \"syscall\")
func main() {
    runtime.GOMAXPROCS(1)
    var lock sync.Mutex
    share := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
        return c.Control(func(fd uintptr) { syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, 15, 1) })
    }}
    listener, err := share.Listen(context.Background(), \"tcp\", \"127.0.0.1:8080\")
    if err != nil { panic(err) }
    http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
        lock.Lock()
        for i, n := 0, 0; i < 3000000; i++ { n += i }
        lock.Unlock()
        w.Write([]byte(\"ok\"))
    }))
}
END
            kill $server; wait $server || true
            for _ in $(seq $((SLOTS / 4))); do CPUS=0,1 in_background ./app; done
            up 8080
            look /",
    },
    SetUp {
        name: "java-pool",
        needs: &["java"],
        server: "Java's HttpServer with a pool of 4 threads that sleep for 10 ms",
        truth: &[POOL, SLOTS],
        says: &["4 slots of 1", "all 4 java"],
        known_by: "4 threads of 10 ms are 400/s",
        script: "java -XX:TieredStopAtLevel=1 SLOTS '' 'try { Thread.sleep(10); } catch (InterruptedException stopped) { return; }'; look /",
    },
    SetUp {
        name: "java-small-heap",
        needs: &["java"],
        server: "Java's HttpServer with a heap of 24 MiB and handlers that allocate",
        truth: &["cpu-limited"],
        says: &["java uses"],
        known_by: "the collector takes the one CPU, which `taskset` gives it",
        script: "java '-Xmx24m -XX:+UseSerialGC' 8 \
                'var kept = new java.util.ArrayList<byte[]>(); for (int i = 0; i < 12; i++) kept.add(new byte[1 << 20]);' \
                'int sum = kept.size(); for (int i = 0; i < 64; i++) sum += new byte[1 << 14].length;'
            look /",
    },
    SetUp {
        name: "python-threads-compute",
        needs: &["python3"],
        server: "Python's ThreadingHTTPServer with handlers that compute, on both CPUs",
        truth: &["interpreter-lock-limited"],
        says: &["CPython's global interpreter lock"],
        known_by: "CPython runs one thread at a time, on two CPUs",
        script: "CPUS=0,1 python <<'END'
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        sum(range(100000))
        self.wfile.write(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok')
    def log_message(self, *_): pass
ThreadingHTTPServer.request_queue_size = 1024
ThreadingHTTPServer(('127.0.0.1', 8080), Handler).serve_forever()
END
            look /",
    },
    SetUp {
        name: "java-synchronized",
        needs: &["java"],
        server: "Java's HttpServer whose 16 threads sleep for 5 ms in a synchronized block",
        truth: &[SLOTS, "contention-limited"],
        says: &["1 slot of 5", "locks"],
        known_by: "one at a time of 5 ms is 200/s",
        script: "java -XX:TieredStopAtLevel=1 16 '' 'synchronized (App.class) { try { Thread.sleep(5); } catch (InterruptedException stopped) { return; } }'
            look /",
    },
];
