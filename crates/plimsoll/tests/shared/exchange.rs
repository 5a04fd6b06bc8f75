//! One request, one connection, and everything that comes back.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A server that sends nothing for this long hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    /// Its chunks joined.
    pub(crate) body: Vec<u8>,
}

/// Sends `request`, which asks for the connection to be closed, and reads to its end.
#[track_caller]
pub(crate) fn exchange(address: SocketAddr, request: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket option");
    stream.write_all(request).expect("it reads");
    let mut bytes = Vec::new();
    // A server that refuses what is still being sent may reset the connection behind its answer.
    let _ = stream.read_to_end(&mut bytes);
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(300)]).into_owned();
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { panic!("no answer: {shown:?}") };
    let head = String::from_utf8_lossy(&bytes[..end + 2]).into_owned();
    let status = head.get(9..12).and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("no status: {shown:?}"));
    let body = bytes.split_off(end + 4);
    let mut answer = Answer { status, head, body };
    if answer.is_chunked() {
        answer.body = joined(&answer.body).unwrap_or_else(|| panic!("broken chunks: {shown:?}"));
    }
    answer
}

impl Answer {
    /// The value of a header, whose name is in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn is_chunked(&self) -> bool {
        self.header("transfer-encoding") == Some("chunked")
    }
}

/// The body in chunks that end as they should.
fn joined(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).ok()?, 16).ok()?;
        rest = &rest[end + 2..];
        let (chunk, after) = rest.split_at_checked(size)?;
        body.extend_from_slice(chunk);
        rest = after.strip_prefix(b"\r\n")?;
        if size == 0 {
            return rest.is_empty().then_some(body);
        }
    }
}
