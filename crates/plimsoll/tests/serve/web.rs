//! The web servers, each started with its settings and looked at from outside.

use crate::program::plimsoll;
use crate::support::{Served, children, readable};
use crate::wait_for;
use rustix::process::Signal;
use std::fs::{remove_dir_all, write};
use std::net::TcpStream;
use std::time::Duration;

const FILES: [&str; 4] = ["nginx", "apache", "lighttpd", "caddy"];

#[test]
fn a_file_of_the_size_that_was_asked_for() {
    for name in FILES {
        for size in [0, 1, 300_000] {
            let served = Served::start(&[name, "--file-size", &size.to_string()]);
            let answer = served.get("/", "");
            assert_eq!((answer.status, answer.body.len()), (200, size), "{name}: {}", answer.head);
            let program = answer.header("server").expect("it says what it is").to_lowercase();
            assert!(program.starts_with(name), "{program} is not {name}");
            assert_eq!(served.get("/missing", "").status, 404, "{name}");
            served.stop();
        }
    }
}

#[test]
fn tls_with_the_certificate_that_the_first_line_tells() {
    for name in FILES {
        let served = Served::start(&[name, "--tls", "on"]);
        assert!(served.url().starts_with("https://127.0.0.1:"), "{}", served.line);
        // `endpoint` trusts that certificate and no other.
        let answer = served.get("/", "");
        assert_eq!((answer.status, answer.body.len()), (200, 1024), "{name}: {}", answer.head);
        served.stop();
    }
}

#[test]
fn servers_listen_at_the_address_that_was_asked_for_and_nowhere_else() {
    for &name in FILES.iter().chain(&["haproxy", "varnish", "php-fpm", "target"]) {
        let (scheme, tls) = if FILES.contains(&name) { ("https", &["--tls", "on"][..]) } else { ("http", &[][..]) };
        let served = Served::start(&[&[name, "--address", "127.0.0.2"], tls].concat());
        let port = served.url().strip_prefix(&format!("{scheme}://127.0.0.2:")).and_then(|rest| rest.split('/').next());
        let port: u16 = port.and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("{}", served.line));
        let path = if name == "target" { "/bytes/10" } else { "/" };
        assert_eq!(served.get(path, "").status, 200, "{name}");
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "{name}");
        served.stop();
    }
}

#[test]
fn text_is_compressed_where_it_is_asked_for_and_switched_on() {
    for name in FILES {
        for (switch, expected) in [("on", Some("gzip")), ("off", None)] {
            let served = Served::start(&[name, "--gzip", switch]);
            let answer = served.get("/", "Accept-Encoding: gzip\r\n");
            assert_eq!(answer.header("content-encoding"), expected, "{name}: {}", answer.head);
            assert_eq!(answer.body.len() < 1024, expected.is_some(), "{name}");
            served.stop();
        }
    }
}

#[test]
fn connections_stay_open_or_do_not() {
    for name in FILES {
        for (switch, expected) in [("on", 3), ("off", 1)] {
            let served = Served::start(&[name, "--keepalive", switch]);
            assert_eq!(served.answered_on_one_connection(3), expected, "{name} --keepalive {switch}");
            served.stop();
        }
    }
    for name in ["nginx", "apache", "lighttpd"] {
        let served = Served::start(&[name, "--keepalive-requests", "4"]);
        assert_eq!(served.answered_on_one_connection(20), 4, "{name}");
        served.stop();
    }
}

#[test]
fn the_access_log_has_every_request() {
    for name in FILES {
        let served = Served::start(&[name, "--access-log", "on", "--keep-state"]);
        (0..7).for_each(|n| assert_eq!(served.get(&format!("/?mine={n}"), "").status, 200));
        let (state, log) = (served.state(), served.state().join("log/access.log"));
        // It stays, as was asked for, so only the processes are gone.
        let remains = served.remains();
        served.plimsoll().signal(Signal::INT);
        remains.processes_are_gone();
        drop(served);
        let text = std::fs::read_to_string(log).expect("a log");
        remove_dir_all(&state).expect("it was kept");
        assert!(!state.with_added_extension("json").exists(), "its note is left");
        assert_eq!(text.lines().filter(|line| line.contains("/?mine=")).count(), 7, "{name}: {text}");
    }
}

#[test]
fn a_directory_is_served_as_it_is() {
    let root = readable(&[("index.html", "the index"), ("page.txt", "a page"), ("sub/index.html", "below")]);
    // Names may have spaces.
    let spaced = root.path().join("my site");
    std::os::unix::fs::symlink(root.path(), &spaced).expect("a link");
    let path = spaced.display().to_string();
    for name in FILES {
        let served = Served::start(&[name, "--root", &path, "--path", "/sub/"]);
        assert!(served.url().ends_with("/sub/"), "{}", served.line);
        for (path, body) in [("/", "the index"), ("/page.txt", "a page"), ("/sub/", "below")] {
            assert_eq!(String::from_utf8_lossy(&served.get(path, "").body), body, "{name} {path}");
        }
        served.stop();
    }
    assert!(root.path().join("page.txt").exists(), "it is not ours to remove");
}

