//! Nothing a client sends ends or blocks a worker.

use target::{Running, TargetConfig};

use super::client::{Client, get, serve};

fn still_serves(server: &Running) {
    assert_eq!(get(server, "/bytes/64").body.len(), 64);
}

#[test]
fn what_is_not_http_is_refused_and_the_connection_closed() {
    let server = serve(TargetConfig::default());
    let endless = format!("GET / HTTP/1.1\r\nHost: t\r\n{}", "X: y\r\n".repeat(50_000));
    let long_target = format!("GET /{} HTTP/1.1\r\n", "a".repeat(40_000));
    for (bytes, status) in [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".as_slice(), "400"),
        (b"\0\0\0\0\r\n\r\n", "400"),
        (b"GET / HTTP/1.1\r\n\r\n", "400"),
        (b"GET  / HTTP/1.1\r\nHost: t\r\n\r\n", "400"),
        (b"GET / HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "400"),
        (b"POST /upload HTTP/1.1\r\nHost: t\r\nContent-Length: 99999999999\r\n\r\n", "413"),
        (b"GET / HTTP/3.0\r\nHost: t\r\n\r\n", "505"),
        (endless.as_bytes(), "431"),
        (long_target.as_bytes(), "414"),
    ] {
        let mut client = Client::new(&server);
        // The target may have closed before all of it was taken.
        let _ = client.try_send(bytes);
        let answer = String::from_utf8_lossy(&client.rest()).into_owned();
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{shown:?}: {answer}");
        assert!(answer.contains("Connection: close"), "{shown:?}: {answer}");
    }
    still_serves(&server);
    let stats = get(&server, "/stats").text();
    assert!(stats.contains("\"malformed\":9,"), "{stats}");
}

#[test]
fn a_refusal_follows_the_answers_to_what_came_before() {
    let server = serve(TargetConfig::default());
    let mut client = Client::new(&server);
    client.send("GET /bytes/5 HTTP/1.1\r\nHost: t\r\n\r\nGET /sleep?time=5ms HTTP/1.1\r\nHost: t\r\n\r\n\0\0\0\0");
    assert_eq!((client.response().body.len(), client.response().body.len()), (5, 6));
    assert_eq!(client.response().status, 400);
    assert!(client.rest().is_empty());
}

#[test]
fn slow_and_silent_clients_do_not_stop_others() {
    let server = serve(TargetConfig::default());
    let mut silent: Vec<Client> = (0..50).map(|_| Client::new(&server)).collect();
    for client in &mut silent {
        client.send("GET /bytes/1 HT");
    }
    // Far more than the sockets hold, and never read.
    let mut greedy: Vec<Client> = (0..10).map(|_| Client::new(&server)).collect();
    for (index, client) in greedy.iter_mut().enumerate() {
        client.request(if index % 2 == 0 { "/bytes/1GiB" } else { "/bytes/1GiB?chunked" });
    }
    for _ in 0..20 {
        still_serves(&server);
    }
    for client in &mut silent {
        client.send("TP/1.1\r\nHost: t\r\n\r\n");
        assert_eq!(client.response().body, b"0");
    }
}

#[test]
fn one_byte_at_a_time_is_a_request_too() {
    let server = serve(TargetConfig::default());
    let mut client = Client::new(&server);
    for byte in "GET /bytes/7 HTTP/1.1\r\nHost: t\r\n\r\n".chars() {
        client.send(&byte.to_string());
    }
    assert_eq!(client.response().body.len(), 7);
}

#[test]
fn clients_that_leave_early_are_forgotten() {
    let server = serve(TargetConfig::default());
    for path in ["/bytes/1GiB", "/sleep?time=50ms", "/bytes/1GiB?chunked", "/cpu?us=1000"] {
        for _ in 0..20 {
            Client::new(&server).request(path);
        }
    }
    let mut observer = Client::new(&server);
    // Ends when all others are gone; a hang here is the failure.
    while !observer.get("/stats").text().contains("\"open\":1,") {}
    still_serves(&server);
}

#[test]
fn a_half_closed_client_still_gets_all_its_answers() {
    let server = serve(TargetConfig::default());
    let mut client = Client::new(&server);
    for path in ["/sleep?time=30ms", "/bytes/3000000", "/bytes/8"] {
        client.request(path);
    }
    client.close_sending();
    let sizes = [client.response().body.len(), client.response().body.len(), client.response().body.len()];
    assert_eq!(sizes, [6, 3_000_000, 8]);
    assert!(client.rest().is_empty(), "then it is closed");
}

#[test]
fn http_1_0_is_closed_after_one_answer_unless_it_asks_otherwise() {
    let server = serve(TargetConfig::default());
    let mut client = Client::new(&server);
    client.send("GET /bytes/64 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert!(client.response().head.contains("Connection: keep-alive"));
    client.send("GET /bytes/100000?chunked HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    let response = client.response();
    assert!(response.head.contains("Connection: close") && !response.chunked, "{}", response.head);
    assert_eq!(response.body.len(), 100_000);
}

/// It was kept as HTTP/1.1 had it.
#[test]
fn http_1_0_gets_no_chunks_that_were_rendered_for_another() {
    let server = serve(TargetConfig { workers: 1, ..TargetConfig::default() });
    assert!(Client::new(&server).get("/bytes/64?chunked").chunked);
    let mut client = Client::new(&server);
    client.send("GET /bytes/64?chunked HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    let response = client.response();
    assert!(!response.chunked && response.head.contains("Connection: close"), "{}", response.head);
}

#[test]
fn connections_beyond_the_limit_are_closed_at_once() {
    let server = serve(TargetConfig { max_connections: 5, workers: 2, ..TargetConfig::default() });
    let mut inside: Vec<Client> = (0..5).map(|_| Client::new(&server)).collect();
    for client in &mut inside {
        assert_eq!(client.get("/bytes/1").status, 200);
    }
    for _ in 0..20 {
        let mut refused = Client::new(&server);
        let _ = refused.try_send(b"GET /bytes/1 HTTP/1.1\r\nHost: t\r\n\r\n");
        assert!(refused.rest().is_empty());
    }
    let stats = inside[0].get("/stats").text();
    assert!(stats.contains("\"refused_connections\":20"), "{stats}");
}

#[test]
fn a_flood_of_pipelined_requests_is_answered_within_bounds() {
    const REQUESTS: usize = 20_000;
    let server = serve(TargetConfig::default());
    let mut client = Client::new(&server);
    let mut writer = client.clone_sending();
    let sender = std::thread::spawn(move || {
        let request = b"GET /bytes/1000 HTTP/1.1\r\nHost: t\r\n\r\n".repeat(100);
        (0..REQUESTS / 100).for_each(|_| std::io::Write::write_all(&mut writer, &request).expect("it takes them all"));
    });
    still_serves(&server);
    for _ in 0..REQUESTS {
        assert_eq!(client.response().body.len(), 1000);
    }
    sender.join().expect("the sender sends");
}

/// What two servers in a row could read as different requests. Behind each stands one that must not be answered.
#[test]
fn requests_that_two_servers_may_cut_differently_are_refused() {
    let server = serve(TargetConfig::default());
    let post = "POST /upload HTTP/1.1\r\nHost: t\r\n";
    let chunked = format!("{post}Transfer-Encoding: chunked\r\n");
    let requests = [
        format!("{post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        format!("{chunked}Content-Length: 5\r\n\r\n0\r\n\r\n"),
        format!("{post}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
        format!("{post}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"),
        format!("{post}Content-Length: 5, 5\r\n\r\nhello"),
        format!("{post}Content-Length: 0\r\ncontent-length: 0\r\n\r\n"),
        format!("{post}Content-Length: +5\r\n\r\nhello"),
        format!("{post}Content-Length: 0x5\r\n\r\nhello"),
        format!("{post}Content-Length: 5 5\r\n\r\nhello"),
        format!("{post}Content-Length : 5\r\n\r\nhello"),
        format!("{post}Content-Length\t: 5\r\n\r\nhello"),
        format!("{post} Content-Length: 5\r\n\r\nhello"),
        format!("{post}X: y\r\n folded\r\nContent-Length: 5\r\n\r\nhello"),
        format!("{post}X: y\r\n\tContent-Length: 5\r\n\r\nhello"),
        format!("{post}X: y\rContent-Length: 5\r\n\r\nhello"),
        format!("{post}X: y\0\r\n\r\n"),
        format!("{post}: 5\r\n\r\n"),
        format!("{post}no colon\r\n\r\n"),
        "POST\t/upload HTTP/1.1\r\nHost: t\r\n\r\n".into(),
        "POST /upload\rX HTTP/1.1\r\nHost: t\r\n\r\n".into(),
        "POST /upload HTTP/1.1\rHost: t\r\n\r\n".into(),
        "POST /upload HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".into(),
        format!("{post}Host: u\r\n\r\n"),
        format!("{post}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
        format!("{post}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n"),
        format!("{post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
        format!("{post}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n"),
        format!("{post}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
        format!("{chunked}\r\n0x5\r\nhello\r\n0\r\n\r\n"),
        format!("{chunked}\r\n-1\r\nhello\r\n0\r\n\r\n"),
        format!("{chunked}\r\n 5\r\nhello\r\n0\r\n\r\n"),
        format!("{chunked}\r\n5\rx\r\nhello\r\n0\r\n\r\n"),
        format!("{chunked}\r\n5\r\nhelloX\r\n0\r\n\r\n"),
        format!("{chunked}\r\n10000000000000000\r\n\r\n"),
        format!("{chunked}\r\n0\r\nX : y\r\n\r\n"),
    ];
    for request in &requests {
        let mut client = Client::new(&server);
        let _ = client.try_send(format!("{request}GET /bytes/9 HTTP/1.1\r\nHost: t\r\n\r\n").as_bytes());
        let answer = String::from_utf8_lossy(&client.rest()).into_owned();
        let refused = ["HTTP/1.1 400 ", "HTTP/1.1 501 "].iter().any(|status| answer.starts_with(status));
        assert!(refused && answer.contains("Connection: close"), "{request:?}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{request:?}: {answer}");
    }
    let stats = get(&server, "/stats").text();
    assert!(stats.contains(&format!("\"malformed\":{},", requests.len())), "{stats}");
}

/// The server stops to read from a client that does not read: what it keeps for one is bounded.
#[test]
fn a_pipeline_that_is_never_read_is_not_taken_in_for_ever() {
    // Beyond what the kernel's buffers of both ends hold.
    const MOST: usize = 64 << 20;
    let server = serve(TargetConfig::default());
    let client = Client::new(&server);
    let mut writer = client.clone_sending();
    writer.set_nonblocking(true).expect("a socket option");
    let requests = b"GET /bytes/8000 HTTP/1.1\r\nHost: t\r\n\r\n".repeat(1_000);
    let (mut sent, mut full) = (0, 0);
    // Full, it stays full, however often the one worker has had the time to read on.
    while full < 50 {
        match std::io::Write::write(&mut writer, &requests[sent % requests.len()..]) {
            Ok(n) => (sent, full) = (sent + n, 0),
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "{error}");
                full += 1;
                still_serves(&server);
            }
        }
        assert!(sent < MOST, "{sent} bytes of requests were taken in, and no answer was read");
    }
}
