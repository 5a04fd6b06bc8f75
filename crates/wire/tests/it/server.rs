//! The server machine, byte for byte.

use wire::http1::{
    IgnoreRequest, Limits, Method, Part, ReceivedRequest, Request, RequestSink, Server, ServerError, Version,
};
use wire::testing::{Cuts, Fact, server_trace};

/// What a server reports; checked to be the same for single bytes.
fn facts_with(limits: Limits, input: &[u8]) -> Vec<Fact> {
    let whole = server_trace(limits, input, Cuts::WHOLE);
    assert_eq!(whole, server_trace(limits, input, Cuts::BYTES));
    whole
}

fn facts(input: &[u8]) -> Vec<Fact> {
    facts_with(Limits::default(), input)
}

fn error_with(limits: Limits, input: &[u8]) -> ServerError {
    match facts_with(limits, input).last() {
        Some(Fact::ServerFailed(error)) => *error,
        other => panic!("no error but {other:?}"),
    }
}

fn error(input: &[u8]) -> ServerError {
    error_with(Limits::default(), input)
}

/// The only request with its target and body.
fn request(input: &[u8]) -> (Request, String, Vec<u8>) {
    let mut body = Vec::new();
    let mut requests = Vec::new();
    for fact in facts(input) {
        match fact {
            Fact::Body(bytes) => body.extend(bytes),
            Fact::Request(request, target) => requests.push((request, target)),
            Fact::Header(..) | Fact::ExpectContinue => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(requests.len(), 1);
    let (request, target) = requests.remove(0);
    (request, target, body)
}

fn get(target: &str) -> Fact {
    let request = Request {
        method: Method::Get,
        version: Version::Http11,
        keepalive: true,
        body_bytes: 0,
        expect_continue: false,
    };
    Fact::Request(request, target.into())
}

fn header(name: &str, value: &str) -> Fact {
    Fact::Header(name.into(), value.into())
}

#[test]
fn a_typical_request() {
    let input = b"GET /a/b?c=d HTTP/1.1\r\nHost: localhost:8080\r\nAccept: */*\r\n\r\n";
    assert_eq!(facts(input), [header("Host", "localhost:8080"), header("Accept", "*/*"), get("/a/b?c=d")]);
}

#[test]
fn methods() {
    let cases = [
        ("GET", Method::Get),
        ("HEAD", Method::Head),
        ("POST", Method::Post),
        ("PUT", Method::Put),
        ("DELETE", Method::Delete),
        ("OPTIONS", Method::Options),
        ("PATCH", Method::Patch),
        ("get", Method::Other),
        ("PURGE", Method::Other),
    ];
    for (name, method) in cases {
        assert_eq!(request(format!("{name} / HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).0.method, method, "{name}");
    }
}

#[test]
fn targets() {
    let cases = [
        ("/", "/"),
        ("/a?b#c%20", "/a?b#c%20"),
        ("*", "*"),
        ("http://host/path?query", "/path?query"),
        ("HTTPS://host:1/", "/"),
        ("http://host", "/"),
        ("http://host?query", "/?query"),
    ];
    for (target, expected) in cases {
        let input = format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_eq!(request(input.as_bytes()).1, expected, "{target}");
    }
    for target in ["", "a", "host:80", "ftp://host/", "http://", "http:///a", "/\u{e9}", "/\x7f", "/\t", "**"] {
        let input = format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_eq!(error(input.as_bytes()), ServerError::Malformed(Part::RequestLine), "{target:?}");
    }
}

#[test]
fn request_lines() {
    for line in ["GET /", "GET  / HTTP/1.1", "GET / HTTP/1.1 ", "GET / http/1.1", "G@T / HTTP/1.1", "GET / HTTP/1", "G"]
    {
        let input = format!("{line}\r\nHost: x\r\n\r\n");
        assert_eq!(error(input.as_bytes()), ServerError::Malformed(Part::RequestLine), "{line}");
    }
    assert_eq!(error(b"\rGET / HTTP/1.1\r\n"), ServerError::Malformed(Part::RequestLine));
    assert_eq!(error(b"PRI * HTTP/2.0\r\n\r\n"), ServerError::Version);
    assert_eq!(error(b"GET / HTTP/0.9\r\n\r\n"), ServerError::Version);
    for other in [&b"\x16\x03\x01\x02"[..], b" GET /", b"\0"] {
        assert_eq!(error(other), ServerError::NotHttp);
    }
}

#[test]
fn empty_lines_before_a_request_are_skipped() {
    assert_eq!(facts(b"\r\n\n\r\nGET / HTTP/1.1\r\nHost:\r\n\r\n\r\n"), [header("Host", ""), get("/")]);
    let limits = Limits { head_bytes: 64, ..Limits::default() };
    assert_eq!(error_with(limits, &b"\r\n".repeat(33)), ServerError::TargetTooLong);
}

#[test]
fn host_is_required_once() {
    assert_eq!(error(b"GET / HTTP/1.1\r\n\r\n"), ServerError::Malformed(Part::Host));
    assert_eq!(error(b"GET http://a/ HTTP/1.1\r\n\r\n"), ServerError::Malformed(Part::Host));
    assert_eq!(error(b"GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n"), ServerError::Malformed(Part::Host));
    assert_eq!(error(b"GET / HTTP/1.0\r\nHost: a\r\nhost: a\r\n\r\n"), ServerError::Malformed(Part::Host));
    assert_eq!(request(b"GET / HTTP/1.0\r\n\r\n").0.version, Version::Http10);
}

#[test]
fn keepalive() {
    let cases = [
        ("1.1", "X: y", true),
        ("1.1", "Connection: Close", false),
        ("1.1", "Connection: upgrade, close", false),
        ("1.0", "X: y", false),
        ("1.0", "Connection: Keep-Alive", true),
    ];
    for (version, field, keepalive) in cases {
        let input = format!("GET / HTTP/{version}\r\nHost: x\r\n{field}\r\n\r\n");
        assert_eq!(request(input.as_bytes()).0.keepalive, keepalive, "{version} {field}");
    }
}

#[test]
fn bodies() {
    let (post, target, body) = request(b"POST /up HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
    assert_eq!((post.method, post.body_bytes, target.as_str(), &body[..]), (Method::Post, 3, "/up", &b"abc"[..]));
    let chunked =
        b"PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x\r\nd\r\n0\r\nSum: 1\r\n\r\n";
    let (put, _, body) = request(chunked);
    assert_eq!((put.body_bytes, put.keepalive, &body[..]), (4, true, &b"abcd"[..]));
    assert!(facts(chunked).contains(&header("Sum", "1")));
    assert_eq!(request(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n").0.body_bytes, 0);
}

#[test]
fn doubtful_framing_is_refused() {
    let of = |version: &str, fields: &str| {
        let error = error(format!("POST / HTTP/{version}\r\nHost: x\r\n{fields}\r\n\r\n").as_bytes());
        (error, error.status())
    };
    let both = (ServerError::AmbiguousLength, 400);
    assert_eq!(of("1.1", "Content-Length: 3\r\nTransfer-Encoding: chunked"), both);
    assert_eq!(of("1.1", "Transfer-Encoding: gzip\r\nContent-Length: 3"), both);
    let coding = (ServerError::TransferCoding, 501);
    assert_eq!(of("1.1", "Transfer-Encoding: gzip"), coding);
    assert_eq!(of("1.1", "Transfer-Encoding: gzip, chunked"), coding);
    assert_eq!(of("1.1", "Transfer-Encoding: identity"), coding);
    let malformed = |part| (ServerError::Malformed(part), 400);
    assert_eq!(of("1.1", "Transfer-Encoding: chunked, chunked"), malformed(Part::TransferEncoding));
    assert_eq!(of("1.0", "Transfer-Encoding: chunked"), malformed(Part::TransferEncoding));
    assert_eq!(of("1.1", "Content-Length: 1\r\nContent-Length: 2"), malformed(Part::ContentLength));
    assert_eq!(of("1.1", "Content-Length: -1"), malformed(Part::ContentLength));
    assert_eq!(of("1.1", "Content-Length : 1"), malformed(Part::Header));
    assert_eq!(of("1.1", "A: b\r\n folded"), malformed(Part::Header));
    assert_eq!(of("1.1", "A: b\rc"), malformed(Part::Header));
    assert_eq!(of("1.1", "A: b\0c"), malformed(Part::Header));
}

#[test]
fn expect_continue() {
    let input = b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\nx";
    let facts = facts(input);
    let asked = facts.iter().position(|fact| *fact == Fact::ExpectContinue);
    assert_eq!(asked, facts.iter().position(|fact| *fact == Fact::Body(b"x".to_vec())).map(|body| body - 1));
    assert!(request(input).0.expect_continue);
    assert_eq!(error(b"GET / HTTP/1.1\r\nExpect: miracle\r\n"), ServerError::Expectation);
    assert!(!request(b"POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx").0.expect_continue);
    let without_body = facts_with(Limits::default(), b"GET / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n");
    assert!(!without_body.contains(&Fact::ExpectContinue));
}

#[test]
fn expect_continue_concerns_one_request() {
    let post = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n";
    let facts = facts(format!("{post}Expect: 100-continue\r\n\r\nx{post}\r\nx").as_bytes());
    assert_eq!(facts.iter().filter(|fact| **fact == Fact::ExpectContinue).count(), 1);
    let asked: Vec<_> = facts
        .iter()
        .filter_map(|fact| if let Fact::Request(request, _) = fact { Some(request.expect_continue) } else { None })
        .collect();
    assert_eq!(asked, [true, false]);
}

/// The machine asks for the answer 100 as soon as the head is complete, before any byte of the body.
#[test]
fn expect_continue_does_not_wait_for_the_body() {
    struct Asked(bool);
    impl RequestSink for Asked {
        fn expect_continue(&mut self) {
            self.0 = true;
        }
    }
    let mut asked = Asked(false);
    let head = b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n";
    let received = Server::new(Limits::default()).receive(head, &mut asked);
    assert_eq!(received, Ok(ReceivedRequest { consumed: head.len(), request: None }));
    assert!(asked.0);
}

#[test]
fn endless_requests_are_cut() {
    let limits = Limits { head_bytes: 100, headers: 3, body_bytes: 10, informational: 0 };
    let of = |input: String| {
        let error = error_with(limits, input.as_bytes());
        (error, error.status())
    };
    let post = "POST / HTTP/1.1\r\nHost: x\r\n";
    assert_eq!(of(format!("GET /{}", "a".repeat(100))), (ServerError::TargetTooLong, 414));
    assert_eq!(of(format!("{post}A: {}", "b".repeat(100))), (ServerError::HeadTooLarge, 431));
    assert_eq!(of(format!("{post}{}", "A: b\r\n".repeat(3))), (ServerError::TooManyHeaders, 431));
    assert_eq!(of(format!("{post}Content-Length: 11\r\n\r\n")), (ServerError::BodyTooLarge, 413));
    let chunked = format!("{post}Transfer-Encoding: chunked\r\n\r\n");
    assert_eq!(of(format!("{chunked}b\r\n")), (ServerError::BodyTooLarge, 413));
    assert_eq!(of(format!("{chunked}1;{}", "x".repeat(100))), (ServerError::HeadTooLarge, 431));
    assert_eq!(of(format!("{chunked}0\r\n{}", "A: b\r\n".repeat(4))), (ServerError::TooManyHeaders, 431));
}

#[test]
fn pipelined_requests_come_out_one_by_one() {
    let input = b"POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nabGET /2 HTTP/1.1\r\nHost: x\r\n\r\nGET /3";
    let mut server = Server::new(Limits::default());
    let first = server.receive(input, &mut IgnoreRequest).expect("a request");
    assert_eq!((first.consumed, first.request.map(|request| request.body_bytes)), (50, Some(2)));
    assert_eq!(server.target(), "/1");
    let second = server.receive(&input[50..], &mut IgnoreRequest).expect("a request");
    assert_eq!((second.consumed, second.request.map(|request| request.method)), (28, Some(Method::Get)));
    assert_eq!(server.target(), "/2");
    let third = server.receive(&input[78..], &mut IgnoreRequest);
    assert_eq!(third, Ok(ReceivedRequest { consumed: 6, request: None }));
}

#[test]
fn statuses_of_errors() {
    let cases = [
        (ServerError::NotHttp, 400),
        (ServerError::Expectation, 417),
        (ServerError::Version, 505),
        (ServerError::Malformed(Part::Chunk), 400),
    ];
    for (error, status) in cases {
        assert_eq!(error.status(), status);
    }
}
