//! TLS 1.2 and 1.3 on rustls: bytes of the network in, plaintext out, and the other way round.
//!
//! [`Config`] is a client's, made once for a load and shared, [`ServerConfig`] a server's; [`Connection`] is one
//! connection's state at either end. None has a socket or a clock: certificates are judged by the time that
//! [`Settings::now_s`] says, for the whole life of the config. rustls allocates for each record; nothing is added to
//! that here, the buffers are the caller's and are reused.

mod error;
mod server;
mod verify;

pub use error::{ConfigError, TlsError};
pub use server::{ServerConfig, ServerSettings};

use rustls::client::{ClientConfig, ClientConnection, Resumption};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{HandshakeKind, RootCertStore};
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::Duration;

/// Longest record, header included, that a peer may send (RFC 8446 section 5.2, RFC 5246 section 6.2.3): what can be
/// held back inside a [`Connection`] between two calls of [`Connection::receive`].
pub const RECORD_BYTES: usize = 5 + 16 * 1024 + 2048;
/// Plaintext that one call of [`Connection::send`] takes.
pub const SEND_BYTES: usize = 64 * 1024;
/// Servers whose sessions are kept; a load has one.
const SESSIONS: usize = 1;

/// How to speak to one server.
#[derive(Clone, Debug)]
pub struct Settings<'a> {
    /// The host as in the URL: sent as SNI unless it is an IP address, and looked for in the certificate.
    pub host: &'a str,
    /// Certificates to trust, DER; none: trust any server. Signatures are checked either way, at the same cost.
    pub roots: Option<&'a [Vec<u8>]>,
    /// Protocols to offer by ALPN, such as `http/1.1`.
    pub alpn: &'a [String],
    /// True if a later connection may resume the session of an earlier one.
    pub resumption: bool,
    /// Time to judge certificates by; s since 1970, UTC.
    pub now_s: u64,
}

/// What all connections of a load share: trust, offers, sessions to resume.
#[derive(Clone, Debug)]
pub struct Config {
    shared: Arc<ClientConfig>,
    name: ServerName<'static>,
}

/// What a handshake has agreed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Version, such as `TLSv1.3`.
    pub version: String,
    /// Cipher suite by its IANA name, such as `TLS_AES_128_GCM_SHA256`.
    pub cipher: String,
    /// True if an earlier session was resumed.
    pub resumed: bool,
}

/// One connection, from its first byte on.
///
/// After [`Connection::new`], [`Connection::receive`] and [`Connection::send`] there may be bytes for the network:
/// call [`Connection::transmit`].
#[derive(Debug)]
pub struct Connection {
    tls: rustls::Connection,
    /// The first byte the peer ever sent: tells another protocol from broken TLS.
    first: Option<u8>,
    /// The peer has said that nothing more will come.
    closed: bool,
}

