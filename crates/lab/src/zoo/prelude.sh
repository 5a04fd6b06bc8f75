# What the set-ups of the zoo are written in, besides the words of the injections.

# in_background COMMAND: a server on CPU 0, or on CPUS, that ends with this script. In a session of its own, as Apache ends its
# group with it.
in_background() { setsid setpriv --pdeathsig KILL taskset -c "${CPUS:-0}" "$@" >>log 2>&1 & server=$!; }

# up PORT: waits until something listens there.
up() {
    for _ in $(seq 300); do
        if (exec 3<>/dev/tcp/127.0.0.1/"$1") 2>/dev/null; then return; fi
        kill -0 $server || { cat log >&2; exit 1; }
        sleep 0.05
    done
    cat log >&2
    exit 1
}

# origin: an idle backend on port 8081 that answers /sleep?time=10ms without a limit.
origin() {
    "$PLIMSOLL" target --die-with-parent --listen 127.0.0.1:8081 --cpus 0 >origin &
    server=$!
    up 8081
}

# backend PORT TIME: a backend that answers /pool, 4 at a time of so long.
backend() {
    "$PLIMSOLL" target --die-with-parent --listen 127.0.0.1:"$1" --cpus 0 --pool 4 --pool-time "$2" >origin &
    server=$!
    up "$1"
}

# stopping PID: stops and continues a process every 50 ms, as long as this script lives. Afterwards it goes on: one that is stopped
# does not end.
stopping() {
    exec setpriv --pdeathsig KILL bash -c 'trap "kill -CONT $0; exit" TERM
        while kill -STOP "$0"; do sleep 0.05; kill -CONT "$0"; sleep 0.05; done' "$1"
}

# forked PROCESSES ANSWER READ [BACKLOG]: processes that share a listening socket and do ANSWER for each request, with the writing
# end of a pipe, of which another process has the reading end and does READ.
forked() {
    python <<END
import os, signal, socket, time
end, pipe = os.pipe()
if os.fork() == 0:
    os.close(pipe)
    $3
    signal.pause()
os.close(end)
listener = socket.create_server(("127.0.0.1", 8080), backlog=${4:-1024})
for _ in range($1 - 1):
    if os.fork() == 0:
        break
while True:
    client, _ = listener.accept()
    client.recv(4096)
    $2
    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    client.close()
END
}

# nginx HTTP [WORKERS] [EVENTS]: nginx with this inside of its http block.
nginx() {
    mkdir -p nginx
    cat >nginx.conf <<END
daemon off; master_process on; worker_processes ${2:-1}; pid $PWD/nginx.pid; error_log stderr crit;
events { worker_connections ${3:-512}; }
http {
    access_log off; client_body_temp_path nginx; proxy_temp_path nginx; fastcgi_temp_path nginx; uwsgi_temp_path nginx;
    scgi_temp_path nginx; keepalive_requests 1000000000;
    $1
}
END
    in_background /usr/sbin/nginx -p "$PWD" -c "$PWD/nginx.conf" -e stderr
    up 8080
}

# threads MPM: Apache with 64 threads of this MPM.
threads() {
    apache "$1" 'StartServers 1
        ServerLimit 1
        ThreadsPerChild 64
        MaxRequestWorkers 64'
}

# apache MPM DIRECTIVES: Apache with this MPM and a small file.
apache() {
    mkdir -p www
    echo hello >www/index.html
    chmod -R a+rX .
    cat >apache.conf <<END
ServerRoot $PWD
ServerName localhost
PidFile $PWD/apache.pid
Listen 127.0.0.1:8080
User www-data
Group www-data
LoadModule mpm_$1_module /usr/lib/apache2/modules/mod_mpm_$1.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule dir_module /usr/lib/apache2/modules/mod_dir.so
DocumentRoot $PWD/www
ErrorLog $PWD/log
KeepAlive On
MaxKeepAliveRequests 0
$2
END
    in_background /usr/sbin/apache2 -f "$PWD/apache.conf" -DFOREGROUND
    up 8080
}

# haproxy SERVER FRONTEND: HAProxy in front of the origin.
haproxy() {
    cat >haproxy.cfg <<END
global
    nbthread 1
defaults
    mode http
    timeout client 30s
    timeout server 30s
    timeout connect 5s
    timeout queue 30s
frontend f
    bind 127.0.0.1:8080
    ${2:-}
    default_backend b
backend b
    server origin 127.0.0.1:8081 $1
END
    in_background /usr/sbin/haproxy -f haproxy.cfg
    up 8080
}

# python [ARGUMENTS]: a Python program from standard input.
python() {
    cat >app.py
    in_background /usr/bin/python3 app.py "$@"
    up 8080
}

