Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.argv[2]),
  fetch(request) {
    const path = new URL(request.url).pathname;
    if (path === '/204' || path === '/304') {
      return new Response(null, { status: Number(path.slice(1)) });
    }
    if (path === '/chunked') {
      return new Response(async function* () {
        yield 'x'.repeat(32);
        yield 'x'.repeat(32);
      }());
    }
    return new Response('x'.repeat(path === '/big' ? 1 << 20 : 64));
  },
});
