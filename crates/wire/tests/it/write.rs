//! The writers, byte for byte.

use wire::http1::{
    Length, ResponseHead, USER_AGENT, reason, write_chunk, write_last_chunk, write_request, write_response_head,
};

fn request(method: &str, headers: &[(&str, &str)], keepalive: bool, body: &str) -> String {
    let headers: Vec<_> = headers.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    let mut out = Vec::new();
    write_request(&mut out, method, "/p?q", "host:80", &headers, keepalive, body.as_bytes());
    String::from_utf8(out).expect("ASCII")
}

fn head(head: &ResponseHead<'_>) -> String {
    let mut out = Vec::new();
    write_response_head(&mut out, head);
    String::from_utf8(out).expect("ASCII")
}

#[test]
fn a_plain_get() {
    let version = env!("CARGO_PKG_VERSION");
    let expected =
        format!("GET /p?q HTTP/1.1\r\nHost: host:80\r\nUser-Agent: plimsoll/{version}\r\nAccept: */*\r\n\r\n");
    assert_eq!(request("GET", &[], true, ""), expected);
}

#[test]
fn a_connection_that_is_not_kept() {
    assert!(request("GET", &[], false, "").contains("\r\nConnection: close\r\n"));
    assert!(!request("GET", &[("connection", "upgrade")], false, "").contains("close"));
}

#[test]
fn lengths_of_request_bodies() {
    let length = |method, headers: &[(&str, &str)], body| {
        let request = request(method, headers, true, body);
        let (head, written) = request.split_once("\r\n\r\n").expect("an end of the head");
        assert_eq!(written, body);
        head.lines().filter_map(|line| line.strip_prefix("Content-Length: ")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(length("POST", &[], "hello"), ["5"]);
    assert_eq!(length("POST", &[], ""), ["0"]);
    assert_eq!(length("PATCH", &[], ""), ["0"]);
    assert_eq!(length("DELETE", &[], "0123456789"), ["10"]);
    assert!(length("DELETE", &[], "").is_empty());
    assert_eq!(length("POST", &[("Content-Length", "7")], "hello"), ["7"]);
    assert!(length("POST", &[("transfer-encoding", "chunked")], "0\r\n").is_empty());
}

#[test]
fn given_headers_win() {
    let headers = [("HOST", "other"), ("user-agent", "me"), ("ACCEPT", "text/html"), ("X-Y", "z")];
    let expected = "GET /p?q HTTP/1.1\r\nHOST: other\r\nuser-agent: me\r\nACCEPT: text/html\r\nX-Y: z\r\n\r\n";
    assert_eq!(request("GET", &headers, true, ""), expected);
    assert!(!request("GET", &headers, true, "").contains(USER_AGENT));
}

#[test]
fn response_heads() {
    let exact = ResponseHead {
        status: 200,
        content_type: "text/plain",
        length: Length::Exact(u64::MAX),
        keepalive: true,
        headers: &[("A", "b"), ("C", "d")],
    };
    let expected = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 18446744073709551615\r\n\
                    Connection: keep-alive\r\nA: b\r\nC: d\r\n\r\n";
    assert_eq!(head(&exact), expected);
    let chunked =
        ResponseHead { status: 404, content_type: "", length: Length::Chunked, keepalive: false, headers: &[] };
    let expected = "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
    assert_eq!(head(&chunked), expected);
    let until_close = ResponseHead { status: 299, length: Length::UntilClose, keepalive: true, ..chunked };
    assert_eq!(head(&until_close), "HTTP/1.1 299 \r\nConnection: close\r\n\r\n");
    let none = ResponseHead { status: 204, length: Length::None, keepalive: true, ..chunked };
    assert_eq!(head(&none), "HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n");
    assert_eq!(head(&ResponseHead { status: 100, ..none }), "HTTP/1.1 100 Continue\r\n\r\n");
    assert!(head(&ResponseHead { length: Length::Exact(0), ..none }).contains("Content-Length: 0\r\n"));
}

#[test]
fn chunks() {
    let chunk = |bytes: usize| {
        let mut out = Vec::new();
        write_chunk(&mut out, &vec![b'x'; bytes]);
        String::from_utf8(out).expect("ASCII")
    };
    assert_eq!(chunk(0), "");
    assert_eq!(chunk(1), "1\r\nx\r\n");
    for (bytes, size) in [(15, "f"), (16, "10"), (255, "ff"), (256, "100"), (65_536, "10000"), (70_000, "11170")] {
        assert_eq!(chunk(bytes), format!("{size}\r\n{}\r\n", "x".repeat(bytes)));
    }
    let mut out = Vec::new();
    write_last_chunk(&mut out);
    assert_eq!(out, b"0\r\n\r\n");
}

#[test]
fn reasons() {
    for (status, phrase) in [(200, "OK"), (304, "Not Modified"), (414, "URI Too Long"), (503, "Service Unavailable")] {
        assert_eq!(reason(status), phrase);
    }
    assert_eq!((reason(299), reason(499), reason(999)), ("", "", ""));
}
