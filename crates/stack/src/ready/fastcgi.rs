//! One request to a FastCGI application.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use wire::Event;
use wire::fastcgi::{Client, Request, write_request};
use wire::http1::{Limits, ResponseSink};

/// The body of a response.
#[derive(Default)]
struct Page(Vec<u8>);

impl ResponseSink for Page {
    fn body(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

/// Status and body of a GET of the file `script`, behind which a query may stand; a body of more than `bytes_max` is an error.
pub(super) fn get(mut stream: UnixStream, script: &str, bytes_max: u64) -> io::Result<(u16, Vec<u8>)> {
    let mut client = Client::new(Limits { body_bytes: bytes_max, ..Limits::default() }, false, 1);
    let mut out = Vec::new();
    let request = Request {
        method: "GET",
        path: script,
        authority: "localhost",
        headers: &[],
        keepalive: false,
        body: &[],
        script: script.split('?').next().unwrap_or_default(),
    };
    write_request(&mut out, &request);
    let stream_id = client.open();
    client.submit(stream_id);
    stream.write_all(&out)?;
    let (mut page, mut buffer) = (Page::default(), [0; 16 << 10]);
    let wrong = |error: wire::http1::ClientError| io::Error::new(ErrorKind::InvalidData, error.to_string());
    loop {
        let length = stream.read(&mut buffer)?;
        if length == 0 {
            client.receive_eof().map_err(wrong)?;
            return Err(ErrorKind::UnexpectedEof.into());
        }
        match client.receive(&buffer[..length], &mut page).map_err(wrong)?.event {
            Some(Event::Response(response)) => return Ok((response.status, page.0)),
            Some(Event::Failed { error, .. }) => return Err(wrong(error)),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an application says to a request of which it has read nothing.
    fn answered(records: &[u8]) -> io::Result<(u16, Vec<u8>)> {
        let (ours, mut theirs) = UnixStream::pair().expect("a pair");
        theirs.write_all(records).expect("it fits");
        theirs.shutdown(std::net::Shutdown::Write).expect("connected");
        get(ours, "/srv/index.php", 100)
    }

    #[test]
    fn a_page_is_read_to_its_end_and_a_broken_one_is_told() {
        let content = b"Status: 200 OK\r\n\r\nhello";
        let mut page = [&[1, 6, 0, 1, 0, content.len() as u8, 0, 0], &content[..]].concat();
        let cut = answered(&page).expect_err("it has no end").kind();
        assert!(matches!(cut, ErrorKind::InvalidData | ErrorKind::UnexpectedEof), "{cut}");
        page.extend([1, 3, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(answered(&page).expect("a page"), (200, b"hello".to_vec()));
        assert!(answered(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}
