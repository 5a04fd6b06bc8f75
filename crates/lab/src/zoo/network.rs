//! Timers of TCP, handshakes, quotas.

use super::SetUp;

pub(super) static ALL: &[SetUp] = &[
    SetUp {
        name: "nagle",
        needs: &["python3"],
        server: "a Python server that writes head and body apart, with Nagle's algorithm",
        truth: &["timer-limited"],
        says: &["delayed acknowledgement"],
        known_by: "with TCP_NODELAY the same server takes a fraction of the 40 ms",
        script: "halves nagle; loads='--from 1 --to 8 --points 4' look /",
    },
    SetUp {
        name: "corked",
        needs: &["python3"],
        server: "a Python server that leaves its last segment corked",
        truth: &["timer-limited"],
        says: &["TCP_CORK"],
        known_by: "TCP_CORK holds a segment back for 200 ms",
        script: "python <<'END'
import socket, threading
def serve(client):
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    while client.recv(4096):
        client.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok')
listener = socket.create_server(('127.0.0.1', 8080), backlog=1024)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
END
            loads='--from 1 --to 8 --points 4' look /",
    },
    SetUp {
        name: "cpu-quota",
        needs: &["nginx"],
        server: "nginx in a control group with 20 % of a CPU",
        truth: &["cpu-quota-limited"],
        says: &["0.20 CPUs"],
        known_by: "`cpu.max` stops it for most of each period",
        script: "quota $((SLOTS * 5)); within nginx 'server { listen 127.0.0.1:8080; return 200 ok; }'; look /",
    },
    SetUp {
        name: "tls-handshakes",
        needs: &["nginx", "openssl"],
        server: "nginx with TLS, a connection for each request, and no session to resume",
        truth: &["cpu-limited", "single-thread-limited"],
        says: &["nginx uses"],
        known_by: "a handshake with RSA takes most of a millisecond of CPU",
        script: "openssl req -x509 -newkey rsa:2048 -nodes -keyout key -out cert -days 2 -subj /CN=zoo 2>>log
            nginx 'server { listen 127.0.0.1:8080 ssl; ssl_certificate cert; ssl_certificate_key key; ssl_session_cache off;
                ssl_session_tickets off; return 200 ok; }'
            url=https://127.0.0.1:8080; look / -k --no-keepalive",
    },
    SetUp {
        name: "slow-lookup",
        needs: &["gunicorn"],
        server: "gunicorn with 4 workers that each wait 50 ms for an answer over UDP, as for a slow name server",
        truth: &["worker-pool-limited"],
        says: &["waiting on 127.0.0.1:5300", "waiting on socket"],
        known_by: "4 workers of 50 ms are 80/s",
        script: "setpriv --pdeathsig KILL taskset -c 0 /usr/bin/python3 -c 'if True:
    import socket, threading
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind((\"127.0.0.1\", 5300))
    while True:
        d, a = s.recvfrom(512); threading.Timer(0.05, s.sendto, (d, a)).start()' &
            wsgi '' 's = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5); s.sendto(b\"q\", (\"127.0.0.1\", 5300)); s.recv(9); s.close()'
            gunicorn -w SLOTS; look / --no-keepalive",
    },
];
