//! Whom a client trusts: those who are vouched for or named themselves, or for test machines anyone.
//!
//! A certificate that is trusted itself may be the server's own, also when it may sign others, as those of `openssl
//! req -x509`: webpki takes these from no server, so ours are compared byte for byte after it has looked at the
//! dates, and then the name is checked. Without verification signatures are checked all the same, so that a handshake
//! costs the same.

use super::ConfigError;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::sync::Arc;

/// Takes certificates that a trusted one has signed, and those that are trusted themselves. The latter are what most
/// tools make when asked for a self-signed certificate: one that may sign others, which webpki takes from no server.
#[derive(Debug)]
pub(super) struct Trusted {
    webpki: Arc<WebPkiServerVerifier>,
    certificates: Vec<CertificateDer<'static>>,
}

impl Trusted {
    pub(super) fn new(
        store: RootCertStore,
        provider: Arc<CryptoProvider>,
        certificates: &[Vec<u8>],
    ) -> Result<Self, ConfigError> {
        let webpki = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider)
            .build()
            .map_err(|_| ConfigError::NoRoots)?;
        Ok(Self { webpki, certificates: certificates.iter().map(|der| CertificateDer::from(der.clone())).collect() })
    }
}

impl ServerCertVerifier for Trusted {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let judged = self.webpki.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match judged {
            // webpki looks at the dates before it looks for an issuer, so they are fine here.
            Err(Error::InvalidCertificate(why)) if is_of_issuer(&why) && self.certificates.contains(end_entity) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            judged => judged,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.webpki.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.webpki.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.webpki.supported_verify_schemes()
    }
}

/// True if all that is wrong with a certificate is who has signed it.
pub(super) fn is_of_issuer(error: &CertificateError) -> bool {
    match error {
        CertificateError::UnknownIssuer => true,
        CertificateError::Other(why) => why.to_string().contains("CaUsedAsEndEntity"),
        _ => false,
    }
}

/// Takes any certificate, but still checks that the server has its key, so that a handshake costs what it costs.
#[derive(Debug)]
pub(super) struct TrustAll {
    algorithms: WebPkiSupportedAlgorithms,
}

impl TrustAll {
    pub(super) fn new(provider: &CryptoProvider) -> Self {
        Self { algorithms: provider.signature_verification_algorithms }
    }
}

impl ServerCertVerifier for TrustAll {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
