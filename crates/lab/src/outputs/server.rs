//! A server that fails in a known way, and counts what it did.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::accepting::Accepting;

/// What it does instead of a good answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Nothing.
    None,
    /// This status on every so many requests.
    Status(u16, u64),
    /// Closes without an answer on every so many.
    Close(u64),
    /// Closes within the body on every so many.
    Cut(u64),
    /// Nobody listens.
    Refused,
}

/// What it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Truth {
    pub(super) good: u64,
    /// Without redirects.
    pub(super) bad_status: u64,
    pub(super) redirects: u64,
    pub(super) broken: u64,
    /// Of the broken: those that ended within the body.
    pub(super) cut: u64,
}

/// Ends with this value.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    shared: Arc<Shared>,
    /// None where nobody is to listen.
    _accepting: Option<Accepting>,
}

struct Shared {
    fault: Fault,
    is_over: AtomicBool,
    requests: AtomicU64,
    good: AtomicU64,
    other_status: AtomicU64,
    broken: AtomicU64,
}

impl Server {
    pub(super) fn start(fault: Fault) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let [requests, good, other_status, broken] = [0; 4].map(AtomicU64::new);
        let shared = Arc::new(Shared { fault, is_over: AtomicBool::new(false), requests, good, other_status, broken });
        let of_threads = Arc::clone(&shared);
        let serve = move |stream: TcpStream| {
            // A client that goes away ends it as well.
            let _ = of_threads.serve(&stream);
            let _ = stream.shutdown(Shutdown::Both);
        };
        let accepting = if fault == Fault::Refused { None } else { Some(Accepting::start(listener, serve)?) };
        Ok(Self { address, shared, _accepting: accepting })
    }

    /// What it has done so far. Clients that come later are not answered.
    pub(super) fn truth(&self) -> Truth {
        self.shared.is_over.store(true, Ordering::SeqCst);
        let Shared { good, other_status, broken, fault, .. } = &*self.shared;
        let [good, other, broken] = [good, other_status, broken].map(|n| n.load(Ordering::SeqCst));
        let (bad_status, redirects) = if matches!(fault, Fault::Status(300..400, _)) { (0, other) } else { (other, 0) };
        let cut = if matches!(fault, Fault::Cut(_)) { broken } else { 0 };
        Truth { good, bad_status, redirects, broken, cut }
    }
}

impl Shared {
    fn serve(&self, mut stream: &TcpStream) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let (mut unread, mut buffer) = (Vec::new(), [0; 4096]);
        loop {
            while let Some(end) = unread.windows(4).position(|window| window == b"\r\n\r\n") {
                let head: Vec<u8> = unread.drain(..end + 4).collect();
                if self.is_over.load(Ordering::SeqCst) || !self.answer(stream, &head)? {
                    return Ok(());
                }
            }
            let n = stream.read(&mut buffer)?;
            if n == 0 {
                return Ok(());
            }
            unread.extend_from_slice(&buffer[..n]);
        }
    }

    /// Answers a request; false if the connection ends with it.
    fn answer(&self, mut stream: &TcpStream, head: &[u8]) -> std::io::Result<bool> {
        let head = String::from_utf8_lossy(head).to_ascii_lowercase();
        let is_new = !head.lines().next().unwrap_or_default().ends_with("http/1.0");
        let keeps = !head.contains("connection: close") && (is_new || head.contains("connection: keep-alive"));
        let number = 1 + self.requests.fetch_add(1, Ordering::SeqCst);
        let is_due = |every: u64| number.is_multiple_of(every);
        let status = match self.fault {
            Fault::Status(status, every) if is_due(every) => status,
            _ => 200,
        };
        let answer = response(status, keeps);
        let (bytes, count, goes_on) = match self.fault {
            Fault::Close(every) if is_due(every) => (&answer[..0], &self.broken, false),
            Fault::Cut(every) if is_due(every) => (&answer[..answer.len() - BODY.len() / 2], &self.broken, false),
            _ if status == 200 => (&answer[..], &self.good, keeps),
            _ => (&answer[..], &self.other_status, keeps),
        };
        // Before the answer: whoever has it may ask at once.
        count.fetch_add(1, Ordering::SeqCst);
        stream.write_all(bytes.as_bytes())?;
        Ok(goes_on)
    }
}

const BODY: &str = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";

fn response(status: u16, keeps: bool) -> String {
    let connection = if keeps { "keep-alive" } else { "close" };
    format!("HTTP/1.1 {status} x\r\nConnection: {connection}\r\nContent-Length: {}\r\n\r\n{BODY}", BODY.len())
}

#[cfg(test)]
mod tests {
    use super::{Fault, Server, Truth};
    use std::io::{Read, Write};
    use std::net::TcpStream;

    #[test]
    fn it_counts_what_it_does() {
        for (fault, expected) in [
            (Fault::Status(500, 2), Truth { good: 2, bad_status: 2, ..Truth::default() }),
            (Fault::Status(302, 2), Truth { good: 2, redirects: 2, ..Truth::default() }),
            (Fault::Cut(2), Truth { good: 2, broken: 2, cut: 2, ..Truth::default() }),
        ] {
            let server = Server::start(fault).unwrap();
            for _ in 0..4 {
                let mut stream = TcpStream::connect(server.address).unwrap();
                stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
                let mut answer = String::new();
                stream.read_to_string(&mut answer).unwrap();
                assert!(answer.starts_with("HTTP/1.1 "), "{answer}");
            }
            assert_eq!(server.truth(), expected);
        }
    }
}
