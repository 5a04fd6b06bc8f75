"""The pages as a WSGI application."""

TEXT = ("Content-Type", "text/plain")


def app(environ, start):
    path = environ["PATH_INFO"]
    if path == "/204":
        start("204 No Content", [])
        return []
    if path == "/304":
        start("304 Not Modified", [])
        return []
    if path == "/chunked":
        start("200 OK", [TEXT])
        return iter([b"x" * 32, b"x" * 32])
    body = b"x" * (1 << 20 if path == "/big" else 64)
    start("200 OK", [TEXT, ("Content-Length", str(len(body)))])
    return [body]
