const Hapi = require('@hapi/hapi');
const { Readable } = require('node:stream');
const server = Hapi.server({ port: Number(process.argv[2]), host: '127.0.0.1' });
server.route({
  method: 'GET',
  path: '/{name}',
  handler: ({ path }, h) => {
    if (path === '/204' || path === '/304') {
      return h.response().code(Number(path.slice(1)));
    }
    if (path === '/chunked') {
      return h.response(Readable.from(['x'.repeat(32), 'x'.repeat(32)], { objectMode: false }));
    }
    return 'x'.repeat(path === '/big' ? 1 << 20 : 64);
  },
});
server.start();
