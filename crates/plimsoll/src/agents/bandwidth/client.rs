//! Client's side of a bandwidth probe: sends over some connections at the same time, then receives over as many.

use super::Direction;
use crate::lock::hold;
use agent::bandwidth::{FROM_SERVER, PROBE_OPEN_NS, ProbeMessage, Probed, TO_SERVER};
use clock::monotonic_ns;
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::AtomicBool;
use std::thread::Builder;
use std::time::Duration;

/// Takes the client's part in a probe.
pub(crate) fn probe(part: &ProbeMessage, stop: &AtomicBool) -> Result<Probed, String> {
    let (to_server, from_server) = (Direction::new(part.bytes_max, stop), Direction::new(0, stop));
    let sent_ns = on_all(part, TO_SERVER, |stream| to_server.send(stream))?;
    let received_ns = on_all(part, FROM_SERVER, |stream| from_server.receive(stream))?;
    let received = hold(&from_server.meter).received();
    Ok(Probed { received, round_trip_ns: sent_ns.min(received_ns) })
}

/// Opens the connections of a direction and has each carried by a thread; the shortest time that one took to open; ns.
fn on_all(part: &ProbeMessage, direction: u8, carry: impl Fn(&mut TcpStream) + Sync) -> Result<u64, String> {
    let mut shortest_ns = u64::MAX;
    let mut streams = Vec::new();
    for _ in 0..part.connections {
        let before_ns = monotonic_ns();
        streams.push(open(part, direction)?);
        shortest_ns = shortest_ns.min(monotonic_ns() - before_ns);
    }
    std::thread::scope(|scope| {
        streams.iter_mut().try_for_each(|stream| {
            Builder::new().name("bandwidth".into()).spawn_scoped(scope, || carry(stream)).map(drop)
        })
    })
    .map_err(|error| format!("cannot start a thread: {error}"))?;
    Ok(shortest_ns)
}

fn open(part: &ProbeMessage, direction: u8) -> Result<TcpStream, String> {
    let connect = || {
        let mut stream = TcpStream::connect_timeout(&part.address, Duration::from_nanos(PROBE_OPEN_NS))?;
        stream.write_all(&part.nonce.opening(direction))?;
        Ok(stream)
    };
    connect().map_err(|error: std::io::Error| {
        format!("cannot connect to {} ({error}); a firewall may forbid the port", part.address)
    })
}
