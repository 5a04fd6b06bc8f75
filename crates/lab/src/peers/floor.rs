//! The floor: the least a client can do per request, so that a load generator's own work stands out.
//!
//! One thread, one level-triggered epoll set, one write and one read per request, nothing parsed, nothing recorded.
//! A response must arrive in one piece, which the small fixed responses of both servers do on loopback.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::time::Timespec;

const RESPONSE_BYTES_MAX: usize = 4096;
/// How late the end may be seen when nothing arrives.
const WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// The arguments of this program that run the loop against a server.
pub(super) fn command_line(url: &str, connections: u32, seconds: u32) -> String {
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    format!("floor --address {address} --connections {connections} --seconds {seconds}")
}

/// The least a client can do per request, which `peers` uses as well
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Options {
    /// Address of the server
    #[arg(long)]
    address: SocketAddr,
    /// Connections
    #[arg(long, value_name = "C", default_value_t = 64)]
    connections: usize,
    /// Length in seconds
    #[arg(long, value_name = "S", default_value_t = 4)]
    seconds: u64,
}

/// Prints `{"requests":N,"per_s":R}`.
pub fn run(Options { address, connections, seconds }: Options) -> Result<()> {
    let (requests, elapsed) = exchange(address, connections, Duration::from_secs(seconds))?;
    let per_s = requests as f64 / elapsed.as_secs_f64();
    println!("{}", serde_json::json!({ "requests": requests, "per_s": per_s }));
    Ok(())
}

/// Exchanges requests and responses on every connection until the time is over.
fn exchange(address: SocketAddr, connections: usize, duration: Duration) -> Result<(u64, Duration)> {
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let mut sockets = Vec::with_capacity(connections);
    for index in 0..connections {
        let socket = TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
        epoll::add(&epoll, &socket, epoll::EventData::new_u64(index as u64), epoll::EventFlags::IN)?;
        sockets.push(socket);
    }
    let started = Instant::now();
    for socket in &mut sockets {
        socket.write_all(request.as_bytes())?;
    }
    let mut events = Vec::with_capacity(connections.max(1));
    let mut buffer = [0; RESPONSE_BYTES_MAX];
    let mut responses = 0;
    while started.elapsed() < duration {
        events.clear();
        epoll::wait(&epoll, spare_capacity(&mut events), Some(&WAIT)).context("epoll_wait")?;
        for event in &events {
            let socket = &mut sockets[event.data.u64() as usize];
            let length = socket.read(&mut buffer).context("reading a response")?;
            anyhow::ensure!(length > 0, "the server closed a connection");
            responses += 1;
            socket.write_all(request.as_bytes()).context("writing a request")?;
        }
    }
    Ok((responses, started.elapsed()))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::time::Duration;

    use super::exchange;

    #[test]
    fn every_response_is_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut buffer, mut requests) = ([0; 1024], 0_u64);
            while let Ok(1..) = stream.read(&mut buffer) {
                requests += 1;
                // Afterwards the client is gone, which ends the loop above.
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            }
            requests
        });
        let (responses, elapsed) = exchange(address, 1, Duration::from_millis(50)).unwrap();
        let requests = server.join().unwrap();
        assert!(elapsed >= Duration::from_millis(50));
        // At the end one request may still be on its way.
        assert!(responses >= 1 && (responses..=responses + 1).contains(&requests), "{responses} of {requests}");
    }
}
