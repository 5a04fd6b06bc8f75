//! Page caches of nginx (fastcgi_cache) and Apache (mod_cache_disk) for WordPress.

use crate::place::Place;

/// What stands in the http block of nginx: where pages are kept, and which are not. Those are answers to other methods, to
/// queries, to visitors who are known by a cookie or a password, and of the administration.
pub(super) fn http(place: &Place) -> String {
    format!(
        "  fastcgi_cache_path {folder} levels=1:2 keys_zone=pages:10m max_size=512m inactive=1h use_temp_path=off;\n\
         \x20 map \"$request_method:$request_uri\" $is_own_page {{\n\
         \x20   default 0;\n\
         \x20   \"~^(?!GET:|HEAD:)\" 1;\n\
         \x20   \"~[?]\" 1;\n\
         \x20   \"~:/wp-(admin|json|login|cron)\" 1;\n\
         \x20 }}\n\
         \x20 map $http_cookie $is_known_visitor {{\n\
         \x20   default 0;\n\
         \x20   \"~(wordpress_logged_in|comment_author|wp-postpass)\" 1;\n\
         \x20 }}\n",
        folder = place.text("tmp/pages"),
    )
}

/// What stands where nginx passes requests on. The pages of a site link to the host and port that were asked for.
pub(super) const PASS: &str = "\n      fastcgi_cache pages;\
    \n      fastcgi_cache_key \"$scheme$request_method$http_host$request_uri\";\
    \n      fastcgi_cache_valid 200 10m;\
    \n      fastcgi_cache_bypass $is_own_page $is_known_visitor $http_authorization;\
    \n      fastcgi_no_cache $is_own_page $is_known_visitor $http_authorization;\
    \n      fastcgi_cache_lock on;\
    \n      add_header X-Page-Cache $upstream_cache_status;\n   ";

/// Modules of Apache's page cache.
pub(super) const MODULES: &[&str] = &["cache", "cache_disk"];

/// What stands in the configuration of Apache. Its quick handler looks for a page before anything else is asked, so that nobody
/// knows there which visitor it is. It looks again at an internal redirect to `/index.php`, which is no page.
pub(super) fn apache(place: &Place) -> String {
    let not_kept =
        ["/index.php", "/wp-admin", "/wp-json", "/wp-login.php", "/wp-cron.php", "/fpm-status", "/server-status"];
    format!(
        "CacheQuickHandler on\nCacheRoot {folder}\nCacheEnable disk /\nCacheDefaultExpire 600\nCacheMaxExpire 600\n\
         CacheIgnoreNoLastMod On\nCacheHeader on\n{not_kept}",
        folder = place.text("tmp"),
        not_kept = not_kept.map(|path| format!("CacheDisable {path}\n")).concat(),
    )
}
