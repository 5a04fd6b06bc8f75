//! Servers that Debian packs.

use super::super::setup::{Pages, Setup};
use crate::install::Origin::Debian;
use xtask::packages::Tool;

const NGINX: &str = "\
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {}
http {
    access_log off;
    client_body_temp_path {folder}/tmp;
    server {
        listen 127.0.0.1:{port};
        listen 127.0.0.1:{tls_port} ssl;
        ssl_certificate {folder}/cert.pem;
        ssl_certificate_key {folder}/key.pem;
        root {site};
    }
}
";
const APACHE: &str = "\
ServerName localhost
ServerRoot {folder}
PidFile {folder}/apache.pid
ErrorLog {folder}/error.log
Listen 127.0.0.1:{port}
Listen 127.0.0.1:{tls_port} https
User {user}
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so
DocumentRoot {site}
<VirtualHost 127.0.0.1:{tls_port}>
SSLEngine on
SSLCertificateFile {folder}/cert.pem
SSLCertificateKeyFile {folder}/key.pem
</VirtualHost>
";
const LIGHTTPD: &str = "\
server.document-root = \"{site}\"
server.bind = \"127.0.0.1\"
server.port = {port}
server.errorlog = \"{folder}/error.log\"
server.modules = ( \"mod_openssl\" )
$SERVER[\"socket\"] == \"127.0.0.1:{tls_port}\" {
    ssl.engine = \"enable\"
    ssl.pemfile = \"{folder}/cert.pem\"
    ssl.privkey = \"{folder}/key.pem\"
}
";
const CADDY: &str = "\
{
    admin off
    auto_https off
}
http://127.0.0.1:{port} {
    root * {site}
    file_server
}
https://127.0.0.1:{tls_port} {
    tls {folder}/cert.pem {folder}/key.pem
    root * {site}
    file_server
}
";
const HAPROXY: &str = "\
defaults
    mode http
    timeout client 30s
    timeout server 30s
    timeout connect 5s
frontend pages
    bind 127.0.0.1:{port}
    bind 127.0.0.1:{tls_port} ssl crt {folder}/both.pem
    http-request return status 200 content-type text/plain string xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
";
const H2O: &str = "\
user: {user}
hosts:
  default:
    listen: { host: 127.0.0.1, port: {port} }
    paths:
      /: { file.dir: {site} }
";
const YAWS: &str = "\
logdir = {folder}
<server localhost>
    port = {port}
    listen = 127.0.0.1
    docroot = {site}
</server>
";
const PSGI: &str = include_str!("../apps/pages.psgi");
const RACK: &str = include_str!("../apps/config.ru");

