<?php
// Page cache: whole pages in files, served before WordPress is loaded. A drop-in of plimsoll, in the place of plugins that do
// the same. Not kept: answers to other methods, to queries, to visitors who are known, and of the administration.
(function (): void {
    $uri = $_SERVER['REQUEST_URI'] ?? '';
    $is_own_page = ($_SERVER['REQUEST_METHOD'] ?? '') !== 'GET'
        || isset($_SERVER['HTTP_AUTHORIZATION'])
        || preg_match('#[?]|^/wp-(admin|json|login|cron)#', $uri)
        || preg_match('#wordpress_logged_in|comment_author|wp-postpass#', $_SERVER['HTTP_COOKIE'] ?? '');
    if (PHP_SAPI === 'cli' || $is_own_page) {
        return;
    }
    $file = PLIMSOLL_PAGES . '/' . sha1(($_SERVER['HTTPS'] ?? '') . ' ' . ($_SERVER['HTTP_HOST'] ?? '') . ' ' . $uri);
    if (@filemtime($file) > time() - 600) {
        header('Content-Type: text/html; charset=UTF-8');
        header('X-Page-Cache: HIT');
        readfile($file);
        exit;
    }
    header('X-Page-Cache: MISS');
    ob_start(function (string $page) use ($file): string {
        if (http_response_code() === 200 && str_contains($page, '</html>')) {
            $fresh = $file . '.' . getmypid();
            @mkdir(PLIMSOLL_PAGES, 0700);
            // Whoever reads it meanwhile has the old one or the new one.
            file_put_contents($fresh, $page) === strlen($page) && rename($fresh, $file);
        }
        return $page;
    });
})();
