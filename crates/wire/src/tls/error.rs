//! Errors of TLS, in words a user can act on.

use super::verify::is_of_issuer;
use rustls::{AlertDescription, CertificateError, Error};
use thiserror::Error as ThisError;

/// Settings that cannot work.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
pub enum ConfigError {
    /// The host can be neither a DNS name nor an IP address.
    #[error("{0:?} cannot be the name of a TLS server")]
    Name(String),
    /// Nothing to trust.
    #[error("there is no usable trusted certificate")]
    NoRoots,
    /// A PEM text without a usable certificate.
    #[error("it holds no certificate in PEM form")]
    NoCertificate,
    /// A PEM text without a usable private key.
    #[error("it holds no private key in PEM form")]
    NoKey,
    /// Certificate and key are no pair, or of a kind that TLS has no use for.
    #[error("they cannot be used together ({0})")]
    Pair(String),
    /// The cryptography does not support TLS 1.2 and 1.3.
    #[error("the cryptography of this build cannot do TLS")]
    Provider,
}

/// Why a connection cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
pub enum TlsError {
    /// The certificate's time is over.
    #[error("its certificate has expired")]
    Expired,
    /// The certificate's time has not come.
    #[error("its certificate is not valid yet")]
    NotYetValid,
    /// The certificate is for other names.
    #[error("its certificate is for another name{0}")]
    WrongName(String),
    /// Nobody trusted has signed the certificate.
    #[error("its certificate is self-signed or of an unknown issuer")]
    UnknownIssuer,
    /// Anything else that makes a certificate unusable.
    #[error("its certificate cannot be used ({0})")]
    Certificate(String),
    /// The first bytes are no TLS: most often plain HTTP.
    #[error("it does not speak TLS; is this an http:// port?")]
    NotTls,
    /// The server wants to know who we are.
    #[error("it demands a client certificate, and plimsoll has none to show")]
    ClientCertificate,
    /// The peer gave up and said why.
    #[error("it refused TLS ({0})")]
    Refused(String),
    /// The peer and we have no version, cipher or protocol in common.
    #[error("it has no TLS version or cipher in common with this client ({0})")]
    Incompatible(String),
    /// The connection was closed inside the handshake.
    #[error("it closed the connection in the TLS handshake")]
    Closed,
    /// TLS was broken some other way.
    #[error("it broke TLS ({0})")]
    Protocol(String),
}

impl TlsError {
    /// True if the certificate is at fault: what trusting any server would overcome.
    #[must_use]
    pub const fn is_certificate(&self) -> bool {
        matches!(
            self,
            Self::Expired | Self::NotYetValid | Self::WrongName(_) | Self::UnknownIssuer | Self::Certificate(_)
        )
    }
}

/// rustls' error as ours.
pub(super) fn of(error: Error) -> TlsError {
    match error {
        Error::InvalidCertificate(why) => of_certificate(why),
        Error::AlertReceived(AlertDescription::CloseNotify) => TlsError::Closed,
        Error::AlertReceived(AlertDescription::CertificateRequired) => TlsError::ClientCertificate,
        Error::AlertReceived(alert) => TlsError::Refused(
            alert
                .as_str()
                .map_or_else(|| format!("alert {}", u8::from(alert)), |name| format!("alert {}", spaced(name))),
        ),
        Error::PeerIncompatible(why) => TlsError::Incompatible(spaced(&format!("{why:?}"))),
        other => TlsError::Protocol(other.to_string()),
    }
}

fn of_certificate(error: CertificateError) -> TlsError {
    use CertificateError as E;
    match error {
        E::Expired | E::ExpiredContext { .. } => TlsError::Expired,
        E::NotValidYet | E::NotValidYetContext { .. } => TlsError::NotYetValid,
        E::NotValidForName => TlsError::WrongName(String::new()),
        E::NotValidForNameContext { presented, .. } => TlsError::WrongName(match presented.as_slice() {
            [] => String::new(),
            [first, ..] => format!(": {}", plain(first)),
        }),
        why if is_of_issuer(&why) => TlsError::UnknownIssuer,
        other => TlsError::Certificate(other.to_string()),
    }
}

/// `DnsName("x")`, as webpki says it, without its frame.
fn plain(name: &str) -> &str {
    name.split_once("(\"").and_then(|(_, rest)| rest.strip_suffix("\")")).unwrap_or(name)
}

/// `HandshakeFailure` as `handshake failure`.
fn spaced(name: &str) -> String {
    let mut out = String::new();
    let mut after_lower = false;
    for c in name.chars() {
        if c.is_uppercase() && after_lower {
            out.push(' ');
        }
        after_lower = c.is_lowercase() || c.is_ascii_digit();
        out.push(c.to_ascii_lowercase());
    }
    out
}
