<?php
// Fills a WordPress that has just been installed: php content.php SITE ORIGIN CONTENT own|foreign
// CONTENT has an item a line, as JSON; times are minutes after the first of January 2024, or dates. What is foreign is
// stored as what a visitor writes: without scripts, and with nothing that is unserialized.
[, $site, $origin, $content, $trust] = $argv;
function fail(string $why): never
{
    fwrite(STDERR, "$why\n");
    exit(1);
}
$url = parse_url($origin);
$_SERVER['HTTP_HOST'] = "$url[host]:$url[port]";
$_SERVER['HTTPS'] = $url['scheme'] === 'https' ? 'on' : 'off';
$_SERVER += ['SERVER_NAME' => $url['host'], 'SERVER_PROTOCOL' => 'HTTP/1.1', 'REQUEST_METHOD' => 'GET', 'REQUEST_URI' => '/'];
define('WP_IMPORTING', true);
require "$site/wp-load.php";
wp_set_current_user(1);
$trust === 'foreign' ? kses_init_filters() : kses_remove_filters();
// The times of the content, not of this moment.
add_filter('wp_insert_post_data', function (array $data): array {
    $data['post_modified'] = $data['post_date'];
    $data['post_modified_gmt'] = $data['post_date_gmt'];
    return $data;
});

/** Date and time of so many minutes. */
function moment(int $minute): string
{
    return gmdate('Y-m-d H:i:s', 1704067200 + 60 * $minute);
}

/** When an item was written; nothing is of tomorrow, as WordPress would not show it. */
function date_of(array $item): string
{
    return isset($item['date']) ? min($item['date'], gmdate('Y-m-d H:i:s')) : moment($item['minute']);
}

/** A picture of grey squares, PNG, of about 60 kB. */
function picture(int $seed, int $width, int $height): string
{
    mt_srand($seed);
    $rows = '';
    for ($y = 0; $y < $height; $y += 4) {
        $row = "\0";
        for ($x = 0; $x < $width; $x += 4) {
            $row .= str_repeat(chr(mt_rand(0, 255)), 4);
        }
        $rows .= str_repeat($row, 4);
    }
    $chunk = fn(string $kind, string $data) => pack('N', strlen($data)) . $kind . $data . pack('N', crc32($kind . $data));
    $head = pack('NNCCCCC', $width, $height, 8, 0, 0, 0, 0);
    return "\x89PNG\r\n\x1a\n" . $chunk('IHDR', $head) . $chunk('IDAT', gzcompress($rows, 6)) . $chunk('IEND', '');
}

function image(array $item): int
{
    [$width, $height] = [1024, 576];
    $name = "image-$item[number].png";
    $folder = wp_upload_dir('2024/01');
    $folder['error'] && fail($folder['error']);
    $bytes = picture($item['seed'], $width, $height);
    file_put_contents("$folder[path]/$name", $bytes) === strlen($bytes) || fail("cannot write $folder[path]/$name");
    $post = ['post_mime_type' => 'image/png', 'post_title' => "Image $item[number]", 'post_status' => 'inherit'];
    $post += ['post_date' => moment(0), 'post_date_gmt' => moment(0), 'guid' => "/wp-content/uploads/2024/01/$name"];
    $id = wp_insert_attachment($post, "$folder[path]/$name", 0, true);
    is_wp_error($id) && fail($id->get_error_message());
    $metadata = ['width' => $width, 'height' => $height, 'file' => "2024/01/$name", 'sizes' => [], 'filesize' => strlen($bytes)];
    wp_update_attachment_metadata($id, $metadata);
    return $id;
}

/** Stores a post or page; false if nothing of it is left, as of a foreign one that was scripts only. */
function post(array $item, array $images): bool
{
    $post = ['post_type' => $item['kind'], 'post_title' => $item['title'], 'post_name' => $item['name']];
    $post += ['post_content' => $item['body'], 'post_status' => 'publish', 'post_author' => 1, 'comment_status' => 'open'];
    $post += ['post_date' => date_of($item), 'post_date_gmt' => date_of($item), 'post_excerpt' => $item['excerpt'] ?? ''];
    if ($item['kind'] === 'post') {
        $post += ['post_category' => [], 'tags_input' => $item['tags']];
        foreach ($item['categories'] as $name) {
            $category = term_exists($name, 'category') ?: wp_insert_term(wp_slash($name), 'category');
            // A name of which nothing is left.
            is_wp_error($category) || $post['post_category'][] = (int) $category['term_id'];
        }
    }
    // WordPress takes off a layer of slashes.
    $id = wp_insert_post(wp_slash($post), true);
    if (is_wp_error($id) && $id->get_error_code() === 'empty_content' && $GLOBALS['trust'] === 'foreign') {
        return false;
    }
    is_wp_error($id) && fail("$item[name]: " . $id->get_error_message());
    if (isset($item['image'])) {
        set_post_thumbnail($id, $images[$item['image']]);
    }
    foreach ($item['comments'] ?? [] as $comment) {
        $moment = date_of($comment);
        $author = wp_strip_all_tags($comment['author']);
        $made = wp_insert_comment(wp_slash(['comment_post_ID' => $id, 'comment_author' => $author, 'comment_approved' => 1,
            'comment_content' => wp_kses_data($comment['text']), 'comment_date' => $moment, 'comment_date_gmt' => $moment]));
        $made || fail("$item[name]: a comment cannot be stored: " . $GLOBALS['wpdb']->last_error);
    }
    return true;
}

// What an installation begins with has the time of this moment in it.
foreach (get_posts(['post_type' => ['post', 'page'], 'post_status' => 'any', 'numberposts' => -1, 'fields' => 'ids']) as $id) {
    wp_delete_post($id, true);
}
wp_defer_term_counting(true);
wp_defer_comment_counting(true);
wp_suspend_cache_invalidation(true);
$wpdb->query('START TRANSACTION');
$images = [];
$expected = ['post' => 0, 'page' => 0, 'image' => 0];
$lines = fopen($content, 'r') ?: fail("cannot read $content");
while (($line = fgets($lines)) !== false) {
    $item = json_decode($line, true, 512, JSON_THROW_ON_ERROR);
    $expected[$item['kind']]++;
    if ($item['kind'] === 'image') {
        $images[$item['number']] = image($item);
    } elseif (!post($item, $images)) {
        $expected[$item['kind']]--;
    }
}
wp_suspend_cache_invalidation(false);
wp_defer_term_counting(false);
wp_defer_comment_counting(false);
$wpdb->query('COMMIT') !== false || fail('the content cannot be stored: ' . $wpdb->last_error);
wp_cache_flush();
flush_rewrite_rules(false);
$made = ['post' => (int) wp_count_posts()->publish, 'page' => (int) wp_count_posts('page')->publish];
foreach ($made as $kind => $count) {
    $count === $expected[$kind] || fail("{$expected[$kind]} {$kind}s were to be made, and $count were: $wpdb->last_error");
}