impl Config {
    /// Settings that hold together.
    ///
    /// # Errors
    /// If the host can be no name, or no root can be used.
    pub fn new(settings: &Settings<'_>) -> Result<Self, ConfigError> {
        let name =
            ServerName::try_from(settings.host.to_owned()).map_err(|_| ConfigError::Name(settings.host.into()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let time = Arc::new(FixedTime(settings.now_s));
        let versions = ClientConfig::builder_with_details(Arc::clone(&provider), time)
            .with_safe_default_protocol_versions()
            .map_err(|_| ConfigError::Provider)?;
        let builder = match settings.roots {
            None => versions.dangerous().with_custom_certificate_verifier(Arc::new(verify::TrustAll::new(&provider))),
            Some(roots) => {
                let mut store = RootCertStore::empty();
                store.add_parsable_certificates(roots.iter().map(|der| CertificateDer::from(der.as_slice())));
                let verifier = verify::Trusted::new(store, provider, roots)?;
                versions.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
            }
        };
        let mut config = builder.with_no_client_auth();
        config.alpn_protocols = settings.alpn.iter().map(|name| name.clone().into_bytes()).collect();
        config.resumption =
            if settings.resumption { Resumption::in_memory_sessions(SESSIONS) } else { Resumption::disabled() };
        Ok(Self { shared: Arc::new(config), name })
    }
}

impl Connection {
    /// A client's connection, whose first flight is ready to be transmitted.
    ///
    /// # Errors
    /// If there is no way to begin, for instance without a source of randomness.
    pub fn new(config: &Config) -> Result<Self, TlsError> {
        let tls = ClientConnection::new(Arc::clone(&config.shared), config.name.clone()).map_err(error::of)?;
        Ok(Self::with(tls.into()))
    }

    fn with(mut tls: rustls::Connection) -> Self {
        tls.set_buffer_limit(Some(SEND_BYTES));
        Self { tls, first: None, closed: false }
    }

    /// True if the handshake is not done, so that nothing may be sent yet.
    #[inline]
    #[must_use]
    pub fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    /// Takes in `bytes` from the network and writes the plaintext in them to `plain`; returns how much that is.
    ///
    /// `plain` has to have room for `bytes` and one record of [`RECORD_BYTES`] that an earlier call held back.
    ///
    /// # Errors
    /// If the peer breaks TLS, cannot be trusted or gives up. There may be an alert to transmit then; nothing more
    /// can be received.
    ///
    /// # Panics
    /// If `plain` is too small.
    #[inline]
    pub fn receive(&mut self, mut bytes: &[u8], plain: &mut [u8]) -> Result<usize, TlsError> {
        assert!(plain.len() >= bytes.len() + RECORD_BYTES, "plaintext must fit");
        if self.first.is_none() {
            self.first = bytes.first().copied();
        }
        let mut n = 0;
        // After the end of the stream rustls takes no more bytes; and no bytes would mean the end to it.
        while !bytes.is_empty() && !self.closed {
            if self.tls.read_tls(&mut bytes).is_err() {
                return Err(TlsError::Protocol("more than a record was held back".into()));
            }
            match self.tls.process_new_packets() {
                Ok(state) => self.closed = state.peer_has_closed(),
                Err(error) => return Err(self.told(error)),
            }
            n += self.take_plain(&mut plain[n..]);
        }
        Ok(n)
    }

    /// True if the peer has said that nothing more will come.
    #[inline]
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Encrypts as much of `plain` as is taken at once, up to [`SEND_BYTES`]; returns how much that was.
    ///
    /// Only after the handshake: before it nothing is taken.
    #[inline]
    pub fn send(&mut self, plain: &[u8]) -> usize {
        if self.is_handshaking() {
            return 0;
        }
        // Writing to memory cannot fail.
        self.tls.writer().write(plain).unwrap_or(0)
    }

    /// Appends everything that is to go over the network to `out`.
    #[inline]
    pub fn transmit(&mut self, out: &mut Vec<u8>) {
        while self.tls.wants_write() {
            if !matches!(self.tls.write_tls(out), Ok(n) if n > 0) {
                break;
            }
        }
    }

    /// Tells the peer that nothing more will come.
    pub fn close(&mut self) {
        self.tls.send_close_notify();
    }

    /// What was agreed on; none before the handshake is done.
    #[must_use]
    pub fn session(&self) -> Option<Session> {
        let (version, suite) = (self.tls.protocol_version()?, self.tls.negotiated_cipher_suite()?);
        if self.is_handshaking() {
            return None;
        }
        Some(Session {
            version: version.as_str().unwrap_or("unknown").replace('_', "."),
            cipher: suite.suite().as_str().unwrap_or("unknown").replace("TLS13_", "TLS_"),
            resumed: self.is_resumed(),
        })
    }

    /// True if the handshake resumed an earlier session.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        self.tls.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// What it means that the peer closed its side without a word.
    #[must_use]
    pub fn receive_eof(&self) -> Option<TlsError> {
        self.is_handshaking().then_some(TlsError::Closed)
    }

    fn take_plain(&mut self, plain: &mut [u8]) -> usize {
        let mut n = 0;
        loop {
            match self.tls.reader().read(&mut plain[n..]) {
                Ok(0) => return n,
                Ok(more) => n += more,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return n,
            }
        }
    }

    fn told(&self, error: rustls::Error) -> TlsError {
        match self.first {
            // Content types of TLS records; anything else is not even the header of one.
            Some(first) if !(20..=23).contains(&first) => TlsError::NotTls,
            _ => error::of(error),
        }
    }
}

/// The certificates of a PEM text, DER.
///
/// # Errors
/// If it holds none, or a broken one.
pub fn certificates(pem: &[u8]) -> Result<Vec<Vec<u8>>, ConfigError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).map(|der| der.map(|der| der.to_vec())).collect();
    read.ok().filter(|found| !found.is_empty()).ok_or(ConfigError::NoCertificate)
}

/// The time that was said, for as long as the config lives.
#[derive(Debug)]
struct FixedTime(u64);

impl TimeProvider for FixedTime {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(self.0)))
    }
}
