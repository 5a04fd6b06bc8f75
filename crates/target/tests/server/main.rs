//! The built-in target over real sockets on loopback.

mod breaks;
mod client;
mod clients;
mod deadlines;
mod endpoints;
mod faults;
mod guard;
mod hostile;
mod tls;
mod unix;

use client::{Client, serve};
use clock::Clock;
use target::{Break, Deadlines, Faults, Limit, Pool, TargetConfig, TargetError, start};

const MS: u64 = 1_000_000;

#[test]
fn bodies_have_exactly_the_size_asked_for() {
    let server = serve(TargetConfig::default());
    let mut client = Client::new(&server);
    for (text, size) in [
        ("0", 0),
        ("1", 1),
        ("64", 64),
        ("8KiB", 8 << 10),
        ("8193", 8193),
        ("64KiB", 64 << 10),
        ("65537", 65_537),
        ("1MiB", 1 << 20),
        ("10MB", 10_000_000),
    ] {
        for query in ["", "?chunked"] {
            let response = client.get(&format!("/bytes/{text}{query}"));
            assert_eq!((response.status, response.body.len()), (200, size), "{text}{query}");
            let pattern = b"0123456789abcdef".iter().cycle().take(size);
            assert!(response.body.iter().eq(pattern), "{text}{query}: the body is the repeated pattern");
            assert_eq!(response.chunked, !query.is_empty());
        }
    }
}

#[test]
fn head_answers_with_the_head_alone() {
    let server = serve(TargetConfig::default());
    let mut client = Client::new(&server);
    for path in ["/", "/bytes/1GiB", "/bytes/5?chunked", "/status/404", "/status/204", "/sleep?time=1ms", "/stats"] {
        client.send(&format!("HEAD {path} HTTP/1.1\r\nHost: t\r\n\r\n"));
        let head = client.read_head();
        assert!(head.contains("\r\nConnection: keep-alive"), "{path}: {head}");
        assert_eq!(head.contains("Content-Length: 1073741824\r\n"), path == "/bytes/1GiB");
    }
    assert_eq!(client.get("/bytes/3").body, b"012", "nothing but heads was sent");
}

#[test]
fn statuses_are_as_asked_and_bodiless_where_http_says_so() {
    let server = serve(TargetConfig::default());
    let mut client = Client::new(&server);
    for status in [200, 201, 204, 205, 301, 304, 400, 404, 418, 500, 503, 599] {
        let response = client.get(&format!("/status/{status}"));
        assert_eq!(response.status, status);
        assert_eq!(response.body.is_empty(), matches!(status, 204 | 205 | 304), "{status}");
    }
    assert_eq!(client.get("/nothing").status, 404);
    assert_eq!(client.get("/pool").status, 404, "no pool is configured");
}

#[test]
fn every_bad_parameter_is_answered_400_with_an_example() {
    let server = serve(TargetConfig::default());
    let mut client = Client::new(&server);
    for (path, parameter) in [
        ("/bytes/", "SIZE"),
        ("/bytes/x", "SIZE"),
        ("/bytes/2GiB", "SIZE"),
        ("/bytes/1?chunked=perhaps", "chunked"),
        ("/sleep?time=x", "time"),
        ("/sleep?time=2m", "time"),
        ("/status/99", "CODE"),
        ("/status/OK", "CODE"),
        ("/cpu?us=", "us"),
        ("/cpu?us=11M", "us"),
    ] {
        let response = client.get(path);
        let body = String::from_utf8(response.body).expect("JSON is UTF-8");
        assert_eq!(response.status, 400, "{path}");
        assert!(body.starts_with("{\"error\":\""), "{body}");
        assert!(body.contains(&format!("\"parameter\":\"{parameter}\",\"example\":\"/")), "{body}");
    }
}

