# What the cases are written in, besides the words of the zoo and of the injections.

# say ARGUMENTS: plimsoll itself, and its exit code.
say() {
    local code=0
    "$PLIMSOLL" "$@" 2>&1 || code=$?
    echo "exit $code"
}

# counting ANSWER: a server of Python that counts requests in the file `count` and answers by ANSWER, which may use `n` (the number of
# the request), `request` and `client`.
counting() {
    cat >app.py <<END
import socket, struct, threading
lock = threading.Lock()
count = 0
flying = 0
def serve(client):
    global count, flying
    kept = b""
    while True:
        while b"\r\n\r\n" not in kept:
            more = client.recv(65536)
            if not more: return
            kept += more
        request, kept = kept.split(b"\r\n\r\n", 1)
        length = [int(line.split(b":")[1]) for line in request.split(b"\r\n") if line.lower().startswith(b"content-length:")]
        while length and len(kept) < length[0]: kept += client.recv(65536)
        kept = kept[length[0]:] if length else kept
        with lock:
            count += 1
            flying += 1
            n = count
            open("count", "w").write(str(n))
        is_closed = answer(client, request, n) is False
        with lock: flying -= 1
        if is_closed: return
def ok(client, body=b"ok", head=b"", status=b"200 OK"):
    client.sendall(b"HTTP/1.1 " + status + b"\r\n" + head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
def answer(client, request, n):
    $1
listener = socket.create_server(("127.0.0.1", 8080), backlog=1024)
connections = 0
while True:
    client, _ = listener.accept()
    connections += 1
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    ${2:-pass}
    threading.Thread(target=serve, args=(client,), daemon=True).start()
END
    in_background /usr/bin/python3 app.py
    up 8080
}

# resetting: the same, that resets every second new connection.
resetting() {
    counting 'ok(client)' 'if connections % 2 == 0:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)); client.close(); continue'
}
