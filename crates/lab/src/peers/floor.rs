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
    /// When a request follows its response
    #[arg(long, value_enum, default_value_t = Order::AtOnce)]
    order: Order,
}

/// When a request follows the response before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Order {
    /// At once, as independent users send
    AtOnce,
    /// When all responses of the same wait have been read
    AfterAll,
    /// When the next wait says that the socket takes bytes, as wrk does
    NextWait,
}

/// What the loop did.
#[derive(Clone, Copy, Debug)]
struct Exchanged {
    responses: u64,
    /// Waits that brought a response.
    waits: u64,
    elapsed: Duration,
}

/// Prints `{"requests":N,"per_s":R,"per_wait":B}`.
pub fn run(Options { address, connections, seconds, order }: Options) -> Result<()> {
    let Exchanged { responses, waits, elapsed } = exchange(address, connections, Duration::from_secs(seconds), order)?;
    let (per_s, per_wait) = (responses as f64 / elapsed.as_secs_f64(), responses as f64 / waits.max(1) as f64);
    println!("{}", serde_json::json!({ "requests": responses, "per_s": per_s, "per_wait": per_wait }));
    Ok(())
}

/// Exchanges requests and responses on every connection until the time is over.
fn exchange(address: SocketAddr, connections: usize, duration: Duration, order: Order) -> Result<Exchanged> {
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
    let (mut responses, mut waits) = (0, 0);
    let mut unanswered = Vec::with_capacity(connections);
    while started.elapsed() < duration {
        events.clear();
        epoll::wait(&epoll, spare_capacity(&mut events), Some(&WAIT)).context("epoll_wait")?;
        let before = responses;
        for event in &events {
            let (flags, data) = (event.flags, event.data);
            let index = data.u64() as usize;
            let socket = &mut sockets[index];
            if flags.contains(epoll::EventFlags::OUT) {
                epoll::modify(&epoll, &*socket, data, epoll::EventFlags::IN)?;
                socket.write_all(request.as_bytes()).context("writing a request")?;
                continue;
            }
            let length = socket.read(&mut buffer).context("reading a response")?;
            anyhow::ensure!(length > 0, "the server closed a connection");
            responses += 1;
            match order {
                Order::AtOnce => socket.write_all(request.as_bytes()).context("writing a request")?,
                Order::AfterAll => unanswered.push(index),
                Order::NextWait => {
                    epoll::modify(&epoll, &*socket, data, epoll::EventFlags::IN | epoll::EventFlags::OUT)?;
                }
            }
        }
        for index in unanswered.drain(..) {
            sockets[index].write_all(request.as_bytes()).context("writing a request")?;
        }
        waits += u64::from(responses > before);
    }
    Ok(Exchanged { responses, waits, elapsed: started.elapsed() })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::time::Duration;

    use super::{Exchanged, Order, exchange};

    #[test]
    fn every_response_is_counted_in_any_order() {
        for order in [Order::AtOnce, Order::AfterAll, Order::NextWait] {
            is_counted(order);
        }
    }

    fn is_counted(order: Order) {
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
        let Exchanged { responses, waits, elapsed } = exchange(address, 1, Duration::from_millis(50), order).unwrap();
        assert_eq!(waits, responses, "one connection has one response at a time");
        let requests = server.join().unwrap();
        assert!(elapsed >= Duration::from_millis(50));
        // At the end one request may still be on its way.
        assert!(responses >= 1 && (responses..=responses + 1).contains(&requests), "{responses} of {requests}");
    }
}
