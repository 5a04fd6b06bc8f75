//! What an ordinary client gets from a server while others attack it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// How often it asks, each time on a new connection.
const EACH: Duration = Duration::from_millis(100);
/// How long it waits.
const TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answered {
    pub(super) asked: u32,
    pub(super) answered: u32,
}

impl Answered {
    /// From 0 to 1.
    pub(super) fn share(self) -> f64 {
        f64::from(self.answered) / f64::from(self.asked.max(1))
    }
}

/// Asks from the one to the other of two instants after `begun`.
pub(super) fn ask(server: SocketAddr, begun: Instant, [from, to]: [Duration; 2]) -> Answered {
    std::thread::sleep((begun + from).saturating_duration_since(Instant::now()));
    let mut all = Answered::default();
    while begun.elapsed() < to {
        let next = Instant::now() + EACH;
        all.asked += 1;
        all.answered += u32::from(is_answered(server).unwrap_or(false));
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    all
}

/// True if a request is answered as it should be.
fn is_answered(server: SocketAddr) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect_timeout(&server, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.write_all(b"GET /bytes/64 HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")?;
    let mut begin = [0; 12];
    stream.read_exact(&mut begin)?;
    Ok(&begin == b"HTTP/1.1 200")
}
