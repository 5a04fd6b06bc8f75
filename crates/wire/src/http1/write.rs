//! Writers: requests of the client, response heads and chunks of the server.

/// Value of the `User-Agent` header.
pub const USER_AGENT: &str = concat!("plimsoll/", env!("CARGO_PKG_VERSION"));

/// Appends one request, body included.
///
/// `Host`, `User-Agent`, `Accept: */*`, `Connection: close` (without `keepalive`) and `Content-Length` (with a body, or
/// with POST, PUT and PATCH) are added unless `headers` has a header of that name; `Content-Length` also gives way to a
/// `Transfer-Encoding`, whose framing `body` then has to carry. Everything is written as it is given: method, path and
/// headers must not contain line ends, and the path no spaces.
pub fn write_request(
    out: &mut Vec<u8>,
    method: &str,
    path: &str,
    authority: &str,
    headers: &[(String, String)],
    keepalive: bool,
    body: &[u8],
) {
    let given = |name: &str| headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
    push(out, &[method, " ", path, " HTTP/1.1\r\n"]);
    if !given("host") {
        push(out, &["Host: ", authority, "\r\n"]);
    }
    if !given("user-agent") {
        push(out, &["User-Agent: ", USER_AGENT, "\r\n"]);
    }
    if !given("accept") {
        push(out, &["Accept: */*\r\n"]);
    }
    if !keepalive && !given("connection") {
        push(out, &["Connection: close\r\n"]);
    }
    for (name, value) in headers {
        push(out, &[name, ": ", value, "\r\n"]);
    }
    let wants_length = !body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH");
    if wants_length && !given("content-length") && !given("transfer-encoding") {
        push(out, &["Content-Length: "]);
        push_decimal(out, body.len() as u64);
        push(out, &["\r\n"]);
    }
    push(out, &["\r\n"]);
    out.extend_from_slice(body);
}

/// How the end of a response body is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// `Content-Length`, in bytes.
    Exact(u64),
    /// `Transfer-Encoding: chunked`: the body is written with [`write_chunk`] and [`write_last_chunk`].
    Chunked,
    /// By closing the connection; `keepalive` is then ignored.
    UntilClose,
    /// The status has no body (1xx, 204, 304).
    None,
}

/// The head of a response.
#[derive(Debug, Clone, Copy)]
pub struct ResponseHead<'a> {
    /// Status code, 100 to 999.
    pub status: u16,
    /// Media type; no header when empty.
    pub content_type: &'a str,
    /// How the end of the body is marked.
    pub length: Length,
    /// Written as `Connection: keep-alive` or `Connection: close`; HTTP/1.0 clients need the former.
    pub keepalive: bool,
    /// Further headers, written as they are given.
    pub headers: &'a [(&'a str, &'a str)],
}

/// Appends the head of a response. A 1xx head has neither length nor connection header.
pub fn write_response_head(out: &mut Vec<u8>, head: &ResponseHead<'_>) {
    push(out, &["HTTP/1.1 "]);
    push_decimal(out, u64::from(head.status));
    push(out, &[" ", reason(head.status), "\r\n"]);
    if !head.content_type.is_empty() {
        push(out, &["Content-Type: ", head.content_type, "\r\n"]);
    }
    match head.length {
        Length::Exact(bytes) => {
            push(out, &["Content-Length: "]);
            push_decimal(out, bytes);
            push(out, &["\r\n"]);
        }
        Length::Chunked => push(out, &["Transfer-Encoding: chunked\r\n"]),
        Length::UntilClose | Length::None => {}
    }
    if head.status >= 200 {
        let stays = head.keepalive && head.length != Length::UntilClose;
        push(out, &[if stays { "Connection: keep-alive\r\n" } else { "Connection: close\r\n" }]);
    }
    for (name, value) in head.headers {
        push(out, &[name, ": ", value, "\r\n"]);
    }
    push(out, &["\r\n"]);
}

/// Appends one chunk of a chunked body; nothing when `bytes` is empty, as an empty chunk would end the body.
pub fn write_chunk(out: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    let digits = (usize::BITS - bytes.len().leading_zeros()).div_ceil(4);
    for place in (0..digits).rev() {
        out.push(b"0123456789abcdef"[bytes.len() >> (4 * place) & 0xf]);
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// Appends the end of a chunked body, without trailers.
pub fn write_last_chunk(out: &mut Vec<u8>) {
    out.extend_from_slice(b"0\r\n\r\n");
}

/// The reason phrase of a status code (RFC 9110 section 15 and the common additions); empty when unknown.
pub fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        101 => "Switching Protocols",
        102 => "Processing",
        103 => "Early Hints",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        203 => "Non-Authoritative Information",
        204 => "No Content",
        205 => "Reset Content",
        206 => "Partial Content",
        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400..=499 => client_error(status),
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        507 => "Insufficient Storage",
        511 => "Network Authentication Required",
        _ => "",
    }
}

fn client_error(status: u16) -> &'static str {
    match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        407 => "Proxy Authentication Required",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        418 => "I'm a teapot",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        425 => "Too Early",
        426 => "Upgrade Required",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        451 => "Unavailable For Legal Reasons",
        _ => "",
    }
}

fn push(out: &mut Vec<u8>, parts: &[&str]) {
    for part in parts {
        out.extend_from_slice(part.as_bytes());
    }
}

fn push_decimal(out: &mut Vec<u8>, mut number: u64) {
    const DIGITS: usize = u64::MAX.ilog10() as usize + 1;
    let mut digits = [0; DIGITS];
    let mut start = DIGITS;
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}