# asyncio SET-UP ANSWER: a server on one event loop that first does SET-UP, and ANSWER for each request.
asyncio() {
    python <<END
import asyncio, concurrent.futures, time
async def serve(reader, writer, own):
    while (await reader.readuntil(b"\r\n\r\n")):
        $2
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
async def main():
    own = $1
    server = await asyncio.start_server(lambda r, w: serve(r, w, own), "127.0.0.1", 8080, backlog=1024)
    await server.serve_forever()
asyncio.run(main())
END
}

# wsgi NAME BODY: an application of WSGI whose handler does this first.
wsgi() {
    cat >app.py <<END
import hashlib, os, socket, sqlite3, threading, time, fcntl
$1
def app(environ, start):
    $2
    start("200 OK", [("Content-Length", "2")])
    return [b"ok"]
END
}

# gunicorn FLAGS: gunicorn with that application.
gunicorn() {
    in_background /usr/bin/gunicorn --bind 127.0.0.1:8080 --worker-tmp-dir /dev/shm --log-level error "$@" app:app
    up 8080
}

# puma THREADS ANSWER: puma with an application of Rack that does this first.
puma() {
    cat >config.ru <<END
run lambda { |_| $2; [200, { 'Content-Length' => '2' }, ['ok']] }
END
    in_background /usr/bin/puma --quiet --bind tcp://127.0.0.1:8080 --threads "$1:$1" config.ru
    up 8080
}

# postgres: PostgreSQL of a user `zoo`, with a data folder of its own.
postgres() {
    local bin=/usr/lib/postgresql/15/bin own=(setpriv --reuid postgres --regid postgres --clear-groups)
    mkdir -m 700 data
    chown postgres data
    chmod a+x .
    "${own[@]}" $bin/initdb --pgdata "$PWD/data" --username zoo --auth trust --no-sync >>log
    in_background "${own[@]}" $bin/postgres -D "$PWD/data" -p 5432 -c listen_addresses=127.0.0.1 -c unix_socket_directories=
    up 5432
}

# bouncer CONNECTIONS: PgBouncer in front of it, with so many connections, each for one transaction.
bouncer() {
    cat >bouncer.ini <<END
[databases]
postgres = host=127.0.0.1 port=5432 user=zoo dbname=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = 6432
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = $1
max_client_conn = 100
END
    chmod a+r bouncer.ini
    in_background setpriv --reuid postgres --regid postgres --clear-groups /usr/sbin/pgbouncer bouncer.ini
    up 6432
}

# redis NUMBER: one Redis on port 6379 and CPU 1, or a second one on port 6380 and CPU 0.
redis() {
    local port
    for port in $(seq 6379 $((6378 + $1))); do
        CPUS=$((6380 - port)) in_background /usr/bin/redis-server --port "$port" --save ''
        up "$port"
    done
}

# node: a program of Node from standard input.
node() {
    cat >app.js
    in_background "$(type -P node)" app.js
    up 8080
}

# golang: a program of Go from standard input.
golang() {
    cat >app.go
    GO111MODULE=off GOCACHE=/tmp/plimsoll-zoo-go go build -o app app.go
    in_background ./app
    up 8080
}

# java FLAGS THREADS SET-UP ANSWER: a server of Java with that many threads that first does SET-UP, and ANSWER for each request.
java() {
    cat >App.java <<END
import com.sun.net.httpserver.*;
public class App {
    public static void main(String[] arguments) throws Exception {
        $3
        var server = HttpServer.create(new java.net.InetSocketAddress("127.0.0.1", 8080), 1024);
        server.createContext("/", exchange -> {
            $4
            exchange.sendResponseHeaders(200, 2);
            exchange.getResponseBody().write("ok".getBytes());
            exchange.close();
        });
        server.setExecutor(java.util.concurrent.Executors.newFixedThreadPool($2));
        server.start();
    }
}
END
    # Without it each answer waits for an acknowledgement that the client delays.
    in_background "$(type -P java)" -Dsun.net.httpserver.nodelay=true $1 App.java
    up 8080
}

# php CHILDREN PHP FLAGS: php-fpm behind nginx, that many children.
php() {
    mkdir -p www
    echo "<?php $2" >www/index.php
    chmod -R a+rX .
    measure sweep --serve "php-fpm children=$1 root=$PWD/www" $WINDOW -t 1 --from 1 --to 32 --points 6 "${@:3}"
}

# How long each load lasts.
WINDOW="-d 2s --warmup 500ms --iterations 1"

# look PATH FLAGS: the sweep of most set-ups, over other loads where a set-up says so.
loads="--from 1 --to 32 --points 6"
look() { measure sweep "$url$1" $WINDOW -t 1 --cpus 1 $loads "${@:2}"; }
