import sys
from wsgiref.simple_server import WSGIRequestHandler, make_server

from wsgi import app


class Quiet(WSGIRequestHandler):
    def log_message(self, *args):
        pass


make_server("127.0.0.1", int(sys.argv[1]), app, handler_class=Quiet).serve_forever()
