//! What cannot be served: one clear line, the documented exit code, and nothing left.

use crate::list;
use crate::program::{Ended, Program};
use crate::support::readable;
use procfs::process::{Process, all_processes};
use rustix::process::geteuid;
use std::fs::write;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;

/// Runs `plimsoll serve`, which must fail with `code` and one line that has all of `named`, and leave nothing.
#[track_caller]
fn fails(args: &[&str], code: i32, named: &[&str]) {
    // Servers of another user have to get to their directories.
    let world = readable(&[]);
    let tmpdir = format!("TMPDIR={}", world.path().display());
    let ended = Program::new("env", [&tmpdir, env!("CARGO_BIN_EXE_plimsoll"), "serve"].iter().chain(args)).run();
    ended.fails(code, named);
    let states: Vec<PathBuf> = list(world.path()).iter().flat_map(|base| list(base)).collect();
    assert!(states.is_empty(), "left: {states:?}");
    let lives_there = |process: &Process| process.cwd().is_ok_and(|cwd| cwd.starts_with(world.path()));
    let left: Vec<i32> = all_processes().expect("/proc").flatten().filter(lives_there).map(|one| one.pid).collect();
    assert!(left.is_empty(), "left: {left:?}");
}

/// Binds something over each of `files` in a world of its own, and serves there.
fn without(files: &[&str], args: &str) -> Ended {
    let hide: String = files.iter().map(|file| format!("mount --bind /dev/null {file} && ")).collect();
    let script = format!("{hide} exec \"$PLIMSOLL\" serve {args}");
    Program::new("unshare", ["--map-root-user", "--mount", "sh", "-c", &script]).run()
}

#[test]
fn a_missing_server_or_module_names_its_package() {
    without(&["/usr/sbin/nginx"], "nginx").fails(2, &["nginx is not installed", "apt-get install nginx-light"]);
    without(&["/usr/sbin/apache2"], "apache").fails(2, &["apache2 is not installed", "apt-get install apache2-bin"]);
    without(&["/usr/sbin/lighttpd"], "lighttpd").fails(2, &["lighttpd is not installed", "apt-get install lighttpd"]);
    without(&["/usr/bin/caddy"], "caddy").fails(2, &["caddy is not installed", "apt-get install caddy"]);
    without(&["/usr/sbin/haproxy"], "haproxy").fails(2, &["haproxy is not installed", "apt-get install haproxy"]);
    without(&["/usr/sbin/varnishd"], "varnish").fails(2, &["varnishd is not installed", "apt-get install varnish"]);
    without(&["/usr/sbin/nginx"], "haproxy").fails(2, &["nginx is not installed", "apt-get install nginx-light"]);
    let module = "/usr/lib/lighttpd/mod_openssl.so";
    without(&[module], "lighttpd --tls on").fails(2, &[module, "apt-get install lighttpd-mod-openssl"]);
    let module = "/usr/lib/nginx/modules/ngx_http_lua_module.so";
    without(&[module], "nginx-lua").fails(2, &[module, "apt-get install libnginx-mod-http-lua"]);
    fails(&["nginx", "--binary", "/no/such/nginx"], 2, &["/no/such/nginx", "no such program"]);
}

#[test]
fn a_port_that_is_taken_is_named() {
    let holder = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let port = holder.local_addr().expect("its address").port().to_string();
    for name in ["nginx", "apache", "lighttpd", "caddy", "haproxy", "varnish"] {
        fails(&[name, "--port", &port], 2, &[&format!("port {port} cannot be used"), "in use"]);
    }
}

#[test]
fn a_broken_configuration_is_answered_in_the_words_of_the_server_with_the_line() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("mine.conf");
    for (name, text, named) in [
        ("nginx", "daemon off;\nevents {}\nlissten {port};\n", ["lissten", ":3"]),
        (
            "apache",
            "Listen 127.0.0.1:{port}\nLoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so\nLissten 2\n",
            ["Lissten", "line 3 of"],
        ),
        // It names the line in which it notices.
        (
            "lighttpd",
            "server.port = {port}\n\nserver.bind = (\"\" => )\nserver.max-fds = 9\n",
            ["parser failed", "line: 4"],
        ),
        ("haproxy", "global\n  nbthread 1\n  lissten {port}\n", ["lissten", ":3]"]),
        (
            "varnish",
            "vcl 4.1;\nbackend a { .host = \"127.0.0.1\"; .port = \"{port}\"; }\nlissten {port};\n",
            ["lissten", "Line 3"],
        ),
        ("caddy", "{\n\tadmin off\n\tlissten {port}\n}\n", ["lissten", ":3"]),
    ] {
        write(&path, text).expect("a file");
        let own = path.display().to_string();
        fails(&[name, "--config", &own], 3, &[name, "exit code", "mine.conf", named[0], named[1]]);
    }
    let own = path.display().to_string();
    write(&path, "events {}\n").expect("a file");
    fails(&["nginx", "--config", &own], 2, &["mine.conf", "write {port} where the server listens"]);
    fails(&["nginx", "--config", "/no/such.conf"], 2, &["/no/such.conf", "no such file"]);
}

