//! Connections of a bandwidth probe: who listens on the server's machine (`server`), and who connects to it (`client`), an agent
//! or this process. The protocol is `agent::bandwidth`: its limits hold here for what is sent and how long.

pub(crate) mod client;
pub(crate) mod server;

use crate::lock::hold;
use agent::bandwidth::{Meter, PROBE_NS, PROBE_OPEN_NS};
use clock::monotonic_ns;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Sent or received at a time.
const PIECE_BYTES: usize = 64 << 10;
/// The first byte has to come within this time: the server sends when all clients are there. ns
const BEGIN_NS: u64 = 2 * PROBE_OPEN_NS;
/// How often a connection that stalls looks at the time.
const LOOK_UP: Duration = Duration::from_millis(50);

/// One direction of a probe: all its connections end together.
struct Direction<'a> {
    /// Of the first byte; 0 before. ns
    begun_ns: AtomicU64,
    /// Bytes that may still be sent.
    left: AtomicU64,
    meter: Mutex<Meter>,
    stop: &'a AtomicBool,
}

impl<'a> Direction<'a> {
    fn new(bytes_max: u64, stop: &'a AtomicBool) -> Self {
        Self { begun_ns: AtomicU64::new(0), left: AtomicU64::new(bytes_max), meter: Mutex::default(), stop }
    }

    /// True once its time has passed; it begins with the first call.
    fn is_over(&self) -> bool {
        let now_ns = monotonic_ns();
        let begun_ns = match self.begun_ns.compare_exchange(0, now_ns, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => now_ns,
            Err(begun_ns) => begun_ns,
        };
        now_ns >= begun_ns.saturating_add(PROBE_NS) || self.stop.load(Ordering::Relaxed)
    }

    /// Takes up to a piece of what may still be sent.
    fn take(&self) -> usize {
        let piece = |left: u64| Some(left - left.min(PIECE_BYTES as u64));
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, piece).unwrap_or(0);
        left.min(PIECE_BYTES as u64) as usize
    }

    /// Sends until the time or the bytes are used up; the other end may end it earlier.
    fn send(&self, stream: &mut TcpStream) {
        let piece = [0x5a; PIECE_BYTES];
        if stream.set_write_timeout(Some(LOOK_UP)).is_err() {
            return;
        }
        while !self.is_over() {
            let taken = self.take();
            if taken == 0 {
                return;
            }
            let sent = match stream.write(&piece[..taken]) {
                Ok(sent) => sent,
                Err(error) if is_stalled(&error) => 0,
                Err(_) => return,
            };
            self.left.fetch_add((taken - sent) as u64, Ordering::Relaxed);
        }
    }

    /// True if nothing has come until `until_ns`, or the time since then has passed.
    fn has_ended(&self, until_ns: u64) -> bool {
        match self.begun_ns.load(Ordering::Relaxed) {
            0 => monotonic_ns() >= until_ns || self.stop.load(Ordering::Relaxed),
            _ => self.is_over(),
        }
    }

    /// Receives until the other end has ended, or the time since the first byte is over.
    fn receive(&self, stream: &mut TcpStream) {
        let mut piece = vec![0; PIECE_BYTES];
        if stream.set_read_timeout(Some(LOOK_UP)).is_err() {
            return;
        }
        let until_ns = monotonic_ns().saturating_add(BEGIN_NS);
        loop {
            let is_over = match stream.read(&mut piece) {
                Ok(0) => return,
                Ok(n) => {
                    hold(&self.meter).add(monotonic_ns(), n as u64);
                    self.is_over()
                }
                Err(error) if is_stalled(&error) => self.has_ended(until_ns),
                Err(_) => return,
            };
            if is_over {
                return;
            }
        }
    }
}

