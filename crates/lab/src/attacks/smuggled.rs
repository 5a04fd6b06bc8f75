//! Requests that two servers in a row may cut differently, so that the end of one passes for another.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

pub(super) const NAME: &str = "request smuggling";
/// What each of them hides.
const HIDDEN: &str = "GET /bytes/9 HTTP/1.1\r\nHost: t\r\n\r\n";
const TIMEOUT: Duration = Duration::from_secs(2);

/// All are refused with 400 or 501 by a server that reads them as one.
pub(super) const REQUESTS: [&str; 12] = [
    "POST /upload HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST /upload HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "POST /upload HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    "POST /upload HTTP/1.1\r\nHost: t\r\nContent-Length: 5, 5\r\n\r\nhello",
    "POST /upload HTTP/1.1\r\nHost: t\r\nContent-Length: +5\r\n\r\nhello",
    "POST /upload HTTP/1.1\r\nHost: t\r\nContent-Length : 5\r\n\r\nhello",
    "POST /upload HTTP/1.1\r\nHost: t\r\nX: y\r\n Content-Length: 5\r\n\r\nhello",
    "POST /upload HTTP/1.1\r\nHost: t\r\nX: y\rContent-Length: 5\r\n\r\nhello",
    "POST /upload HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "POST /upload HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "POST /upload HTTP/1.1\r\nHost: t\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "POST /upload HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
];

/// True if a request is refused, with all that is behind it.
pub(super) fn is_refused(server: SocketAddr, request: &str) -> bool {
    answer(server, request).is_ok_and(|answer| is_refusal(&answer))
}

fn is_refusal(answer: &str) -> bool {
    let refused = ["HTTP/1.1 400 ", "HTTP/1.1 501 "].iter().any(|status| answer.starts_with(status));
    refused && answer.matches("HTTP/1.1 ").count() == 1
}

/// All that comes until the server closes the connection or is silent.
fn answer(server: SocketAddr, request: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&server, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.write_all(format!("{request}{HIDDEN}").as_bytes())?;
    let mut answer = Vec::new();
    // What was read before a timeout or a reset stays.
    let _ = stream.take(1 << 20).read_to_end(&mut answer);
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests {
    use super::is_refusal;

    #[test]
    fn an_answer_to_what_was_hidden_is_no_refusal() {
        assert!(is_refusal("HTTP/1.1 400 Bad Request\r\n\r\n"));
        assert!(!is_refusal("HTTP/1.1 400 Bad Request\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"));
        assert!(!is_refusal("HTTP/1.1 200 OK\r\n\r\n"));
        assert!(!is_refusal(""));
    }
}