#[rustfmt::skip]
pub(super) static SETUPS: [Setup; 18] = [
    Setup::new("nginx", "C, events", Debian(&[Tool::new("nginx", &["nginx-light", "nginx"])]), "nginx -p {folder} -c {folder}/nginx.conf -e {folder}/error.log")
        .files(&[("nginx.conf", NGINX)]).pages(Pages::Files).tls(),
    Setup::new("apache", "C, processes and threads", Debian(&[Tool::new("apache2", &["apache2-bin"])]), "apache2 -d {folder} -f {folder}/apache.conf -D FOREGROUND")
        .files(&[("apache.conf", APACHE)]).pages(Pages::Files).tls(),
    Setup::new("lighttpd", "C, events", Debian(&[Tool::new("lighttpd", &["lighttpd"]), Tool::new("/usr/lib/lighttpd/mod_openssl.so", &["lighttpd-mod-openssl"])]), "lighttpd -D -f {folder}/lighttpd.conf")
        .files(&[("lighttpd.conf", LIGHTTPD)]).pages(Pages::Files).tls(),
    Setup::new("caddy", "Go", Debian(&[Tool::new("caddy", &["caddy"])]), "caddy run --adapter caddyfile --config {folder}/Caddyfile")
        .files(&[("Caddyfile", CADDY)]).pages(Pages::Files).tls(),
    Setup::new("haproxy", "C, events", Debian(&[Tool::new("haproxy", &["haproxy"])]), "cat cert.pem key.pem > both.pem && exec haproxy -db -f {folder}/haproxy.cfg")
        .files(&[("haproxy.cfg", HAPROXY)]).pages(Pages::Hello).tls(),
    Setup::new("h2o", "C, events", Debian(&[Tool::new("h2o", &["h2o"])]), "h2o -c {folder}/h2o.yaml")
        .files(&[("h2o.yaml", H2O)]).pages(Pages::Files),
    Setup::new("busybox", "C, a process each", Debian(&[Tool::new("busybox", &["busybox"])]), "busybox httpd -f -p 127.0.0.1:{port} -h {site}")
        .pages(Pages::Files),
    Setup::new("webfs", "C, events", Debian(&[Tool::new("webfsd", &["webfs"])]), "webfsd -F -i 127.0.0.1 -p {port} -r {site}")
        .pages(Pages::Files),
    Setup::new("mini-httpd", "C, a process each", Debian(&[Tool::new("mini_httpd", &["mini-httpd"])]), "mini_httpd -D -h 127.0.0.1 -p {port} -d {site} -u {user}")
        .pages(Pages::Files),
    Setup::new("yaws", "Erlang", Debian(&[Tool::new("yaws", &["yaws"])]), "sleep infinity | yaws -i --conf {folder}/yaws.conf")
        .files(&[("yaws.conf", YAWS)]).pages(Pages::Files),
    Setup::new("openssl", "C, one connection at a time", Debian(&[Tool::new("openssl", &["openssl"])]), "cd {site} && (python3 -m http.server --bind 127.0.0.1 {port} & exec openssl s_server -quiet -WWW -accept 127.0.0.1:{tls_port} -cert {folder}/cert.pem -key {folder}/key.pem)")
        .pages(Pages::Files).tls(),
    Setup::new("php", "PHP, its own server", Debian(&[Tool::new("php", &["php-cli"])]), "php -S 127.0.0.1:{port} {folder}/page.php 2>/dev/null")
        .files(&[("page.php", include_str!("../apps/php.php"))]).pages(Pages::ProgramWithoutChunks),
    Setup::new("plackup", "Perl, HTTP::Server::PSGI", Debian(&[Tool::new("plackup", &["libplack-perl"])]), "plackup --no-default-middleware -E none -o 127.0.0.1 -p {port} {folder}/pages.psgi")
        .files(&[("pages.psgi", PSGI)]).pages(Pages::ProgramWithoutChunks),
    Setup::new("starman", "Perl, processes", Debian(&[Tool::new("starman", &["starman"])]), "starman --workers 2 -E none --listen 127.0.0.1:{port} {folder}/pages.psgi")
        .files(&[("pages.psgi", PSGI)]),
    Setup::new("twiggy", "Perl, events", Debian(&[Tool::new("twiggy", &["twiggy"])]), "twiggy -E none --listen 127.0.0.1:{port} {folder}/pages.psgi")
        .files(&[("pages.psgi", PSGI)]).pages(Pages::ProgramWithoutChunks),
    Setup::new("webrick", "Ruby, threads", Debian(&[Tool::new("ruby", &["ruby"]), Tool::new("/usr/share/doc/ruby-webrick/copyright", &["ruby-webrick"])]), "ruby -run -e httpd {site} --bind-address=127.0.0.1 --port={port}")
        .pages(Pages::Files),
    Setup::new("puma", "Ruby, threads", Debian(&[Tool::new("puma", &["puma"])]), "puma -q -e production -b tcp://127.0.0.1:{port} {folder}/config.ru")
        .files(&[("config.ru", RACK)]),
    Setup::new("thin", "Ruby, events", Debian(&[Tool::new("thin", &["thin"])]), "thin -q -e production -a 127.0.0.1 -p {port} -R {folder}/config.ru start")
        .files(&[("config.ru", RACK)]),
];
