//! Server's side of a bandwidth probe: listens at the address of the load on a port that the kernel chooses, for some seconds,
//! and serves whoever knows the nonce.

use super::{Direction, is_stalled};
use crate::lock::hold;
use agent::bandwidth::{
    FROM_SERVER, OPENING_BYTES, PROBE_BYTES_MAX, PROBE_LISTEN_NS, PROBE_OPEN_NS, ProbeServed, ServeProbe, TO_SERVER,
};
use clock::monotonic_ns;
use std::io::Read;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::Builder;
use std::time::Duration;

/// How often it is looked whether somebody has connected.
const LOOK_UP: Duration = Duration::from_millis(2);
/// Connections of strangers that are looked at; then it is over.
const STRANGERS_MAX: u32 = 64;

/// A probe that is served.
struct Serving<'a> {
    probe: &'a ServeProbe,
    to_server: Direction<'a>,
    from_server: Direction<'a>,
    /// Connections that have come to receive.
    receivers: AtomicU32,
    /// Connections that have ended.
    ended: AtomicU32,
    /// Where those come from who know the nonce.
    client: OnceLock<IpAddr>,
}

/// Serves one probe; `listening` is told the port.
pub(crate) fn serve(probe: &ServeProbe, stop: &AtomicBool, listening: impl FnOnce(u16)) -> Result<ProbeServed, String> {
    let listener = TcpListener::bind((probe.address, 0)).map_err(|error| cannot_listen(probe.address, &error))?;
    let port = listener.local_addr().and_then(|own| listener.set_nonblocking(true).map(|()| own.port()));
    listening(port.map_err(|error| cannot_listen(probe.address, &error))?);
    let serving = Serving {
        probe,
        to_server: Direction::new(0, stop),
        from_server: Direction::new(PROBE_BYTES_MAX, stop),
        receivers: AtomicU32::new(0),
        ended: AtomicU32::new(0),
        client: OnceLock::new(),
    };
    let until_ns = monotonic_ns().saturating_add(PROBE_LISTEN_NS);
    std::thread::scope(|scope| -> Result<(), String> {
        let (wanted, mut accepted) = (2 * probe.connections, 0);
        while monotonic_ns() < until_ns && !stop.load(Ordering::Relaxed) {
            if serving.ended.load(Ordering::Relaxed) >= wanted || accepted >= wanted + STRANGERS_MAX {
                break;
            }
            match listener.accept() {
                Ok((stream, from)) => {
                    accepted += 1;
                    let serving = &serving;
                    let serve = move || serving.connection(stream, from.ip());
                    let started = Builder::new().name("bandwidth".into()).spawn_scoped(scope, serve);
                    started.map_err(|error| format!("cannot start a thread: {error}"))?;
                }
                Err(_) => std::thread::sleep(LOOK_UP),
            }
        }
        Ok(())
    })?;
    let received = hold(&serving.to_server.meter).received();
    match serving.client.get() {
        None => Err(format!("nobody connected to port {port} of {}", probe.address, port = port_of(&listener))),
        Some(client) => {
            let (interface, mtu_bytes) = observe::link_to(*client).unzip();
            Ok(ProbeServed { received, interface, mtu_bytes: mtu_bytes.flatten() })
        }
    }
}

impl Serving<'_> {
    fn connection(&self, mut stream: TcpStream, from: IpAddr) {
        let Some(direction) = self.direction(&mut stream) else { return };
        // The first stands for all.
        let _ = self.client.set(from);
        match direction {
            TO_SERVER => self.to_server.receive(&mut stream),
            FROM_SERVER => {
                self.wait_for_all();
                self.from_server.send(&mut stream);
            }
            _ => {}
        }
        drop(stream);
        self.ended.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until all clients are there to receive, or have had their time to come: rates of different times do not add up.
    fn wait_for_all(&self) {
        self.receivers.fetch_add(1, Ordering::Relaxed);
        let until_ns = monotonic_ns().saturating_add(PROBE_OPEN_NS);
        while self.receivers.load(Ordering::Relaxed) < self.probe.connections && monotonic_ns() < until_ns {
            std::thread::sleep(LOOK_UP);
        }
    }

    /// What a connection is for; none of a stranger's, and of one that does not say in time.
    fn direction(&self, stream: &mut TcpStream) -> Option<u8> {
        let (mut opening, mut n) = ([0; OPENING_BYTES], 0);
        let until_ns = monotonic_ns().saturating_add(PROBE_OPEN_NS);
        stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(Some(super::LOOK_UP))).ok()?;
        while n < OPENING_BYTES && monotonic_ns() < until_ns {
            match stream.read(&mut opening[n..]) {
                Ok(0) => return None,
                Ok(more) => n += more,
                Err(error) if is_stalled(&error) => {}
                Err(_) => return None,
            }
        }
        self.probe.nonce.direction(&opening).filter(|_| n == OPENING_BYTES)
    }
}

fn port_of(listener: &TcpListener) -> u16 {
    listener.local_addr().map_or(0, |own| own.port())
}

fn cannot_listen(address: IpAddr, error: &std::io::Error) -> String {
    format!("cannot listen at {address}, where the load goes: {error}")
}
