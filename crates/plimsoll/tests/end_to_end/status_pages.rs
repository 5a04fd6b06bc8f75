//! `--status`: pages and counters of servers that plimsoll has not started, and what cannot be read of them.

use crate::support::{Certificate, Ended, Nginx, Program, Target, count, number, plimsoll, serve, text};
use mysql::prelude::Queryable;
use serde_json::Value;
use stack::{Endpoint, Running, Spec};
use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;

/// The program, where its environment has to be set.
const PLIMSOLL: &str = env!("CARGO_BIN_EXE_plimsoll");

/// Long enough for two looks at a page.
const LONG: [&str; 2] = ["-d", "2200ms"];
/// Long enough for one.
const SHORT: [&str; 2] = ["-d", "1200ms"];

/// A load on `target` with these flags besides.
fn args(target: &Target, more: &[&str]) -> Vec<String> {
    let url = target.url("/");
    let load = ["run", &url, "-c", "1", "--warmup", "0s"];
    load.iter().chain(more).map(ToString::to_string).collect()
}

#[track_caller]
fn record(ended: &Ended) -> Value {
    serde_json::from_str(&ended.recorded("run.json")).expect("JSON")
}

/// What is recorded of a page.
#[track_caller]
fn page<'a>(record: &'a Value, url: &str) -> &'a Value {
    let pages = record["status"].as_array().unwrap_or_else(|| panic!("no status in {record:#}"));
    pages.iter().find(|page| page["url"] == url).unwrap_or_else(|| panic!("no {url} in {pages:#?}"))
}

#[track_caller]
fn socket(server: &Running) -> String {
    match server.endpoint() {
        Some(Endpoint::Socket { path }) => path.display().to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn pages_of_web_servers_are_read() {
    let target = Target::start(&[]);
    let servers =
        ["nginx", "apache", "lighttpd", "php-fpm children=3"].map(|text| serve(&Spec::parse(text).expect("known")));
    let pages = ["/nginx-status", "/server-status?auto", "/server-status?auto", "/fpm-status?json&full"];
    let urls: Vec<String> = servers
        .iter()
        .zip(pages)
        .map(|(server, page)| server.url().expect("HTTP").trim_end_matches('/').to_owned() + page)
        .collect();
    let flags: Vec<&str> = urls.iter().flat_map(|url| ["--status", url]).chain(LONG).collect();
    let record = record(&plimsoll(args(&target, &flags)).run());
    let expected = [
        ("nginx", "connections_active", 1.0),
        ("apache", "workers_busy", 1.0),
        ("lighttpd", "connections_busy", 1.0),
        ("php-fpm", "processes", 3.0),
    ];
    for (url, (server, figure, least)) in urls.iter().zip(expected) {
        let page = page(&record, url);
        assert_eq!(text(page, "server"), server, "{page:#}");
        assert!(number(page, &format!("figures.{figure}.max")) >= least && count(page, "looks") >= 1, "{page:#}");
    }
}

#[test]
fn databases_tell_their_counters() {
    let target = Target::start(&[]);
    let [maria, redis] = ["mariadb", "redis"].map(|name| serve(&Spec::parse(name).expect("known")));
    // Those of servers of our own are found without being asked for.
    let urls = [format!("mysql+unix://{}", socket(&maria)), format!("redis+unix://{}", socket(&redis))];
    assert_eq!((maria.status_pages(), redis.status_pages()), (vec![urls[0].clone()], vec![urls[1].clone()]));
    let record =
        record(&plimsoll(args(&target, &["--status", &urls[0], "--status", &urls[1], LONG[0], LONG[1]])).run());
    let (maria, redis) = (page(&record, &urls[0]), page(&record, &urls[1]));
    assert_eq!((text(maria, "server"), text(redis, "server")), ("mysql", "redis"));
    assert!(number(maria, "figures.threads_connected.max") >= 1.0, "{maria:#}");
    // Each look is one question more, on the same connection. Of the looks between, those of disturbed time do not count.
    assert!(number(maria, "around.questions.after") > number(maria, "around.questions.before"), "{maria:#}");
    assert_eq!(number(maria, "around.connections.before"), number(maria, "around.connections.after"), "{maria:#}");
    assert!(number(redis, "figures.clients_connected.max") >= 1.0 && count(redis, "looks") >= 1, "{redis:#}");
}

/// Takes connections on a free port of loopback and carries them to the server at `path`, for as long as the test runs.
#[track_caller]
fn over_tcp(path: String) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = UnixStream::connect(&path).expect("the server listens");
            let (mut to_server, mut to_client) =
                (server.try_clone().expect("a copy"), client.try_clone().expect("a copy"));
            let (mut from_client, mut from_server) = (client, server);
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut from_client, &mut to_server);
                let _ = to_server.shutdown(Shutdown::Write);
            });
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut from_server, &mut to_client);
                let _ = to_client.shutdown(Shutdown::Write);
            });
        }
    });
    address
}

