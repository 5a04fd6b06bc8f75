// The pages for node: (request, response) of its http module.
module.exports = (request, response) => {
  const path = request.url;
  if (path === '/204' || path === '/304') {
    response.writeHead(Number(path.slice(1)));
    return response.end();
  }
  response.setHeader('Content-Type', 'text/plain');
  if (path === '/chunked') {
    response.write('x'.repeat(32));
    return response.end('x'.repeat(32));
  }
  const body = 'x'.repeat(path === '/big' ? 1 << 20 : 64);
  response.setHeader('Content-Length', body.length);
  response.end(body);
};
