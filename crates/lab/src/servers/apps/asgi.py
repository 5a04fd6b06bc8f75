"""The pages as an ASGI application."""

TEXT = (b"content-type", b"text/plain")


async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    path = scope["path"]

    async def answer(status, headers, *parts):
        await send({"type": "http.response.start", "status": status, "headers": headers})
        for part in parts[:-1]:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": parts[-1]})

    if path in ("/204", "/304"):
        await answer(int(path[1:]), [], b"")
    elif path == "/chunked":
        await answer(200, [TEXT], b"x" * 32, b"x" * 32)
    else:
        body = b"x" * (1 << 20 if path == "/big" else 64)
        await answer(200, [TEXT, (b"content-length", str(len(body)).encode())], body)
