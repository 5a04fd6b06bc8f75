import asyncio
import logging
import sys

from tornado import web


class Page(web.RequestHandler):
    async def get(self):
        path = self.request.path
        if path in ("/204", "/304"):
            self.set_status(int(path[1:]))
        elif path == "/chunked":
            self.write(b"x" * 32)
            await self.flush()
            self.write(b"x" * 32)
        else:
            self.write(b"x" * (1 << 20 if path == "/big" else 64))

    head = get


async def main():
    logging.disable()
    web.Application([(r"/.*", Page)]).listen(int(sys.argv[1]), "127.0.0.1")
    await asyncio.Event().wait()


asyncio.run(main())
