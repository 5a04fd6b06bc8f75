//! The client machine, byte for byte.

use wire::http1::{
    CHUNK_LINE_BYTES, Client, ClientError, Expect, Ignore, Limits, MAX_OUTSTANDING, Part, Progress, Received, Response,
    Version,
};
use wire::testing::{Cuts, Fact, client_trace};

/// What a client with one request outstanding reports; checked to be the same for single bytes.
fn facts_for(limits: Limits, expect: &[Expect], input: &[u8]) -> Vec<Fact> {
    let whole = client_trace(limits, expect, input, Cuts::WHOLE);
    assert_eq!(whole, client_trace(limits, expect, input, Cuts::BYTES));
    whole
}

fn facts(input: &[u8]) -> Vec<Fact> {
    facts_for(Limits::default(), &[Expect::Body], input)
}

fn error_with(limits: Limits, input: &[u8]) -> ClientError {
    match facts_for(limits, &[Expect::Body], input).last() {
        Some(Fact::ClientFailed(error, _)) => *error,
        other => panic!("no error but {other:?}"),
    }
}

fn error(input: &[u8]) -> ClientError {
    error_with(Limits::default(), input)
}

/// The only response, its body (joined) and nothing else besides headers.
fn response_to(expect: Expect, input: &[u8]) -> (Response, Vec<u8>) {
    let mut body = Vec::new();
    let mut responses = Vec::new();
    for fact in facts_for(Limits::default(), &[expect], input) {
        match fact {
            Fact::Body(bytes) => body.extend(bytes),
            Fact::Response(response) => responses.push(response),
            Fact::Header(..) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(responses.len(), 1);
    (responses[0], body)
}

fn response(input: &[u8]) -> (Response, Vec<u8>) {
    response_to(Expect::Body, input)
}

fn ok(body_bytes: u64, keepalive: bool) -> Response {
    Response { status: 200, version: Version::Http11, body_bytes, keepalive }
}

fn header(name: &str, value: &str) -> Fact {
    Fact::Header(name.into(), value.into())
}

#[test]
fn a_typical_response() {
    let input = b"HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello";
    let expected = [
        header("Server", "nginx"),
        header("Content-Length", "5"),
        header("Connection", "keep-alive"),
        Fact::Body(b"hello".to_vec()),
        Fact::Response(ok(5, true)),
    ];
    assert_eq!(facts(input), expected);
}

#[test]
fn status_lines() {
    for line in ["HTTP/1.1 200 OK", "HTTP/1.1 200 ", "HTTP/1.1 200", "HTTP/1.3 200 Fine by me", "HTTP/1.1 200 \u{e9}"] {
        let input = format!("{line}\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(response(input.as_bytes()), (ok(0, true), vec![]), "{line}");
    }
    assert_eq!(response(b"HTTP/1.1 999 x\nContent-Length:0\n\n").0.status, 999);
    let malformed =
        ["HTTP/1.1", "HTTP/1.1 20 OK", "HTTP/1.1 099 x", "HTTP/1.1 2000", "HTTP/1.1  200 OK", "HTTP/1.1 200OK"];
    for line in malformed.into_iter().chain(["HTTP/1.x 200 OK", "HTTP/11 200 OK", "HTTP/1.1\t200 OK", "HTTP/x"]) {
        assert_eq!(error(format!("{line}\r\n\r\n").as_bytes()), ClientError::Malformed(Part::StatusLine), "{line}");
    }
    assert_eq!(error(b"HTTP/2.0 200 OK\r\n\r\n"), ClientError::Version);
    assert_eq!(error(b"HTTP/2 200 OK\r\n\r\n"), ClientError::Version);
    assert_eq!(error(b"HTTP/0.9 200 OK\r\n\r\n"), ClientError::Version);
}

#[test]
fn other_protocols_show_in_the_first_bytes() {
    for input in [&b"\x15\x03\x03\x00\x02"[..], b"SSH-2.0-OpenSSH", b"\r\nSSH", b"http/1.1 200", b"HTTQ", b"<html>"] {
        assert_eq!(error(input), ClientError::NotHttp, "{input:?}");
    }
    let mut client = Client::new(Limits::default());
    client.request_sent(Expect::Body);
    assert_eq!(client.receive(b"\x15", &mut Ignore), Err(ClientError::NotHttp));
}

#[test]
fn content_length() {
    let of = |fields: &str| format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\nabc").into_bytes();
    for fields in [
        "content-length:3",
        "CONTENT-LENGTH: \t 3 \t",
        "Content-Length: 3\r\nContent-Length: 003",
        "Content-Length: 3, 3",
    ] {
        assert_eq!(response(&of(fields)), (ok(3, true), b"abc".to_vec()), "{fields}");
    }
    for value in ["", "+3", "-3", "3 3", "0x3", "3;", "18446744073709551616", "99999999999999999999", "3,", "3, 4"] {
        let fields = format!("Content-Length: {value}");
        assert_eq!(error(&of(&fields)), ClientError::Malformed(Part::ContentLength), "{value}");
    }
    let different = of("Content-Length: 3\r\nContent-Length: 4");
    assert_eq!(error(&different), ClientError::Malformed(Part::ContentLength));
    let largest = of("Content-Length: 18446744073709551615");
    assert_eq!(error(&largest), ClientError::ClosedInBody { missing: Some(u64::MAX - 3) });
}

#[test]
fn chunked() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let of = |body: &str| format!("{head}{body}").into_bytes();
    for body in [
        "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
        "0003\r\nabc\r\n2 \r\nde\r\n000\r\n\r\n",
        "3;name=value\r\nabc\r\n2 ; x=\"y\"\r\nde\r\n0;last\r\n\r\n",
        "3\nabc\n2\nde\n0\n\n",
    ] {
        assert_eq!(response(&of(body)), (ok(5, true), b"abcde".to_vec()), "{body:?}");
    }
    let upper = "A\r\n0123456789\r\n0\r\n\r\n";
    assert_eq!(response(&of(upper)), (ok(10, true), b"0123456789".to_vec()));
    assert_eq!(response(&of("0\r\n\r\n")), (ok(0, true), vec![]));
    for body in
        ["\r\n", "g\r\n", "-1\r\n", "0x3\r\n", "3 3\r\n", " 3\r\n", "3\r\nabcd\r\n", "3\r\nabc\rx", "3;a\rb\r\n"]
    {
        assert_eq!(error(&of(body)), ClientError::Malformed(Part::Chunk), "{body:?}");
    }
    assert_eq!(error(&of("11111111111111111\r\n")), ClientError::Malformed(Part::Chunk));
    assert_eq!(error(&of("ffffffffffffffff\r\n")), ClientError::ClosedInBody { missing: None });
    for cut in ["", "3", "3\r\n", "3\r\nab", "3\r\nabc", "3\r\nabc\r\n0\r\n", "0\r\nA: b\r\n"] {
        assert_eq!(error(&of(cut)), ClientError::ClosedInBody { missing: None }, "{cut:?}");
    }
}

#[test]
fn trailers_reach_the_sink() {
    let input = b"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n1\r\nx\r\n0\r\nSum: 1\r\nX:\r\n\r\n";
    let expected = [
        header("transfer-encoding", "Chunked"),
        Fact::Body(b"x".to_vec()),
        header("Sum", "1"),
        header("X", ""),
        Fact::Response(ok(1, true)),
    ];
    assert_eq!(facts(input), expected);
    let input = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nno colon\r\n\r\n";
    assert_eq!(error(input), ClientError::Malformed(Part::Header));
}

#[test]
fn transfer_encoding() {
    let of = |fields: &str, body: &str| format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n{body}").into_bytes();
    let chunked = "1\r\nx\r\n0\r\n\r\n";
    for fields in [
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: , chunked ,",
    ] {
        assert_eq!(response(&of(fields, chunked)), (ok(1, true), b"x".to_vec()), "{fields}");
    }
    for fields in
        ["Transfer-Encoding: gzip", "Transfer-Encoding: identity", "Transfer-Encoding:", "Transfer-Encoding: xchunked"]
    {
        assert_eq!(response(&of(fields, "1\r\nx")), (ok(4, false), b"1\r\nx".to_vec()), "{fields}");
    }
    for fields in ["Content-Length: 7\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 7"]
    {
        assert_eq!(
            response(&of(fields, chunked)),
            (ok(1, true), b"x".to_vec()),
            "{fields}: as if there were no length"
        );
    }
    let identity = of("Transfer-Encoding: identity\r\nContent-Length: 3", "abc");
    assert_eq!(response(&identity), (ok(3, true), b"abc".to_vec()), "it has waited for the end of the connection");
    for fields in ["chunked, chunked", "chunked, gzip", "chunked\r\nTransfer-Encoding: gzip"] {
        let input = of(&format!("Transfer-Encoding: {fields}"), "");
        assert_eq!(error(&input), ClientError::Malformed(Part::TransferEncoding), "{fields}");
    }
    let old = b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
    assert!(!response(old).0.keepalive);
}

#[test]
fn responses_without_body() {
    for input in [
        &b"HTTP/1.1 204 No Content\r\n\r\n"[..],
        b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
    ] {
        let (response, body) = response(input);
        assert_eq!((response.body_bytes, response.keepalive, body), (0, true, vec![]));
    }
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    assert_eq!(response_to(Expect::NoBody, head), (ok(0, true), vec![]));
    assert_eq!(response_to(Expect::NoBody, b"HTTP/1.1 200 OK\r\n\r\n"), (ok(0, true), vec![]));
}

#[test]
fn until_close() {
    let (response, body) = response(b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\nall of it");
    assert_eq!((response, body), (ok(9, false), b"all of it".to_vec()));
    assert_eq!(facts(b"HTTP/1.1 200 OK\r\n\r\n"), [Fact::Response(ok(0, false))]);
}

#[test]
fn keepalive() {
    let cases = [
        ("1.1", "X: y", true),
        ("1.1", "Connection: close", false),
        ("1.1", "connection: foo , CLOSE", false),
        ("1.1", "Connection: foo\r\nConnection: close", false),
        ("1.1", "Connection: closed", true),
        ("1.1", "Connection: keep-alive, close", false),
        ("1.0", "X: y", false),
        ("1.0", "Connection: Keep-Alive", true),
        ("1.0", "Connection: keep-alive, close", false),
        ("1.0", "Connection: close", false),
    ];
    for (version, field, expected) in cases {
        let input = format!("HTTP/{version} 200 OK\r\nContent-Length: 0\r\n{field}\r\n\r\n");
        let (response, _) = response(input.as_bytes());
        assert_eq!(response.keepalive, expected, "{version} {field}");
        assert_eq!(response.version == Version::Http10, version == "1.0");
    }
}

#[test]
fn header_lines() {
    let of = |line: &str| format!("HTTP/1.1 200 OK\r\n{line}\r\nContent-Length: 0\r\n\r\n").into_bytes();
    for line in
        ["no colon", ": no name", "Space x: y", "Space ", " folded", "\tfolded", "Na\x7fme: x", "N\u{e9}: x", "A\rB: c"]
    {
        assert_eq!(error(&of(line)), ClientError::Malformed(Part::Header), "{line:?}");
    }
    assert_eq!(facts(&of("a-b_c.d:\t v w \t"))[0], header("a-b_c.d", "v w"));
    assert_eq!(facts(&of("Empty:"))[0], header("Empty", ""));
    assert_eq!(facts(&of("Space \t: x"))[0], header("Space", "x"), "RFC 9112 section 5.1");
    let spaced = b"HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello";
    assert_eq!(response(spaced), (ok(5, true), b"hello".to_vec()));
    assert_eq!(facts(&of("Colons: a:b:c"))[0], header("Colons", "a:b:c"));
}

/// RFC 9112 section 5.2: a user agent reads white space for a fold. Each of them was an error.
#[test]
fn folded_lines_go_on_with_the_value_before() {
    let of = |lines: &str| format!("HTTP/1.1 200 OK\r\n{lines}\r\nContent-Length: 0\r\n\r\n").into_bytes();
    assert_eq!(facts(&of("A: b\r\n c\r\n\t d "))[0], header("A", "b c d"));
    assert_eq!(facts(&of("A:\r\n \r\nB: c"))[..2], [header("A", " "), header("B", "c")]);
    let framing = ["Content-Length: 1\r\n 0", "Transfer-Encoding:\r\n chunked", "Connection: x\r\n close\r\n more"];
    for lines in framing {
        assert_eq!(error(&of(lines)), ClientError::Malformed(Part::Header), "{lines:?}");
    }
    let limits = Limits { headers: 2, ..Limits::default() };
    let folded = facts_for(limits, &[Expect::Body], &of("A: b\r\n c"));
    assert!(matches!(folded.last(), Some(Fact::Response(_))), "a fold is no line of its own: {folded:?}");
}

/// Two of them are let through, which is what a body with an unannounced line end makes.
#[test]
fn empty_lines_between_responses_are_skipped() {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    for blank in ["\r\n", "\n", "\r\n\r\n"] {
        let input = format!("{blank}{answer}{blank}{answer}{blank}");
        let facts = facts_for(Limits::default(), &[Expect::Body; 2], input.as_bytes());
        let responses = facts.iter().filter(|fact| matches!(fact, Fact::Response(_))).count();
        assert_eq!((responses, facts.len()), (2, 4), "{blank:?}: {facts:?}");
    }
    assert_eq!(error(format!("\r\n\r\n\r\n{answer}").as_bytes()), ClientError::NotHttp);
    assert_eq!(error(b"\r\n\r\n"), ClientError::ClosedBeforeResponse);
    let mut client = Client::new(Limits::default());
    assert_eq!(client.receive(b"\r\n", &mut Ignore), Ok(Received { consumed: 2, response: None }));
    assert_eq!(client.receive(b"\r\n\n", &mut Ignore), Err(ClientError::UnexpectedBytes), "no more than two");
}

#[test]
fn informational_responses() {
    let input =
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 x\r\nA: b\r\n\r\n";
    let last = Response { status: 204, ..ok(0, true) };
    let expected = [Fact::Informational(100), Fact::Informational(103), header("A", "b"), Fact::Response(last)];
    assert_eq!(facts(input), expected);
    assert_eq!(error(b"HTTP/1.1 101 Switching Protocols\r\n\r\n"), ClientError::Upgrade);
    let limits = Limits { informational: 2, ..Limits::default() };
    let endless = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(3);
    assert_eq!(error_with(limits, &endless), ClientError::TooManyInformational);
    assert_eq!(error_with(limits, &endless[..endless.len() - 1]), ClientError::ClosedInHead);
    assert_eq!(error_with(limits, &endless[..25]), ClientError::ClosedInHead);
}

#[test]
fn informational_responses_are_counted_for_each_response() {
    let limits = Limits { informational: 1, ..Limits::default() };
    let input = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 x\r\n\r\n".repeat(3);
    let facts = facts_for(limits, &[Expect::Body; 3], &input);
    assert_eq!(facts.iter().filter(|fact| matches!(fact, Fact::Response(_))).count(), 3, "{facts:?}");
}

#[test]
fn endless_messages_are_cut() {
    let limits = Limits { head_bytes: 100, headers: 4, body_bytes: 10, informational: 0 };
    let ok = "HTTP/1.1 200 OK\r\n";
    let of = |rest: &str| error_with(limits, format!("{ok}{rest}").as_bytes());
    assert_eq!(of(&"A: b\r\n".repeat(5)), ClientError::TooManyHeaders);
    assert_eq!(of(&format!("A: {}", "b".repeat(80))), ClientError::ClosedInHead);
    assert_eq!(of(&format!("A: {}", "b".repeat(81))), ClientError::HeadTooLarge);
    assert_eq!(error_with(limits, "HTTP/".repeat(50).as_bytes()), ClientError::HeadTooLarge);
    assert_eq!(of("Content-Length: 11\r\n\r\n"), ClientError::BodyTooLarge);
    assert_eq!(of("\r\n01234567890"), ClientError::BodyTooLarge);
    let chunked = |rest: &str| of(&format!("Transfer-Encoding: chunked\r\n\r\n{rest}"));
    assert_eq!(chunked("8\r\n01234567\r\n3\r\n"), ClientError::BodyTooLarge);
    assert_eq!(chunked(&format!("1;{}", "x".repeat(100))), ClientError::HeadTooLarge);
    assert_eq!(chunked(&format!("0\r\n{}", "A: b\r\n".repeat(5))), ClientError::TooManyHeaders);
    assert_eq!(chunked(&format!("0\r\nA: {}", "b".repeat(100))), ClientError::HeadTooLarge);
    let default = format!("{ok}Transfer-Encoding: chunked\r\n\r\n1;{}", "x".repeat(CHUNK_LINE_BYTES));
    assert_eq!(error(default.as_bytes()), ClientError::HeadTooLarge);
}

#[test]
fn a_head_of_exactly_the_limit_passes() {
    let head = |filler: usize| format!("HTTP/1.1 204 x\r\nA: {}\r\n\r\n", "b".repeat(filler));
    let limits = Limits { head_bytes: 100, ..Limits::default() };
    let fixed = head(0).len();
    let exact = facts_for(limits, &[Expect::Body], head(100 - fixed).as_bytes());
    assert!(matches!(exact.last(), Some(Fact::Response(_))), "{exact:?}");
    assert_eq!(error_with(limits, head(101 - fixed).as_bytes()), ClientError::HeadTooLarge);
}

#[test]
fn closing_says_what_was_cut() {
    assert_eq!(error(b""), ClientError::ClosedBeforeResponse);
    for input in ["H", "HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n", "HTTP/1.1 200 OK\r\n\r"]
    {
        assert_eq!(error(input.as_bytes()), ClientError::ClosedInHead, "{input:?}");
    }
    let body = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab";
    assert_eq!(error(body), ClientError::ClosedInBody { missing: Some(3) });
    assert_eq!(facts_for(Limits::default(), &[], b""), []);
}

#[test]
fn pipelined_responses_come_out_one_by_one() {
    let input = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabHTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nHTTP/1.1 204 x\r\n\r\n";
    let mut client = Client::new(Limits::default());
    for expect in [Expect::Body, Expect::NoBody, Expect::Body] {
        client.request_sent(expect);
    }
    let first = client.receive(input, &mut Ignore);
    assert_eq!(first, Ok(Received { consumed: 40, response: Some(ok(2, true)) }));
    assert_eq!(client.outstanding(), 2);
    let second = client.receive(&input[40..], &mut Ignore);
    assert_eq!(second, Ok(Received { consumed: 38, response: Some(ok(0, true)) }));
    let third = client.receive(&input[78..], &mut Ignore).expect("a response");
    assert_eq!((third.consumed, third.response.map(|response| response.status)), (input.len() - 78, Some(204)));
    assert_eq!(client.receive(b"", &mut Ignore), Ok(Received { consumed: 0, response: None }));
    assert_eq!(client.receive(b"x", &mut Ignore), Err(ClientError::UnexpectedBytes));
    assert_eq!(client.progress(), Progress::Idle);
}

#[test]
fn every_place_in_the_queue_keeps_its_kind() {
    let mut client = Client::new(Limits::default());
    // Twice, so that a place is used again.
    for _ in 0..2 {
        for place in 0..MAX_OUTSTANDING {
            client.request_sent(if place % 3 == 0 { Expect::NoBody } else { Expect::Body });
        }
        for place in 0..MAX_OUTSTANDING {
            let body = if place % 3 == 0 { "" } else { "x" };
            let input = format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{body}");
            let received = client.receive(input.as_bytes(), &mut Ignore);
            assert_eq!(received, Ok(Received { consumed: input.len(), response: Some(ok(body.len() as u64, true)) }));
        }
        assert_eq!(client.outstanding(), 0);
    }
}

#[test]
#[should_panic(expected = "more than 64 requests outstanding")]
fn one_request_too_many_is_a_bug() {
    let mut client = Client::new(Limits::default());
    (0..=MAX_OUTSTANDING).for_each(|_| client.request_sent(Expect::Body));
}

#[test]
fn progress_names_the_phase() {
    let mut client = Client::new(Limits::default());
    assert_eq!(client.progress(), Progress::Idle);
    client.request_sent(Expect::Body);
    assert_eq!(client.progress(), Progress::FirstByte);
    let steps = [
        ("H", Progress::Head),
        ("TTP/1.1 100 Continue\r\n\r\n", Progress::Head),
        ("HTTP/1.1 200 OK\r\n", Progress::Head),
        ("Transfer-Encoding: chunked\r\n\r\n", Progress::Body),
        ("1\r\nx\r\n", Progress::Body),
        ("0\r\n", Progress::Body),
        ("\r\n", Progress::Idle),
    ];
    for (bytes, expected) in steps {
        assert_eq!(client.receive(bytes.as_bytes(), &mut Ignore).map(|received| received.consumed), Ok(bytes.len()));
        assert_eq!(client.progress(), expected, "{bytes:?}");
    }
}

#[test]
fn progress_after_an_error_names_its_phase() {
    let phase = |input: &[u8]| match facts(input).pop() {
        Some(Fact::ClientFailed(_, progress)) => progress,
        other => panic!("{other:?}"),
    };
    assert_eq!(phase(b""), Progress::FirstByte);
    assert_eq!(phase(b"SSH-2.0-x"), Progress::Head);
    assert_eq!(phase(b"HTTP/1.1 200 OK\r\nbad\r\n"), Progress::Head);
    assert_eq!(phase(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n"), Progress::Body);
}