#[test]
fn databases_are_asked_over_tcp_and_with_a_password() {
    let target = Target::start(&[]);
    let [maria, redis] = ["mariadb", "redis"].map(|name| serve(&Spec::parse(name).expect("known")));
    let sockets = [socket(&maria), socket(&redis)];
    let options = mysql::OptsBuilder::new().user(Some("root")).socket(Some(&sockets[0]));
    let mut root = mysql::Conn::new(options).expect("root is let in");
    root.query_drop("CREATE USER looker@localhost IDENTIFIED BY 's3cret'").expect("root may");
    let mut redis_line = UnixStream::connect(&sockets[1]).expect("it listens");
    redis_line.write_all(b"CONFIG SET requirepass s3cret\r\n").expect("it takes it");
    let mut answer = [0; 5];
    std::io::Read::read_exact(&mut redis_line, &mut answer).expect("it answers");
    assert_eq!(&answer, b"+OK\r\n");

    let [maria_at, redis_at] = sockets.map(over_tcp);
    let urls = [
        format!("mysql://looker@{maria_at}?password-file=secret"),
        format!("redis://{redis_at}?password-file=secret"),
        format!("mysql://looker@localhost:{}", maria_at.port()),
        format!("redis://{redis_at}"),
    ];
    let flags: Vec<&str> = urls.iter().flat_map(|url| ["--status", url]).chain(LONG).collect();
    let ended = plimsoll(args(&target, &flags)).with_file("secret", b"s3cret\n").run();
    let record = record(&ended);
    let [maria, redis, no_maria, no_redis] = urls.each_ref().map(|url| page(&record, url));
    assert_eq!((text(maria, "server"), text(redis, "server")), ("mysql", "redis"));
    // There are looks before and after the load, however few find time in it.
    assert!(number(maria, "around.questions.after") > number(maria, "around.questions.before"), "{maria:#}");
    assert!(number(redis, "around.clients_connected.after") >= 1.0, "{redis:#}");
    assert!(text(no_maria, "reason").contains("does not let looker in"), "{no_maria:#}");
    assert!(text(no_redis, "reason").contains("PLIMSOLL_REDIS_PASSWORD"), "{no_redis:#}");
    assert!(!ended.recorded("run.json").contains("s3cret") && !ended.recorded("events.jsonl").contains("s3cret"));
}

#[test]
fn a_password_comes_from_the_environment_or_a_file() {
    let (target, maria) = (Target::start(&[]), serve(&Spec::parse("mariadb").expect("known")));
    let socket = socket(&maria);
    let options = mysql::OptsBuilder::new().user(Some("root")).socket(Some(&socket));
    let mut root = mysql::Conn::new(options).expect("root is let in");
    root.query_drop("CREATE USER looker@localhost IDENTIFIED BY 's3cret'").expect("root may");

    let url = format!("mysql+unix://{socket}?user=looker");
    let by_file = format!("{url}&password-file=secret");
    let flags = args(&target, &["--status", &url, "--status", &by_file, SHORT[0], SHORT[1]]);
    let by_file_only = plimsoll(flags).with_file("secret", b"s3cret\n").run();
    let told = record(&by_file_only);
    assert_eq!(text(page(&told, &by_file), "server"), "mysql");
    let refused = page(&told, &url);
    assert!(text(refused, "reason").contains("does not let looker in") && refused["server"].is_null(), "{refused:#}");
    let stderr = &by_file_only.stderr;
    assert_eq!(stderr.matches("does not let looker in").count(), 1, "said once: {stderr}");
    assert!(stderr.contains("PLIMSOLL_MYSQL_PASSWORD") && stderr.contains("other users can read secret"), "{stderr}");
    assert!(count(&told, "requests.good") > 0 && !by_file_only.recorded("run.json").contains("s3cret"));

    let set = ["PLIMSOLL_MYSQL_PASSWORD=s3cret".to_owned(), PLIMSOLL.to_owned()];
    let flags = args(&target, &["--status", &url, SHORT[0], SHORT[1]]);
    let with = Program::new("env", set.into_iter().chain(flags)).run();
    assert_eq!(text(page(&record(&with), &url), "server"), "mysql");
    assert!(!with.recorded("run.json").contains("s3cret"));
}

