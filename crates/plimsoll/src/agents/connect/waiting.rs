//! Agent's end of a connection that its coordinator makes (`plimsoll agent --listen`), as through the API server of a cluster.

use super::caller::{FromCoordinator, NAME};
use super::certificate::Identity;
use super::fingerprint::Fingerprint;
use super::gathering::Gathering;
use super::tls::Writer;
use clock::monotonic_ns;
use model::Duration;
use rustls::ClientConnection;
use rustls::pki_types::ServerName;
use std::net::TcpListener;
use std::sync::Arc;

/// Waits for the coordinator that has a certificate, and shows it that of the agent. Whoever else connects is refused, so that the
/// port may be one that others reach too. The port is closed once the coordinator is there.
///
/// The agent is the client of the TLS connection, as where it connects itself: who of the two has connected does not matter to TLS.
pub(crate) fn wait_for_coordinator(
    listener: TcpListener,
    own: &Identity,
    coordinator: Fingerprint,
    wait: Duration,
) -> Result<(FromCoordinator, Writer), String> {
    let config = Arc::new(own.agent_of(coordinator)?);
    let name = ServerName::try_from(NAME).map_err(|error| error.to_string())?;
    let begin = Arc::new(move || ClientConnection::new(Arc::clone(&config), name.clone()).map(Into::into));
    let gathering = Gathering::start(listener, begin, 1, "").map_err(|error| error.to_string())?;
    let until_ns = monotonic_ns().saturating_add(wait.ns);
    let (reader, writer, _) = gathering.take(0, until_ns, |_| format!("no coordinator came within {wait}"))?;
    Ok((FromCoordinator::new(reader), writer))
}

#[cfg(test)]
mod tests {
    use super::super::certificate::Side;
    use super::*;
    use crate::agents::launcher::ended_until;
    use model::NS_PER_S;
    use rustls::{ServerConnection, StreamOwned};
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};

    const WAIT: Duration = Duration { ns: 10 * NS_PER_S };

    /// Connects as a coordinator with this identity, and says something.
    fn call(address: SocketAddr, own: &Identity, agent: Fingerprint) -> std::io::Result<[u8; 2]> {
        let connection = ServerConnection::new(Arc::new(own.coordinator_of(agent).expect("a configuration")));
        let socket = TcpStream::connect(address)?;
        let mut stream = StreamOwned::new(connection.expect("a connection"), socket);
        stream.write_all(b"go")?;
        let mut answer = [0; 2];
        stream.read_exact(&mut answer)?;
        Ok(answer)
    }

    #[test]
    fn the_coordinator_is_let_in_however_many_strangers_came_before_it() {
        let new = |side| Identity::random(side).expect("random numbers");
        let (agent, coordinator, stranger) = (new(Side::Agent), new(Side::Coordinator), new(Side::Coordinator));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (shown, expected) = (agent.fingerprint(), coordinator.fingerprint());
        let served = std::thread::spawn(move || {
            let (mut from, mut to) = wait_for_coordinator(listener, &agent, expected, WAIT).expect("its coordinator");
            let mut said = [0; 2];
            from.read_exact(&mut said).expect("it says something");
            to.write_all(b"ok").expect("it listens");
            said
        });
        let silent = TcpStream::connect(address).expect("anybody may connect");
        TcpStream::connect(address)
            .expect("it listens still")
            .write_all(b"GET / HTTP/1.1\r\n\r\n")
            .expect("it is open");
        assert!(call(address, &stranger, shown).is_err(), "another coordinator");
        assert_eq!(call(address, &coordinator, shown).expect("the coordinator"), *b"ok");
        assert_eq!(served.join().expect("it ended"), *b"go");
        let is_closed = || TcpStream::connect(address).is_err().then_some(());
        let until_ns = monotonic_ns().saturating_add(WAIT.ns);
        ended_until(until_ns, is_closed).expect("nobody else is let in");
        drop(silent);
    }

    #[test]
    fn an_agent_waits_for_a_while_only() {
        let own = Identity::random(Side::Agent).expect("random numbers");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let late = wait_for_coordinator(listener, &own, own.fingerprint(), Duration { ns: NS_PER_S / 5 });
        assert_eq!(late.err().as_deref(), Some("no coordinator came within 200ms"));
    }
}
