<?php
$path = $_SERVER['REQUEST_URI'];
if ($path === '/204' || $path === '/304') {
    http_response_code((int) substr($path, 1));
    return;
}
$body = str_repeat('x', $path === '/big' ? 1 << 20 : 64);
if ($path !== '/chunked') {
    header('Content-Length: ' . strlen($body));
}
echo $body;
