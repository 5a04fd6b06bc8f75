//! Bandwidth between who generates the load and the server's machine (`--probe-bandwidth`), probed before the first load: an agent
//! there listens, the agents of the load or this process connect. What stands in its way is a note and no error.

use crate::agents::bandwidth::client;
use crate::agents::remote::Agents;
use crate::exit::CommandError;
use crate::output::progress::Progress;
use crate::random;
use crate::session::server_host::ServerHost;
use agent::bandwidth::{NONCE_BYTES, Nonce, ProbeMessage, ProbeServed, Probed, ServeProbe};
use model::{Bandwidth, Throughput};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::AtomicBool;

/// Probes the bandwidth to `ip`, an address of the server's machine.
pub(super) fn probe(
    load: Option<&Agents>,
    server: &ServerHost,
    ip: IpAddr,
    stop: &AtomicBool,
    progress: &Progress,
) -> Result<Bandwidth, CommandError> {
    progress.say("probing the bandwidth to the server's machine");
    let clients = load.map_or(1, Agents::count);
    let connections = parts(clients, ip, 0, Nonce::new([0; NONCE_BYTES])).iter().map(|part| part.connections).sum();
    let known = Bandwidth { address: ip.to_string(), clients: clients as u32, connections, ..Bandwidth::default() };
    let probed = exchange(load, server, ip, &known, stop);
    // Whatever came of it, it is over before the load.
    server.end_probe();
    let probed = probed?;
    if let Some(why) = &probed.unavailable {
        progress.line(&format!("note: the bandwidth could not be probed: {why}"));
    }
    Ok(probed)
}

fn parts(clients: usize, ip: IpAddr, port: u16, nonce: Nonce) -> Vec<ProbeMessage> {
    ProbeMessage::divide(clients, SocketAddr::new(ip, port), nonce)
}

fn exchange(
    load: Option<&Agents>,
    server: &ServerHost,
    ip: IpAddr,
    known: &Bandwidth,
    stop: &AtomicBool,
) -> Result<Bandwidth, CommandError> {
    let missing = |why: String| Ok(Bandwidth { unavailable: Some(why), ..known.clone() });
    let of_server = |why: String| missing(format!("agent {}: {why}", server.name()));
    let nonce = match random::bytes().map(Nonce::new) {
        Ok(nonce) => nonce,
        Err(why) => return missing(why.to_owned()),
    };
    let port = match server.serve_probe(ServeProbe { address: ip, nonce, connections: known.connections }, stop)? {
        Ok(port) => port,
        Err(why) => return of_server(why),
    };
    let parts = parts(known.clients as usize, ip, port, nonce);
    let probed = match load {
        Some(agents) => agents.probe(parts, stop)?,
        None => parts.iter().map(|part| client::probe(part, stop)).collect(),
    };
    match probed.into_iter().collect::<Result<Vec<_>, _>>() {
        Err(why) => missing(why),
        Ok(probed) => match server.probe_served(stop)? {
            Ok(served) => Ok(combined(known.clone(), &probed, served)),
            Err(why) => of_server(why),
        },
    }
}

/// One record of what both ends have received; clients that receive at the same time add up.
fn combined(known: Bandwidth, probed: &[Probed], served: ProbeServed) -> Bandwidth {
    let of_clients: Vec<Throughput> = probed.iter().filter_map(|probed| probed.received.throughput()).collect();
    let from_server = of_clients.iter().copied().reduce(|a, b| Throughput {
        bit_per_s: a.bit_per_s.saturating_add(b.bit_per_s),
        bytes: a.bytes.saturating_add(b.bytes),
        duration_ns: a.duration_ns.max(b.duration_ns),
    });
    Bandwidth {
        interface: served.interface,
        mtu_bytes: served.mtu_bytes,
        round_trip_ns: probed.iter().map(|probed| probed.round_trip_ns).max(),
        to_server: served.received.throughput(),
        // What one of them did not receive is no part of the sum.
        from_server: from_server.filter(|_| of_clients.len() == probed.len()),
        ..known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent::bandwidth::Received;
    use model::NS_PER_S;

    /// So many Mbit/s for a second.
    fn received(mbit: u64) -> Received {
        let bytes = mbit * 125_000;
        Received { bytes, duration_ns: NS_PER_S, late_bytes: bytes / 2, late_ns: NS_PER_S / 2 }
    }

    #[test]
    fn what_clients_receive_at_the_same_time_adds_up() {
        let client = |mbit, round_trip_ns| Probed { received: received(mbit), round_trip_ns };
        let served = ProbeServed { received: received(90), interface: Some("eth0".into()), mtu_bytes: Some(1500) };
        let both = combined(Bandwidth::default(), &[client(40, 100), client(50, 300)], served.clone());
        let rate = |throughput: Option<Throughput>| throughput.map(|throughput| throughput.bit_per_s);
        assert_eq!((rate(both.to_server), rate(both.from_server)), (Some(90_000_000), Some(90_000_000)));
        assert_eq!((both.round_trip_ns, both.mtu_bytes), (Some(300), Some(1500)));
        let one = combined(Bandwidth::default(), &[client(40, 100), client(0, 300)], served);
        assert_eq!((rate(one.to_server), rate(one.from_server)), (Some(90_000_000), None));
    }

    #[test]
    fn no_two_probes_have_the_same_nonce() {
        let nonce = || random::bytes().map(Nonce::new).expect("random numbers");
        assert_ne!(nonce(), nonce());
    }
}