/// True if it only took too long.
fn is_stalled(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent::bandwidth::{
        FROM_SERVER, Nonce, PROBE_BYTES_MAX, ProbeMessage, ProbeServed, Probed, ServeProbe, TO_SERVER,
    };
    use std::net::{Ipv4Addr, SocketAddr};
    use std::sync::mpsc::{Receiver, channel};
    use std::thread::Scope;

    const NONCE: Nonce = Nonce::new([3; 16]);

    fn part(port: u16, nonce: Nonce) -> ProbeMessage {
        let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
        ProbeMessage::divide(1, address, nonce).remove(0)
    }

    /// Serves a probe of one client on a thread; the port, and what comes of it.
    fn serve<'scope>(
        scope: &'scope Scope<'scope, '_>,
        stop: &'scope AtomicBool,
    ) -> (u16, Receiver<Result<ProbeServed, String>>) {
        let ((told, port), (end, served)) = (channel(), channel());
        scope.spawn(move || {
            let connections = part(0, NONCE).connections;
            let probe = ServeProbe { address: Ipv4Addr::LOCALHOST.into(), nonce: NONCE, connections };
            let outcome = server::serve(&probe, stop, |port| told.send(port).expect("the test waits"));
            end.send(outcome).expect("the test waits");
        });
        (port.recv().expect("it listens"), served)
    }

    #[test]
    fn both_ends_receive_within_the_bounds_whoever_else_connects() {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (port, served) = serve(scope, &stop);
            let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
            // Of strangers one says nothing, one too little, and others do not know the nonce.
            let silent = TcpStream::connect(address).expect("it listens");
            let mut short = TcpStream::connect(address).expect("it listens");
            short.write_all(b"GET / HTTP").expect("it is read");
            for direction in [TO_SERVER, FROM_SERVER] {
                let mut stranger = TcpStream::connect(address).expect("it listens");
                stranger.write_all(&Nonce::new([4; 16]).opening(direction)).expect("it is read");
                let got = stranger.read_to_end(&mut Vec::new());
                assert!(matches!(got, Ok(0) | Err(_)), "{got:?}");
            }
            let Probed { received, round_trip_ns } = client::probe(&part(port, NONCE), &stop).expect("it connects");
            let ProbeServed { received: there, interface, mtu_bytes } =
                served.recv().expect("it ends").expect("it was served");
            let most = PROBE_BYTES_MAX + 8 * PIECE_BYTES as u64;
            for received in [received, there] {
                assert!(received.is_possible() && received.throughput().is_some(), "{received:?}");
                assert!((1..=most).contains(&received.bytes), "{received:?}");
            }
            assert!(round_trip_ns > 0 && interface.as_deref() == Some("lo") && mtu_bytes.is_some());
            drop((silent, short));
        });
    }

    #[test]
    fn what_nobody_answers_to_has_a_reason_and_an_end() {
        let stop = AtomicBool::new(false);
        let refused = client::probe(&part(1, NONCE), &stop).expect_err("nobody listens there");
        assert!(refused.contains("127.0.0.1:1 ") && refused.contains("firewall"), "{refused}");
        std::thread::scope(|scope| {
            let (port, served) = serve(scope, &stop);
            stop.store(true, Ordering::Relaxed);
            let why = served.recv().expect("it ends").expect_err("nobody has connected");
            assert_eq!(why, format!("nobody connected to port {port} of 127.0.0.1"));
        });
        let elsewhere = ServeProbe { address: [192, 0, 2, 1].into(), nonce: NONCE, connections: 4 };
        let why = server::serve(&elsewhere, &stop, |_| ()).expect_err("that is no address of this machine");
        assert!(why.starts_with("cannot listen at 192.0.2.1, where the load goes: "), "{why}");
    }

    #[test]
    fn a_direction_ends_with_its_bytes() {
        let stop = AtomicBool::new(false);
        let direction = Direction::new(PIECE_BYTES as u64 + 5, &stop);
        assert_eq!([direction.take(), direction.take(), direction.take()], [PIECE_BYTES, 5, 0]);
        assert!(!direction.is_over());
        stop.store(true, Ordering::Relaxed);
        assert!(direction.is_over());
    }
}