#[test]
fn methods_that_make_no_sense_are_answered_405() {
    let server = serve(TargetConfig::default());
    let mut client = Client::new(&server);
    for (method, path, status) in
        [("DELETE", "/bytes/5", 405), ("POST", "/", 405), ("POST", "/stats", 405), ("POST", "/bytes/5", 200)]
    {
        client.send(&format!("{method} {path} HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\nabc"));
        assert_eq!(client.response().status, status, "{method} {path}");
    }
}

#[test]
fn uploads_are_read_counted_and_announced_when_asked() {
    let server = serve(TargetConfig::default());
    let mut client = Client::new(&server);
    client.send("POST /upload HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 300000\r\n\r\n");
    assert!(client.read_head().starts_with("HTTP/1.1 100 Continue\r\n"));
    client.send(&"b".repeat(300_000));
    assert!(client.response().text().starts_with("{\"received_bytes\":300000,"));
    client.send("PUT /upload HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    assert_eq!(client.response().text(), "{\"received_bytes\":3,\"crc32\":\"352441c2\"}\n");
    let stats = client.get("/stats").text();
    assert!(stats.contains("\"body_bytes\":300003"), "{stats}");
}

#[test]
fn sleeps_are_never_short_and_do_not_occupy_the_worker() {
    let server = serve(TargetConfig::default());
    let clock = Clock::start();
    let mut client = Client::new(&server);
    for delay_ns in [0, 100_000, 3 * MS, 20 * MS] {
        let begin_ns = clock.now_ns();
        assert_eq!(client.get(&format!("/sleep?time={delay_ns}ns")).status, 200);
        assert!(clock.now_ns() - begin_ns >= delay_ns, "{delay_ns} ns");
    }
    let mut sleepers: Vec<Client> = (0..10).map(|_| Client::new(&server)).collect();
    sleepers.iter_mut().for_each(|sleeper| sleeper.request("/sleep?time=60s"));
    // As many as sleep are answered meanwhile, on connections of their own: one worker that waited would keep some of them.
    for _ in 0..10 {
        assert_eq!(Client::new(&server).get("/bytes/1").status, 200);
    }
    drop(sleepers);
}

#[test]
fn cpu_is_burned_before_the_answer() {
    let server = serve(TargetConfig::default());
    let clock = Clock::start();
    let mut client = Client::new(&server);
    let begin_ns = clock.now_ns();
    assert_eq!(client.get("/cpu?us=30k").status, 200);
    // CPU time of one thread never passes faster than time.
    assert!(clock.now_ns() - begin_ns >= 30 * MS);
    assert_eq!(client.get("/cpu?us=0").status, 200);
}

#[test]
fn a_pool_refuses_when_its_queue_is_full() {
    let pool = Pool { workers: 1, service_ns: 30_000 * MS, queue: 2 };
    let server = serve(TargetConfig { pool: Some(pool), workers: 2, ..TargetConfig::default() });
    let mut clients: Vec<Client> = (0..4).map(|_| Client::new(&server)).collect();
    // Pipelined behind a status, so that each has arrived before the next is sent.
    for client in &mut clients {
        client.send("GET /status/200 HTTP/1.1\r\nHost: t\r\n\r\nGET /pool HTTP/1.1\r\nHost: t\r\n\r\n");
        assert_eq!(client.response().status, 200);
    }
    let refused = clients[3].response();
    assert_eq!(refused.status, 503, "one is served and two wait");
    assert!(refused.text().contains("2 requests wait"), "{}", refused.text());
}

#[test]
fn a_pool_serves_each_for_its_full_time_one_after_the_other() {
    let pool = Pool { workers: 1, service_ns: 20 * MS, queue: 9 };
    let server = serve(TargetConfig { pool: Some(pool), workers: 2, ..TargetConfig::default() });
    let clock = Clock::start();
    let mut clients: Vec<Client> = (0..6).map(|_| Client::new(&server)).collect();
    let begin_ns = clock.now_ns();
    clients.iter_mut().for_each(|client| client.request("/pool"));
    clients.iter_mut().for_each(|client| assert_eq!(client.response().body, b"served\n"));
    assert!(clock.now_ns() - begin_ns >= 6 * 20 * MS);
}

#[test]
fn connections_are_spread_evenly_over_workers() {
    let server = serve(TargetConfig { workers: 3, ..TargetConfig::default() });
    let mut clients: Vec<Client> = (0..30).map(|_| Client::new(&server)).collect();
    for client in &mut clients {
        assert_eq!(client.get("/bytes/1").status, 200);
    }
    let stats = clients[0].get("/stats").text();
    assert_eq!(stats.matches("\"connections\":10,\"open\":10,").count(), 3, "{stats}");
    let requests = stats.matches("\"requests\":10,").count() + stats.matches("\"requests\":11,").count();
    assert_eq!(requests, 3, "{stats}");
}

#[test]
fn a_pipelined_batch_is_answered_in_order_also_when_some_wait() {
    let pool = Pool { workers: 1, service_ns: MS, queue: 9 };
    let server = serve(TargetConfig { pool: Some(pool), ..TargetConfig::default() });
    let mut client = Client::new(&server);
    let paths = [
        "/bytes/10",
        "/sleep?time=30ms",
        "/bytes/200000",
        "/cpu?us=1000",
        "/bytes/20?chunked",
        "/pool",
        "/status/404",
        "/bytes/100000?chunked",
        "/sleep?time=0ms",
        "/bytes/0",
    ];
    let batch: String = paths.map(|path| format!("GET {path} HTTP/1.1\r\nHost: t\r\n\r\n")).concat();
    for _ in 0..3 {
        client.send(&batch);
        let sizes: Vec<usize> = paths.map(|_| client.response().body.len()).to_vec();
        assert_eq!(sizes, [10, 6, 200_000, 7, 20, 7, 11, 100_000, 6, 0]);
    }
}

#[test]
fn a_start_that_cannot_work_says_why() {
    const NONE: Faults =
        Faults { first_byte_ns: 0, body_bytes_per_s: 0, growth_ns: 0, ramp: None, limit: None, broken: None };
    let server = serve(TargetConfig::default());
    let taken = TargetConfig { listen: server.address().clone(), ..TargetConfig::default() };
    let error = start(taken).expect_err("the address is taken").to_string();
    assert!(
        error.starts_with(&format!("cannot listen on {}: ", server.address())) && error.contains("in use"),
        "{error}"
    );
    for config in [
        TargetConfig { workers: 0, ..TargetConfig::default() },
        TargetConfig { error_share: f64::NAN, ..TargetConfig::default() },
        TargetConfig {
            faults: Faults { limit: Some(Limit { per_s: 0, burst: 1 }), ..NONE },
            ..TargetConfig::default()
        },
        TargetConfig { faults: Faults { broken: Some((Break::Half, 1.1)), ..NONE }, ..TargetConfig::default() },
        TargetConfig { redirect: Some("/a\r\nSet-Cookie: b".into()), ..TargetConfig::default() },
        TargetConfig { pool: Some(Pool { workers: 0, service_ns: 1, queue: 1 }), ..TargetConfig::default() },
        TargetConfig { max_per_client: 0, ..TargetConfig::default() },
        TargetConfig { deadlines: Deadlines { idle_ns: 0, ..Deadlines::default() }, ..TargetConfig::default() },
    ] {
        assert!(matches!(start(config), Err(TargetError::Setting { .. })));
    }
    let cpu = start(TargetConfig { cpus: vec![100_000], ..TargetConfig::default() });
    assert!(matches!(cpu, Err(TargetError::Cpu { cpu: 100_000 })));
}

#[test]
fn a_stopped_target_has_ended_whatever_its_clients_wait_for() {
    let server = serve(TargetConfig { workers: 2, ..TargetConfig::default() });
    let address = server.address().tcp().expect("TCP");
    let mut waiting = Client::new(&server);
    waiting.request("/sleep?time=60s");
    let mut burning = Client::new(&server);
    burning.request("/cpu?us=10M");
    server.stop();
    server.join().expect("it ends in good order");
    assert!(std::net::TcpStream::connect(address).is_err(), "nobody listens any more");
}
