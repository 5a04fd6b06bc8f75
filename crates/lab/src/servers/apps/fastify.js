const app = require('fastify')();
const { Readable } = require('node:stream');
app.get('/*', (request, reply) => {
  const path = request.url;
  if (path === '/204' || path === '/304') {
    return reply.code(Number(path.slice(1))).send();
  }
  if (path === '/chunked') {
    return reply.send(Readable.from(['x'.repeat(32), 'x'.repeat(32)]));
  }
  return reply.send('x'.repeat(path === '/big' ? 1 << 20 : 64));
});
app.listen({ port: Number(process.argv[2]), host: '127.0.0.1' });
