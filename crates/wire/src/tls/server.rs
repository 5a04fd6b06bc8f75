//! The server's half: who it is, and what it offers.

use super::{ConfigError, Connection, FixedTime, TlsError, error};
use rustls::crypto::ring::{Ticketer, default_provider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::ServerConnection;
use std::sync::Arc;

/// How to speak to all clients.
#[derive(Clone, Copy, Debug)]
pub struct ServerSettings<'a> {
    /// The server's certificate and those that lead to its issuer, DER.
    pub chain: &'a [Vec<u8>],
    /// The certificate's private key, PEM.
    pub key_pem: &'a [u8],
    /// Protocols to agree to by ALPN, such as `http/1.1`.
    pub alpn: &'a [String],
    /// Time to begin at; s since 1970, UTC.
    pub now_s: u64,
}

/// What all connections of a server share. Clients get tickets to resume their sessions with.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    shared: Arc<rustls::ServerConfig>,
}

impl ServerConfig {
    /// Settings that hold together.
    ///
    /// # Errors
    /// If there is no key, or none that fits the certificate.
    pub fn new(settings: &ServerSettings<'_>) -> Result<Self, ConfigError> {
        let key = PrivateKeyDer::from_pem_slice(settings.key_pem).map_err(|_| ConfigError::NoKey)?;
        let chain = settings.chain.iter().map(|der| CertificateDer::from(der.clone())).collect();
        let time = Arc::new(FixedTime(settings.now_s));
        let mut config = rustls::ServerConfig::builder_with_details(Arc::new(default_provider()), time)
            .with_safe_default_protocol_versions()
            .map_err(|_| ConfigError::Provider)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|why| ConfigError::Pair(why.to_string()))?;
        config.alpn_protocols = settings.alpn.iter().map(|name| name.clone().into_bytes()).collect();
        config.ticketer = Ticketer::new().map_err(|_| ConfigError::Provider)?;
        Ok(Self { shared: Arc::new(config) })
    }
}

impl Connection {
    /// A server's connection, which waits for the client's first flight.
    ///
    /// # Errors
    /// If there is no way to begin, for instance without a source of randomness.
    pub fn accept(config: &ServerConfig) -> Result<Self, TlsError> {
        let tls = ServerConnection::new(Arc::clone(&config.shared)).map_err(error::of)?;
        Ok(Self::with(tls.into()))
    }
}
