const Koa = require('koa');
const { Readable } = require('node:stream');
const app = new Koa();
app.use((context) => {
  const path = context.path;
  if (path === '/204' || path === '/304') {
    context.status = Number(path.slice(1));
  } else if (path === '/chunked') {
    context.body = Readable.from(['x'.repeat(32), 'x'.repeat(32)]);
  } else {
    context.body = 'x'.repeat(path === '/big' ? 1 << 20 : 64);
  }
});
app.listen(Number(process.argv[2]), '127.0.0.1');
