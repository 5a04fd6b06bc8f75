//! Agent's end of a connection to its coordinator (`plimsoll agent --connect`).

use super::certificate;
use super::tls::{self, HandshakeError, Reader, Writer, is_cut};
use super::token::Token;
use crate::exit::CommandError;
use crate::output::printer;
use crate::typed::shown;
use clock::monotonic_ns;
use model::NS_PER_S;
use rustls::ClientConnection;
use rustls::pki_types::ServerName;
use std::io::{self, ErrorKind, Read};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Time of one attempt to connect, and the pause before the next.
const ATTEMPT_NS: u64 = 5 * NS_PER_S;
const PAUSE: Duration = Duration::from_millis(250);
/// Time of the handshake.
const HANDSHAKE_NS: u64 = 10 * NS_PER_S;
/// Name that the coordinator's certificate would have if names were looked at.
pub(super) const NAME: &str = "plimsoll";

/// What the coordinator says.
pub(crate) struct FromCoordinator {
    reader: Reader,
    has_spoken: bool,
}

impl FromCoordinator {
    pub(super) fn new(reader: Reader) -> Self {
        Self { reader, has_spoken: false }
    }
}

impl Read for FromCoordinator {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let early = "the coordinator has ended the connection: it has all its agents, or does not wait any more";
        match self.reader.read(out) {
            Ok(0) if !self.has_spoken => Err(io::Error::other(early)),
            Ok(n) => {
                self.has_spoken |= n > 0;
                Ok(n)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
            Err(error) if is_cut(&error) && !self.has_spoken => Err(io::Error::other(early)),
            Err(error) if is_cut(&error) => Err(io::Error::other("the connection to the coordinator was cut")),
            Err(error) => Err(io::Error::other(format!("the coordinator sent no TLS: {error}"))),
        }
    }
}

/// Connects to `HOST:PORT`, for so long while nobody listens there, and has both ends prove that they have the token.
pub(crate) fn call(
    address: &str,
    token: &Token,
    build: &str,
    wait: Duration,
) -> Result<(FromCoordinator, Writer), CommandError> {
    let failed = |why: String| CommandError::usage(format!("coordinator at {}: {why}", shown(address)));
    let config = certificate::agent(token, build).map_err(&failed)?;
    let socket = connect(address, wait).map_err(&failed)?;
    let name = ServerName::try_from(NAME).map_err(|error| failed(error.to_string()))?;
    let connection = ClientConnection::new(config, name).map_err(|error| failed(error.to_string()))?;
    let mut connection = connection.into();
    let until_ns = monotonic_ns().saturating_add(HANDSHAKE_NS);
    tls::handshake(&mut connection, &socket, until_ns).map_err(|error| failed(refusal(error)))?;
    let (reader, writer, _) = tls::halves(connection, socket);
    Ok((FromCoordinator::new(reader), writer))
}

fn connect(address: &str, wait: Duration) -> Result<TcpStream, String> {
    let found: Vec<SocketAddr> =
        address.to_socket_addrs().map_err(|error| format!("{error}; write --connect HOST:PORT"))?.collect();
    let until_ns = monotonic_ns().saturating_add(u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX));
    let mut has_told = false;
    loop {
        let why = match attempt(&found, until_ns) {
            Ok(socket) => return Ok(socket),
            Err(why) => why,
        };
        let left_ns = until_ns.saturating_sub(monotonic_ns());
        if left_ns == 0 {
            return Err(format!("nobody answers there: {why}; is it started, and its port open?"));
        }
        if !std::mem::replace(&mut has_told, true) {
            printer::note(&format!("no coordinator at {address} yet ({why}); trying for {} s", wait.as_secs()));
        }
        std::thread::sleep(PAUSE.min(Duration::from_nanos(left_ns)));
    }
}

/// The first of the addresses that takes a connection.
fn attempt(addresses: &[SocketAddr], until_ns: u64) -> Result<TcpStream, String> {
    let mut why = "its name has no address".to_owned();
    for address in addresses {
        let limit_ns = until_ns.saturating_sub(monotonic_ns()).clamp(PAUSE.as_nanos() as u64, ATTEMPT_NS);
        match TcpStream::connect_timeout(address, Duration::from_nanos(limit_ns)) {
            Ok(socket) => return Ok(socket),
            Err(error) => why = error.to_string(),
        }
    }
    Err(why)
}

/// Why there is no stream, in a line.
fn refusal(error: HandshakeError) -> String {
    match error {
        HandshakeError::Late => format!("it did not answer within {} s as a coordinator does", HANDSHAKE_NS / NS_PER_S),
        HandshakeError::Closed => "it ended the connection: it has all its agents, or is no coordinator".into(),
        HandshakeError::Socket(why) => why,
        HandshakeError::Token => {
            "it has another token, so that it is not the coordinator of this agent; PLIMSOLL_TOKEN or the token file have to \
             be the same"
                .into()
        }
        HandshakeError::Build => "it is another build of plimsoll, or no coordinator; both have to be the same program".into(),
        HandshakeError::Stranger(why) => format!("something else than a coordinator of agents answered: {why}"),
    }
}
