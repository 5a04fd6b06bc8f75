//! What stands behind a server: databases, locks, disks.

use super::SetUp;

const POOL: &str = "worker-pool-limited";

pub(super) static ALL: &[SetUp] = &[
    SetUp {
        name: "mariadb-row-lock",
        needs: &["mariadbd", "php-fpm8.2"],
        server: "php-fpm with 8 children that update one row of MariaDB and hold it for 5 ms",
        truth: &["upstream-limited", "contention-limited", "concurrency-limited (inferred)"],
        says: &["mariadbd"],
        known_by: "one at a time of 5 ms is 200/s, with any number of children",
        script: "database 50
            mysql() { mariadb --socket=\"$socket\" -u root -e \"$1\"; }
            mysql 'CREATE DATABASE zoo; CREATE TABLE zoo.t (n INT) ENGINE=InnoDB; INSERT INTO zoo.t VALUES (0)'
            mkdir -p www
            echo \"<?php \\$db = mysqli_connect(null, 'root', '', 'zoo', null, '$socket'); \\$db->begin_transaction();
                \\$db->query('UPDATE t SET n = n + 1'); usleep(5000); \\$db->commit(); echo 1;\" >www/index.php
            chmod -R a+rX .
            measure sweep --serve \"php-fpm children=8 root=$PWD/www\" --observe mariadbd $WINDOW -t 1 --from 1 --to 32 --points 6",
    },
    SetUp {
        name: "mariadb-sleep",
        needs: &["mariadbd", "php-fpm8.2"],
        server: "php-fpm with 4 children that wait 100 ms for MariaDB",
        truth: &[POOL],
        says: &["waiting on mariadbd"],
        known_by: "4 children of 100 ms are 40/s, and MariaDB waits for as many as connect",
        script: "database 50
            chmod -R a+rX .
            measure sweep --serve \"php-fpm children=SLOTS root=$PWD/site\" $WINDOW -t 1 --from 1 --to 32 \
                --points 6",
    },
    SetUp {
        name: "file-lock",
        needs: &["gunicorn"],
        server: "gunicorn with 8 workers that hold one lock of a file for 5 ms",
        truth: &["contention-limited", "upstream-limited"],
        says: &["locks of files", "those of files", "for locks"],
        known_by: "one at a time of 5 ms is 200/s, with any number of workers",
        script: "wsgi '' 'with open(\"lock\", \"w\") as file: fcntl.flock(file, fcntl.LOCK_EX); time.sleep(0.005)'
            gunicorn -w 8; look / --no-keepalive",
    },
    SetUp {
        name: "sqlite-writers",
        needs: &["gunicorn"],
        server: "gunicorn with 4 workers that each hold SQLite's write lock for 5 ms",
        truth: &["contention-limited", POOL, "concurrency-limited (inferred)"],
        says: &["lock"],
        known_by: "one writer at a time: SQLite's busy handler sleeps until it has the lock",
        script: "wsgi 'db = sqlite3.connect(\"zoo.db\", timeout=20, isolation_level=None, check_same_thread=False)
db.execute(\"CREATE TABLE IF NOT EXISTS t (n)\")' \
                'db.execute(\"BEGIN IMMEDIATE\"); db.execute(\"INSERT INTO t VALUES (1)\"); time.sleep(0.005); db.execute(\"COMMIT\")'
            gunicorn -w 4; look / --no-keepalive --timeout 30s",
    },
    SetUp {
        name: "fsync",
        needs: &["gunicorn"],
        server: "gunicorn with 4 workers that each write and fsync 8 times",
        truth: &["disk-limited", POOL],
        says: &["disk", "fsync"],
        known_by: "the workers wait in fsync, and the CPUs rest",
        script: "wsgi '' 'file = os.open(\"f%d\" % os.getpid(), os.O_WRONLY | os.O_CREAT); [(os.write(file, b\"x\"), os.fsync(file)) \
                for _ in range(8)]; os.close(file)'
            gunicorn -w 4; look / --no-keepalive",
    },
    SetUp {
        name: "redis-blocking-script",
        needs: &["gunicorn", "redis-server"],
        server: "gunicorn with 8 workers that each ask Redis for a script of some milliseconds",
        truth: &["upstream-limited", "single-thread-limited"],
        says: &["redis-server"],
        known_by: "Redis runs one script at a time, on its one thread",
        script: "setpriv --pdeathsig KILL /usr/bin/redis-server --port 6379 --save '' >>log 2>&1 & server=$!
            up 6379
            wsgi '' 's = socket.create_connection((\"127.0.0.1\", 6379)); s.sendall(b\"EVAL \\\"local n = 0; for i = 1, 100000 do n = n + i end; return n\\\" 0\\r\\n\"); s.recv(99); s.close()'
            gunicorn -w 8; look / --no-keepalive --observe redis-server",
    },
    SetUp {
        name: "pgbouncer-pool",
        needs: &["gunicorn", "pgbouncer", "/usr/lib/postgresql/15/bin/postgres"],
        server: "gunicorn with 16 workers that each wait 10 ms for PostgreSQL, over a PgBouncer with 4 connections",
        truth: &["upstream-limited", "concurrency-limited (inferred)"],
        says: &["pgbouncer"],
        known_by: "4 connections of 10 ms are 400/s, and the workers are four times as many",
        script: "postgres; bouncer SLOTS
            wsgi 'import psycopg2
db = None' 'global db
    db = db or psycopg2.connect(host=\"127.0.0.1\", port=6432, user=\"zoo\", dbname=\"postgres\")
    db.autocommit = True
    db.cursor().execute(\"SELECT pg_sleep(0.01)\")'
            gunicorn -w 16; look / --no-keepalive --observe postgres --observe pgbouncer",
    },
    SetUp {
        name: "php-session",
        needs: &["nginx", "php-fpm8.2"],
        server: "php-fpm with 8 children that sleep for 20 ms with one session, which PHP locks; then with a session each",
        truth: &["contention-limited"],
        says: &["sessions"],
        known_by: "one at a time of 20 ms is 50/s, and 8 at a time are 400/s",
        script: "php 8 'session_save_path(sys_get_temp_dir());
            session_id(SLOTS == 4 ? \"zoo\" : \"zoo\" . bin2hex(random_bytes(8))); session_start(); usleep(20000); echo 1;'",
    },
    SetUp {
        name: "php-redis-script",
        needs: &["nginx", "php-fpm8.2", "redis-server"],
        server: "php-fpm with 8 children that ask Redis for a script of some milliseconds; then two of Redis",
        truth: &["single-thread-limited", "upstream-limited"],
        says: &["redis-server"],
        known_by: "Redis runs one script at a time, on its one thread; it has CPU 1, and the second has CPU 0",
        script: "redis $((SLOTS / 4))
            php 8 '$s = fsockopen(\"127.0.0.1\", 6378 + rand(1, SLOTS / 4)); fwrite($s, \"EVAL \\\"local n = 0; for i = 1, 400000 do n = n + i end; return n\\\" 0\\r\\n\");
                fgets($s); fclose($s); echo 1;' --observe redis-server",
    },
    SetUp {
        name: "node-redis-script",
        needs: &["node", "redis-server"],
        server: "Node that asks Redis for a script of some milliseconds; then two of Redis",
        truth: &["single-thread-limited", "upstream-limited", "concurrency-limited (inferred)"],
        says: &["redis-server"],
        known_by: "Redis runs one script at a time, on its one thread; it has CPU 1, and the second has CPU 0",
        script: "redis $((SLOTS / 4))
            node <<'END'
const net = require('net'), script = 'EVAL \"local n = 0; for i = 1, 400000 do n = n + i end; return n\" 0\\r\\n'
let turn = 0
require('http').createServer((_, answer) => {
    const asks = net.connect(6379 + turn++ % (SLOTS / 4), '127.0.0.1', () => asks.write(script))
    asks.once('data', () => { asks.end(); answer.end('ok') })
}).listen(8080, '127.0.0.1')
END
            look / --observe redis-server",
    },
];
