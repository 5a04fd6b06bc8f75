//! Who a target is to clients that speak TLS.

use std::fmt;

use model::Address;
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair};
use wire::tls::{ConfigError, ServerConfig, ServerSettings, certificates};

use clock::unix_s;

/// A certificate, those that lead to its issuer, and its private key.
#[derive(Clone, PartialEq, Eq)]
pub struct Certificate {
    /// PEM, without the key.
    pub chain_pem: String,
    key_pem: String,
}

impl Certificate {
    /// One of one's own, PEM. Whether the two belong together is seen when the target starts.
    #[must_use]
    pub const fn new(chain_pem: String, key_pem: String) -> Self {
        Self { chain_pem, key_pem }
    }

    /// A new one, signed by itself, with an ECDSA key on P-256: for localhost, the addresses of loopback, and the one
    /// that is listened on.
    ///
    /// # Errors
    /// If no key can be made.
    pub fn self_signed(listen: &Address) -> Result<Self, rcgen::Error> {
        let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(Into::into).into();
        let ip = listen.tcp().map(|address| address.ip()).filter(|ip| !ip.is_loopback() && !ip.is_unspecified());
        names.extend(ip.map(|ip| ip.to_string()));
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(DnType::CommonName, "plimsoll target");
        params.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);
        let key = KeyPair::generate()?;
        Ok(Self { chain_pem: params.self_signed(&key)?.pem(), key_pem: key.serialize_pem() })
    }

    /// What all connections share.
    pub(super) fn server_config(&self) -> Result<ServerConfig, ConfigError> {
        ServerConfig::new(&ServerSettings {
            chain: &certificates(self.chain_pem.as_bytes())?,
            key_pem: self.key_pem.as_bytes(),
            alpn: &["http/1.1".into()],
            now_s: unix_s(),
        })
    }
}

impl fmt::Debug for Certificate {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").field("chain_pem", &self.chain_pem).finish_non_exhaustive()
    }
}
