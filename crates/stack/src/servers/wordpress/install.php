<?php
// Installs WordPress in a database that is empty:
// php install.php SITE OWN_FILES ORIGIN DATABASE_SOCKET CREDENTIALS
// OWN_FILES is laid over SITE.
[, $site, $own, $origin, $socket, $credentials] = $argv;
function fail(string $why): never
{
    fwrite(STDERR, "$why\n");
    exit(1);
}
extension_loaded('mysqli') || fail('PHP has no extension mysqli: apt-get install php-mysql');
[$user, $password] = explode(':', trim(file_get_contents($credentials)), 2);
$files = new RecursiveDirectoryIterator($own, FilesystemIterator::SKIP_DOTS);
foreach (new RecursiveIteratorIterator($files, RecursiveIteratorIterator::SELF_FIRST) as $path => $found) {
    $to = $site . substr($path, strlen($own));
    $done = $found->isDir() ? is_dir($to) || mkdir($to) : copy($path, $to);
    $done || fail("cannot write $to");
}

mysqli_report(MYSQLI_REPORT_OFF);
$database = @mysqli_connect('localhost', 'root', '', '', 0, $socket);
$database || fail('cannot connect to the database: ' . mysqli_connect_error());
$made = mysqli_query($database, 'CREATE DATABASE wordpress CHARACTER SET utf8mb4');
$made || fail('cannot create the database: ' . mysqli_error($database));

$url = parse_url($origin);
$_SERVER['HTTP_HOST'] = "$url[host]:$url[port]";
$_SERVER['HTTPS'] = $url['scheme'] === 'https' ? 'on' : 'off';
$_SERVER += ['SERVER_NAME' => $url['host'], 'SERVER_PROTOCOL' => 'HTTP/1.1', 'REQUEST_METHOD' => 'GET', 'REQUEST_URI' => '/'];
$_SERVER['PHP_SELF'] = '/index.php';
define('WP_INSTALLING', true);
require "$site/wp-load.php";
// Nobody is sent a message.
function wp_new_blog_notification() {}
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
// Otherwise it would try whether a web server answers.
$structure = fn() => '/%postname%/';
add_filter('pre_option_permalink_structure', $structure);
$installed = wp_install('plimsoll', $user, 'admin@example.invalid', true, '', $password);
is_wp_error($installed) && fail('WordPress cannot be installed: ' . $installed->get_error_message());
remove_filter('pre_option_permalink_structure', $structure);
update_option('permalink_structure', $structure());
// Made when the site is first loaded with all that it knows.
update_option('rewrite_rules', '');
if (!wp_get_theme()->exists()) {
    $themes = array_keys(wp_get_themes());
    $themes || fail("there is no theme in $site: apt-get install wordpress-theme-twentytwentythree");
    switch_theme($themes[0]);
}

// An application password for REST, the same as that of the user.
add_filter('random_password', fn() => $password);
$made = WP_Application_Passwords::create_new_application_password($installed['user_id'], ['name' => 'plimsoll']);
is_wp_error($made) && fail('no application password: ' . $made->get_error_message());
$count = $GLOBALS['wpdb']->get_var("SELECT COUNT(*) FROM {$GLOBALS['wpdb']->users}");
(int) $count === 1 || fail('WordPress was not installed: ' . $GLOBALS['wpdb']->last_error);
