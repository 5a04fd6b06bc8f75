//! Limiters, redirects, caches and compression of nginx and Apache as people set them up.

use super::{check, nothing_but, row};
use crate::support::{address, serve, text};
use stack::{Running, Spec};
use std::fs::{Permissions, create_dir, set_permissions, write};
use std::os::unix::fs::PermissionsExt;
use tempfile::TempDir;

const MODULES: &str = "/usr/lib/apache2/modules";

/// A server with a configuration of its own, and files beside it. Ends with this value.
struct Own {
    running: Running,
    _directory: TempDir,
}

impl Own {
    /// `{www}` in the configuration becomes the directory of the files.
    #[track_caller]
    fn start(server: &str, configuration: &str) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let www = directory.path().join("www");
        create_dir(&www).expect("a directory");
        for (name, text) in [("page.txt", "x".repeat(2000)), ("data.json", "<html>no such thing</html>".into())] {
            write(www.join(name), text).expect("a file");
        }
        // The server may be another user.
        set_permissions(directory.path(), Permissions::from_mode(0o755)).expect("our own directory");
        let path = directory.path().join("configuration");
        write(&path, configuration.replace("{www}", &www.display().to_string())).expect("a file");
        let settings = [("config", path.to_str().expect("a path in UTF-8")), ("path", "/page.txt")];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let spec = Spec::new(server, &settings, Vec::new(), None).expect("it is known");
        Self { running: serve(&spec), _directory: directory }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", address(&self.running))
    }
}

const NGINX: &str = "
daemon off;
master_process off;
pid {state}/run/nginx.pid;
error_log {state}/log/error.log;
events { worker_connections 512; }
http {
  access_log off;
  client_body_temp_path {state}/tmp/client_body;
  proxy_temp_path {state}/tmp/proxy;
  fastcgi_temp_path {state}/tmp/fastcgi;
  uwsgi_temp_path {state}/tmp/uwsgi;
  scgi_temp_path {state}/tmp/scgi;
  default_type text/html;
  types { text/plain txt; }
  limit_req_zone $binary_remote_addr zone=few:1m rate=1r/s;
  server {
    listen 127.0.0.1:{port} backlog=16;
    root {www};
    location /limited/ { limit_req zone=few burst=60 nodelay; alias {www}/; }
    location = /moved { return 301 /old; }
    location = /old { return 302 page.txt; }
    location /cached/ { add_header X-Cache HIT; alias {www}/; }
    location /packed/ { gzip on; gzip_types text/plain; gzip_min_length 100; alias {www}/; }
    location /closing/ { keepalive_timeout 0; alias {www}/; }
  }
}
";

#[test]
fn what_nginx_is_told_to_do_is_found() {
    let nginx = Own::start("nginx", NGINX);
    let look = |path: &str, expected: &[&str]| {
        let record = check(&[&nginx.url(path), "-c", "10"]);
        nothing_but(&record, expected);
        record
    };
    look("/page.txt", &[]);

    let record = look("/limited/page.txt", &["many at once"]);
    let (rule, _, found) = row(&record, "many at once");
    assert_eq!(rule, "ER-08");
    assert!(text(found, "found").contains("(status 503)"), "{found:#}");
    assert!(text(found, "remedy").contains("limit_req"), "{found:#}");
    let first = record["target"]["burst"]["first_refused"]["request"].as_u64().expect("a number");
    assert!((41..=65).contains(&first), "{first}");

    let record = look("/moved", &["redirect"]);
    assert_eq!(record["target"]["redirects"].as_array().expect("a list").len(), 2);
    assert_eq!(text(&record, "target.canonical_url"), nginx.url("/page.txt"));
    assert!(text(row(&record, "redirect").2, "remedy").contains(&nginx.url("/page.txt")), "{record:#}");

    let record = look("/cached/page.txt", &["caches"]);
    assert_eq!((row(&record, "caches").0, row(&record, "caches").1), ("ER-11", "warning"));
    assert!(text(row(&record, "caches").2, "found").contains("x-cache: HIT"), "{record:#}");

    let record = look("/packed/page.txt", &[]);
    assert_eq!((row(&record, "compression").0, row(&record, "compression").1), ("ER-10", "note"));
    assert_eq!(record["target"]["manners"]["plain"]["size_bytes"], 2000);

    let record = look("/closing/page.txt", &["keep-alive"]);
    assert_eq!((row(&record, "keep-alive").0, row(&record, "keep-alive").1), ("ER-09", "warning"));

    let record = look("/data.json", &["body"]);
    assert!(text(row(&record, "body").2, "found").contains("text/html came for /data.json"), "{record:#}");
}

#[test]
fn a_short_accept_queue_is_held_against_the_connections() {
    let nginx = Own::start("nginx", NGINX);
    let record = check(&[&nginx.url("/page.txt"), "-c", "17"]);
    nothing_but(&record, &["accept queue"]);
    let (rule, state, found) = row(&record, "accept queue");
    assert_eq!((rule, state), ("NE-01", "warning"));
    assert!(text(found, "remedy").contains("backlog=17"), "{found:#}");
}

#[test]
fn mod_evasive_is_found_with_its_403() {
    let names = ["mpm_event", "authz_core", "mime"];
    let modules: String =
        names.iter().map(|name| format!("LoadModule {name}_module {MODULES}/mod_{name}.so\n")).collect();
    let configuration = format!(
        "ServerRoot {{state}}\n\
         ServerName 127.0.0.1\n\
         Listen 127.0.0.1:{{port}}\n\
         PidFile {{state}}/run/apache.pid\n\
         ErrorLog {{state}}/log/error.log\n\
         DefaultRuntimeDir {{state}}/run\n\
         Mutex pthread default\n\
         {modules}\
         LoadModule evasive20_module {MODULES}/mod_evasive20.so\n\
         StartServers 1\n\
         ServerLimit 1\n\
         ThreadsPerChild 64\n\
         MaxRequestWorkers 64\n\
         TypesConfig /dev/null\n\
         AddType text/plain .txt\n\
         DOSHashTableSize 3097\n\
         DOSPageCount 40\n\
         DOSSiteCount 1000\n\
         DOSPageInterval 10\n\
         DOSSiteInterval 10\n\
         DOSBlockingPeriod 10\n\
         DOSLogDir {{state}}/log\n\
         DocumentRoot {{www}}\n"
    );
    let apache = Own::start("apache", &configuration);
    let record = check(&[&apache.url("/page.txt"), "-c", "20"]);
    let (rule, state, found) = row(&record, "many at once");
    assert_eq!((rule, state), ("ER-08", "invalid"), "{record:#}");
    assert!(text(found, "found").contains("(status 403)"), "{found:#}");
    assert!(text(found, "remedy").starts_with("exempt this client from the ban"), "{found:#}");
}
