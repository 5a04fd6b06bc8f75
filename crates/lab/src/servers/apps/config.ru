run(lambda do |env|
  path = env['PATH_INFO']
  next [path[1..].to_i, {}, []] if ['/204', '/304'].include?(path)
  text = { 'content-type' => 'text/plain' }
  next [200, text, ['x' * 32, 'x' * 32].each] if path == '/chunked'
  body = 'x' * (path == '/big' ? 1 << 20 : 64)
  [200, text.merge('content-length' => body.bytesize.to_s), [body]]
end)
