//! The null server: the least a server can do per request, so that a client's own cost stands out.
//!
//! One thread, one level-triggered epoll set, one read and one write per request, a fixed response with a 64-byte
//! body. It looks at three things only: whether the request's end has arrived, whether it says `Connection: close`,
//! and whether it is for `/stats`, which tells how many connections and requests there have been. Requests must be
//! small, carry no body and not be pipelined.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};

use anyhow::{Context, Result};
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::time::Timespec;

/// Connections that may wait to be accepted: more than any case opens at once.
const BACKLOG: i32 = 4096;
/// Events taken per turn of the loop.
const EVENTS: usize = 1024;
/// A request of a load generator is some 50 to 200 bytes.
const REQUEST_BYTES_MAX: usize = 4096;

/// Says that the connection is kept, which clients of HTTP/1.0 need to hear.
const KEEP: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 64\r\nConnection: keep-alive\r\n\r\n\
0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const CLOSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 64\r\nConnection: close\r\n\r\n\
0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// The fixed-response server that `peers` uses; the first line of output has the address
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: String,
}

/// Serves until it is killed.
pub fn run(Options { listen }: Options) -> Result<()> {
    let mut server = NullServer::bind(&listen)?;
    println!("{{\"listening\":\"{}\"}}", server.address()?);
    loop {
        server.turn(None)?;
    }
}

struct NullServer {
    listener: TcpListener,
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
    /// Indexed by file descriptor.
    connections: Vec<Option<TcpStream>>,
    counts: Counts,
}

/// Since the start, those for `/stats` included.
#[derive(Default)]
struct Counts {
    connections: u64,
    requests: u64,
}

impl NullServer {
    fn bind(listen: &str) -> Result<Self> {
        let listener = TcpListener::bind(listen).with_context(|| format!("cannot listen on {listen}"))?;
        // A second listen() on the same socket only raises the backlog, which std does not let us choose.
        rustix::net::listen(&listener, BACKLOG)?;
        listener.set_nonblocking(true)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, epoll::EventData::new_u64(index(&listener) as u64), epoll::EventFlags::IN)?;
        let events = Vec::with_capacity(EVENTS);
        Ok(Self { listener, epoll, events, connections: Vec::new(), counts: Counts::default() })
    }

    fn address(&self) -> Result<SocketAddr> {
        Ok(self.listener.local_addr()?)
    }

    /// Waits for events and handles all of them.
    fn turn(&mut self, timeout: Option<&Timespec>) -> Result<()> {
        self.events.clear();
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), timeout) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).context("epoll_wait"),
        }
        let listener = index(&self.listener);
        for at in 0..self.events.len() {
            let ready = self.events[at].data.u64() as usize;
            if ready == listener {
                self.accept()?;
            } else if !self.connections[ready].as_mut().is_none_or(|stream| answer(stream, &mut self.counts)) {
                // Dropping the socket closes it, and closing takes it out of the epoll set.
                self.connections[ready] = None;
            }
        }
        Ok(())
    }

    fn accept(&mut self) -> Result<()> {
        while let Ok((stream, _)) = self.listener.accept() {
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            let at = index(&stream);
            epoll::add(&self.epoll, &stream, epoll::EventData::new_u64(at as u64), epoll::EventFlags::IN)?;
            if at >= self.connections.len() {
                self.connections.resize_with(at + 1, || None);
            }
            self.connections[at] = Some(stream);
            self.counts.connections += 1;
        }
        Ok(())
    }
}

/// Reads once and answers once; whether the connection stays open.
fn answer(stream: &mut TcpStream, counts: &mut Counts) -> bool {
    let mut buffer = [0_u8; REQUEST_BYTES_MAX];
    let request = match stream.read(&mut buffer) {
        Ok(0) => return false,
        Ok(length) => &buffer[..length],
        Err(error) => return error.kind() == std::io::ErrorKind::WouldBlock,
    };
    if !request.ends_with(b"\r\n\r\n") {
        // The rest is on its way.
        return true;
    }
    counts.requests += 1;
    if request.starts_with(b"GET /stats ") {
        // The connection is closed whether or not the client got its answer.
        let _ = stream.write_all(stats(counts).as_bytes());
        return false;
    }
    let close = says_close(request);
    let response = if close { CLOSE } else { KEEP };
    let written = stream.write(response).is_ok_and(|length| length == response.len());
    written && !close
}

fn stats(counts: &Counts) -> String {
    let body = format!("{{\"connections\":{},\"requests\":{}}}", counts.connections, counts.requests);
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// True if a header value is `close`; the only header that clients of this server send it in is `Connection`.
fn says_close(request: &[u8]) -> bool {
    const VALUE: &[u8] = b": close\r";
    request.windows(VALUE.len()).any(|window| window[0] == b':' && window.eq_ignore_ascii_case(VALUE))
}

fn index(socket: &impl AsRawFd) -> usize {
    usize::try_from(socket.as_raw_fd()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use rustix::time::Timespec;

    use super::{CLOSE, KEEP, NullServer};

    /// Long enough for a loopback event on a busy machine, and only waited out when something is broken.
    const TURN: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

    #[test]
    fn answers_each_request_and_keeps_the_connection() {
        let mut server = NullServer::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(server.address().unwrap()).unwrap();
        server.turn(Some(&TURN)).unwrap();
        for _ in 0..2 {
            client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
            server.turn(Some(&TURN)).unwrap();
            let mut response = vec![0; KEEP.len()];
            client.read_exact(&mut response).unwrap();
            assert_eq!(response, KEEP);
        }
    }

    #[test]
    fn closes_when_asked() {
        let mut server = NullServer::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(server.address().unwrap()).unwrap();
        server.turn(Some(&TURN)).unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nconnection: close\r\n\r\n").unwrap();
        server.turn(Some(&TURN)).unwrap();
        let mut response = Vec::new();
        client.read_to_end(&mut response).unwrap();
        assert_eq!(response, CLOSE);
    }

    #[test]
    fn everything_is_counted() {
        let mut server = NullServer::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(server.address().unwrap()).unwrap();
        server.turn(Some(&TURN)).unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        server.turn(Some(&TURN)).unwrap();
        let mut asker = TcpStream::connect(server.address().unwrap()).unwrap();
        server.turn(Some(&TURN)).unwrap();
        asker.write_all(b"GET /stats HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        server.turn(Some(&TURN)).unwrap();
        let mut response = String::new();
        asker.read_to_string(&mut response).unwrap();
        assert!(response.ends_with("\r\n\r\n{\"connections\":2,\"requests\":2}"), "{response}");
    }

    #[test]
    fn the_body_is_as_long_as_the_header_says() {
        for response in [KEEP, CLOSE] {
            let text = std::str::from_utf8(response).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.contains("Content-Length: 64"));
            assert_eq!(body.len(), 64);
        }
    }
}