#[test]
fn settings_that_cannot_be_are_named_with_what_can() {
    fails(&["apache", "--worker-connections", "10"], 2, &["apache has no setting worker-connections", "threads"]);
    fails(&["caddy", "--sendfile", "off"], 2, &["caddy has no setting sendfile", "gzip"]);
    fails(&["apache", "--set", "mpm=prefark"], 2, &["mpm=prefark", "event or worker or prefork"]);
    fails(&["lighttpd", "--keepalive-requests", "70000"], 2, &["keepalive-requests=70000", "at most 65536"]);
    fails(&["haproxy", "--workers", "65"], 2, &["workers=65", "at most 64 with haproxy"]);
    fails(&["varnish", "--workers", "33"], 2, &["workers=33", "at most 32 with varnish"]);
    fails(&["varnish", "--tls", "on"], 2, &["varnish has no setting tls", "ttl"]);
    fails(&["haproxy", "--set", "backend=target", "--root", "/"], 2, &["target has no setting root"]);
    fails(&["nginx", "--set", "tcp_nopush"], 2, &["tcp_nopush", "KEY=VALUE"]);
    fails(&["nginx", "--root", "/no/such/dir"], 2, &["/no/such/dir", "no such directory"]);
    fails(&["ngix"], 2, &["ngix", "nginx", "apache", "lighttpd", "caddy"]);
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    fails(&["--timeout", "1s", "--", "sleep", "60"], 3, &["sleep is not ready after 1 s"]);
    fails(&["--", "sh", "-c", "echo my reason >&2; exit 7"], 3, &["sh ended with exit code 7", "my reason"]);
    fails(&["--", "/no/such/server"], 2, &["/no/such/server", "no such program"]);
}

#[test]
fn another_body_than_the_file_s_is_noticed() {
    let root = readable(&[
        ("index.html", "this page is expected"),
        ("other.html", "another page"),
        (".htaccess", "DirectoryIndex other.html\n"),
    ]);
    let path = root.path().display().to_string();
    let args = ["apache", "--root", &path, "--set", "htaccess=on"];
    fails(&args, 3, &["apache serves another body", "12 bytes instead of 21", "another page"]);
    fails(&["nginx", "--root", &path, "--path", "/missing"], 3, &["nginx answers 404", "/missing"]);
}

#[test]
fn a_directory_that_configurations_cannot_hold_is_refused() {
    let world = readable(&[]);
    let spaced = world.path().join("my files");
    std::fs::create_dir(&spaced).expect("a directory");
    let tmpdir = format!("TMPDIR={}", spaced.display());
    let ended = Program::new("env", [tmpdir.as_str(), env!("CARGO_BIN_EXE_plimsoll"), "serve", "nginx"]).run();
    ended.fails(2, &["my files", "set TMPDIR to a directory"]);
    let root = world.path().join("a{b}");
    std::fs::create_dir(&root).expect("a directory");
    fails(&["nginx", "--root", &root.display().to_string()], 2, &["a{b}", "reach it by another path"]);
}

#[test]
fn a_command_that_its_user_cannot_reach_is_told_so() {
    if !geteuid().is_root() {
        // Only root's commands run as somebody else.
        return;
    }
    let script = "mkdir -m 700 own && cd own && exec \"$PLIMSOLL\" serve -- sh -c 'exit 7'";
    Program::new("sh", ["-c", script]).run().fails(3, &["sh cannot be started", "user 65534", "with the setting user"]);
    let as_root = script.replace("serve", "serve --user root");
    Program::new("sh", ["-c", &as_root]).run().fails(3, &["sh ended with exit code 7"]);
}