#[test]
fn workers_are_as_many_as_were_asked_for() {
    for (args, expected) in [
        (&["nginx", "--workers", "3"][..], 3),
        (&["lighttpd", "--workers", "2"], 2),
        (&["lighttpd"], 0),
        (&["apache", "--workers", "2", "--set", "threads=4"], 2),
        (&["apache", "--set", "mpm=prefork", "--set", "threads=5"], 5),
        (&["apache", "--set", "mpm=worker", "--workers", "2"], 2),
        (&["caddy"], 0),
    ] {
        let served = Served::start(args);
        let master = served.services()[0].1;
        // A master may listen before it has all its workers.
        let found = || children(master).len();
        wait_for(Duration::from_secs(10), || (found() == expected).then_some(()));
        assert_eq!(found(), expected, "{args:?}");
        served.stop();
    }
}

#[test]
fn counters_are_where_the_list_says() {
    let said = plimsoll(["serve", "--list"]).run();
    for (name, path, part) in [
        ("nginx", "/nginx-status", "Active connections"),
        ("apache", "/server-status?auto", "BusyWorkers"),
        ("lighttpd", "/server-status?auto", "BusyServers"),
        ("caddy", "/metrics", "caddy_http_requests_total"),
    ] {
        assert!(said.stdout.lines().any(|line| line.starts_with("  --set ") && line.contains(path)), "{path}");
        let served = Served::start(&[name]);
        served.get("/", "");
        let answer = served.get(path, "");
        assert!(String::from_utf8_lossy(&answer.body).contains(part), "{name}: {answer:?}");
        served.stop();
    }
}

#[test]
fn endpoints_are_answered_by_nginx_and_by_the_target() {
    for (args, path) in
        [(&["nginx-lua", "--tls", "on"][..], "/zero?size=64"), (&["target", "--workers", "2"], "/bytes/64")]
    {
        let served = Served::start(args);
        assert_eq!(served.get(path, "").body.len(), 64, "{args:?}");
        served.stop();
    }
}

#[test]
fn apache_obeys_htaccess_files_when_it_is_told_to() {
    let root = readable(&[
        ("index.html", "page"),
        (".htaccess", "Redirect /old /new\nRewriteEngine on\nRewriteRule ^gone$ - [G]\n"),
    ]);
    let path = root.path().display().to_string();
    for (switch, statuses) in [("on", [302, 410]), ("off", [404, 404])] {
        let served = Served::start(&["apache", "--root", &path, "--set", &format!("htaccess={switch}")]);
        assert_eq!(["/old", "/gone"].map(|path| served.get(path, "").status), statuses, "htaccess={switch}");
        served.stop();
    }
}

#[test]
fn own_configurations_are_taken_with_their_places_filled_in() {
    let root = readable(&[("page.html", "my own")]);
    let path = root.path().display().to_string();
    let types = "mimetype.assign = (\"\" => \"text/plain\")\n";
    for (name, text) in [
        ("nginx", "daemon off; pid {state}/run/p; events {} http { access_log off; server { listen 127.0.0.1:{port}; root {root}; } client_body_temp_path {state}/tmp/b; proxy_temp_path {state}/tmp/p; fastcgi_temp_path {state}/tmp/f; uwsgi_temp_path {state}/tmp/u; scgi_temp_path {state}/tmp/s; }".to_owned()),
        ("apache", "Listen 127.0.0.1:{port}\nServerName t\nPidFile {state}/run/p\nErrorLog {state}/log/error.log\nDocumentRoot {root}\nLoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so\nLoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\n".into()),
        ("lighttpd", format!("server.port = {{port}}\nserver.bind = \"127.0.0.1\"\nserver.document-root = \"{{root}}\"\n{types}")),
        ("caddy", "{\n\tadmin off\n}\nhttp://:{port} {\n\tbind 127.0.0.1\n\troot * {root}\n\tfile_server\n}\n".into()),
    ] {
        let file = root.path().join("own.conf");
        write(&file, text).expect("a file");
        let file = file.display().to_string();
        let served = Served::start(&[name, "--config", &file, "--root", &path, "--path", "/page.html"]);
        assert_eq!(String::from_utf8_lossy(&served.get("/page.html", "").body), "my own", "{name}");
        served.stop();
    }
}

#[test]
fn what_is_printed_is_what_would_be_run() {
    for name in FILES {
        let ended = plimsoll(["serve", name, "--print-config", "--port", "8099", "--tls", "on"]).run();
        ended.exits(0);
        for part in ["8099", "conf/cert.pem", "$ /usr/", "www/index.html\n(1024 bytes)"] {
            assert!(ended.stdout.contains(part), "{name}: {part} is not in {}", ended.stdout);
        }
        assert!(!ended.stdout.contains("PRIVATE KEY"), "{name}");
    }
}