#[test]
fn what_cannot_be_read_is_said_once_and_the_run_goes_on() {
    let target = Target::start(&[]);
    // One that takes connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let silent = silent.local_addr().map(|address| (silent, address)).expect("it is bound");
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port");
    // One that asks for a password.
    let guarded = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let guarded_address = guarded.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for mut stream in guarded.incoming().flatten() {
            let _ = std::io::Read::read(&mut stream, &mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
    });
    let cases = [
        (target.url("/"), "a page for people (HTML)"),
        (target.url("/bytes/5"), "it is no status page"),
        (target.url("/status/404"), "there is no such page (404)"),
        (format!("http://{}/", silent.1), "does not answer within 900 ms"),
        (format!("mysql://root@{}", silent.1), "does not answer within 900 ms"),
        (format!("redis://{}", silent.1), "does not answer within 900 ms"),
        (format!("http://{free}/"), "nothing answers there"),
        (format!("mysql://root@{free}"), "nothing answers there"),
        (format!("redis://{free}"), "nothing answers there"),
        (format!("http://{guarded_address}/"), "not for everybody (401)"),
    ];
    let flags: Vec<&str> = cases.iter().flat_map(|(url, _)| ["--status", url]).chain(LONG).collect();
    let ended = plimsoll(args(&target, &flags)).run();
    let record = record(&ended);
    assert!(count(&record, "requests.good") > 0);
    for (url, why) in &cases {
        let page = page(&record, url);
        assert!(text(page, "reason").contains(why), "{page:#}");
        assert!(page["server"].is_null() && page["figures"] == serde_json::json!({}), "{page:#}");
        let line = format!("warning: no figures from {url}: ");
        assert_eq!(ended.stderr.matches(&line).count(), 1, "{url}: {}", ended.stderr);
    }
}

/// Whoever stood between got the token of the URL: no certificate was looked at.
#[test]
fn the_certificate_of_a_page_is_checked_as_that_of_the_load() {
    let target = Target::start(&[]);
    let asked = |certificate: &Certificate, flags: &[&str]| {
        let stub = "location = /stub { stub_status; }";
        let nginx = Nginx::secure_with(&[("small", b".")], "TLSv1.3", certificate, stub);
        let url = nginx.url("/stub?token=s3cret");
        let flags: Vec<&str> = ["--status", &url].iter().chain(&SHORT).chain(flags).copied().collect();
        let ended = plimsoll(args(&target, &flags)).with_file("ca.pem", certificate.pem.as_bytes()).run();
        let record = record(&ended);
        let page = page(&record, &url.replace("s3cret", "<redacted>")).clone();
        (page, ended, nginx)
    };
    for certificate in [Certificate::new("127.0.0.1", 2040), Certificate::that_may_sign("127.0.0.1", 2040)] {
        let (page, ended, nginx) = asked(&certificate, &[]);
        let why = "its certificate is self-signed or of an unknown issuer; trust it with --ca-cert FILE, or ask it all the \
                   same with -k";
        assert_eq!((text(&page, "reason"), &page["server"]), (why, &Value::Null), "{page:#}");
        assert_eq!(ended.stderr.matches(why).count(), 1, "said once: {}", ended.stderr);
        assert!(nginx.log().is_empty(), "it was asked");
        for flags in [&["--ca-cert", "ca.pem"][..], &["-k"]] {
            let (page, ..) = asked(&certificate, flags);
            assert_eq!(text(&page, "server"), "nginx", "{flags:?}: {page:#}");
        }
    }
    let (page, ..) = asked(&Certificate::new("other.test", 2040), &["--ca-cert", "ca.pem"]);
    assert!(text(&page, "reason").contains("for another name") && text(&page, "reason").contains("-k"), "{page:#}");
    // Neither the load nor a page has a use for it.
    let none = ["run", "http://127.0.0.1:1/", "-k", "--status", "http://127.0.0.1:1/"];
    plimsoll(none).run().fails(2, &["--insecure is for https:// URLs"]);
}

#[test]
fn a_check_asks_a_page_with_the_certificate_that_is_named() {
    let certificate = Certificate::new("127.0.0.1", 2040);
    let nginx = Nginx::secure_with(&[("small", b".")], "TLSv1.3", &certificate, "location = /stub { stub_status; }");
    let url = nginx.url("/stub");
    let check = |flags: &[&str]| {
        let args = ["check", "--status", &url].iter().chain(flags).copied().collect::<Vec<_>>();
        plimsoll(args).with_file("ca.pem", certificate.pem.as_bytes()).run().stdout
    };
    let unknown = check(&[]);
    assert!(unknown.contains("--ca-cert FILE"), "{unknown}");
    let known = check(&["--ca-cert", "ca.pem"]);
    assert!(!known.contains("--ca-cert FILE"), "{known}");
}

#[test]
fn what_is_no_source_is_refused() {
    let refused = |url: &str, named: &[&str]| {
        plimsoll(["run", "http://127.0.0.1:1/", "--status", url]).run().fails(2, named);
    };
    refused("nginx", &["--status", "nginx", "not a URL", "mysql://USER@HOST:PORT"]);
    refused("ftp://127.0.0.1/", &["--status", "unknown scheme"]);
    refused("mysql://root:s3cret@127.0.0.1/", &["--status", "holds a password", "PLIMSOLL_MYSQL_PASSWORD"]);
    refused("rediss://127.0.0.1/", &["--status", "rediss://127.0.0.1/", "databases are asked without TLS", "redis://"]);
    refused("redis://h?password-file=/no/such", &["--status", "/no/such"]);
}
