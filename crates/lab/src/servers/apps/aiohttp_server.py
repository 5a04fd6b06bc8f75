import sys

from aiohttp import web


async def page(request):
    path = request.path
    if path in ("/204", "/304"):
        return web.Response(status=int(path[1:]))
    if path == "/chunked":
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"x" * 32)
        await response.write(b"x" * 32)
        return response
    return web.Response(body=b"x" * (1 << 20 if path == "/big" else 64))


app = web.Application()
app.router.add_get("/{name}", page)
web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=None, print=None)
