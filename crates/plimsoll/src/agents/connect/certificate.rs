//! Certificates of both ends: each end shows its own, and takes one alone from its peer, which it knows by its fingerprint.
//!
//! With a token each end makes both certificates of it. The keys are Ed25519, their seeds HKDF-SHA-256 of a root with the side's
//! name. The root is PBKDF2-HMAC-SHA-256 of the token: whoever connects sees a certificate, and can try tokens against it without
//! asking anybody, so that a try has to be expensive. The protocol name (ALPN) has the build, so that another build is refused
//! before it counts as an agent.
//!
//! Without a token each end makes a certificate of random numbers, and somebody has told it the fingerprint of the other: for
//! agents in a cluster that is the API server. No secret is handed over.
//!
//! TLS 1.3 alone is spoken, and no session is resumed: each handshake proves that the peer has the key.

use super::fingerprint::Fingerprint;
use super::token::Token;
use crate::random;
use rcgen::{CertificateParams, DnType, KeyPair, SerialNumber};
use ring::pbkdf2::{self, PBKDF2_HMAC_SHA256};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::crypto::ring::default_provider;
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme,
};
use std::num::NonZeroU32;
use std::sync::Arc;

/// What an Ed25519 seed follows in PKCS #8 (RFC 8410, section 7).
const PKCS8_BEFORE_SEED: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
const SEED_BYTES: usize = 32;
const ROOT_BYTES: usize = 32;
const SALT: &[u8] = b"plimsoll agent --connect, version 2";
/// Hashes of one derivation: what OWASP asks for passwords (2023), about a quarter of a second.
const ITERATIONS: NonZeroU32 = NonZeroU32::new(600_000).expect("it is not 0");
/// Serial number of both, so that they are the same wherever they are made.
const SERIAL: u64 = 1;

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Coordinator,
    Agent,
}

impl Side {
    const fn name(self) -> &'static str {
        match self {
            Self::Coordinator => "plimsoll coordinator",
            Self::Agent => "plimsoll agent",
        }
    }
}

/// Key and certificate of a side.
pub(crate) struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
}

impl Identity {
    /// A new one, made of random numbers.
    pub(crate) fn random(side: Side) -> Result<Self, String> {
        Self::of_seed(&random::bytes()?, side)
    }

    /// The one that is always made of these bytes.
    fn of_seed(seed: &[u8; SEED_BYTES], side: Side) -> Result<Self, String> {
        let key = PrivatePkcs8KeyDer::from([&PKCS8_BEFORE_SEED[..], seed].concat());
        let pair = KeyPair::try_from(&key).map_err(text)?;
        let mut params = CertificateParams::default();
        params.serial_number = Some(SerialNumber::from(SERIAL));
        params.distinguished_name.push(DnType::CommonName, side.name());
        Ok(Self { certificate: params.self_signed(&pair).map_err(text)?.der().clone(), key })
    }

    /// What the peer is told, so that it takes this certificate.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.certificate)
    }

    /// How a coordinator with this identity speaks to the one agent that has a certificate; an error says why it cannot.
    pub(crate) fn coordinator_of(&self, agent: Fingerprint) -> Result<ServerConfig, String> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&TLS13])
            .map_err(text)?
            .with_client_cert_verifier(Arc::new(Pinned::new(agent)))
            .with_single_cert(vec![self.certificate.clone()], PrivateKeyDer::Pkcs8(self.key.clone_key()))
            .map_err(text)?;
        config.send_tls13_tickets = 0;
        Ok(config)
    }

    /// How an agent with this identity speaks to the one coordinator that has a certificate; an error says why it cannot.
    pub(crate) fn agent_of(&self, coordinator: Fingerprint) -> Result<ClientConfig, String> {
        let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&TLS13])
            .map_err(text)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Pinned::new(coordinator)))
            .with_client_auth_cert(vec![self.certificate.clone()], PrivateKeyDer::Pkcs8(self.key.clone_key()))
            .map_err(text)?;
        config.resumption = Resumption::disabled();
        Ok(config)
    }
}

/// How the coordinator speaks to all agents of a build that have the token; an error says why it cannot.
pub(super) fn coordinator(token: &Token, build: &str) -> Result<Arc<ServerConfig>, String> {
    let root = Root::new(token);
    let agents = root.identity(Side::Agent)?.fingerprint();
    let mut config = root.identity(Side::Coordinator)?.coordinator_of(agents)?;
    config.alpn_protocols = vec![protocol(build)];
    Ok(Arc::new(config))
}

/// How an agent of a build speaks to the coordinator that has the token; an error says why it cannot.
pub(super) fn agent(token: &Token, build: &str) -> Result<Arc<ClientConfig>, String> {
    let root = Root::new(token);
    let coordinator = root.identity(Side::Coordinator)?.fingerprint();
    let mut config = root.identity(Side::Agent)?.agent_of(coordinator)?;
    config.alpn_protocols = vec![protocol(build)];
    Ok(Arc::new(config))
}

fn protocol(build: &str) -> Vec<u8> {
    format!("plimsoll-agent/{build}").into_bytes()
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

/// What the keys of both sides are made of.
struct Root([u8; ROOT_BYTES]);

impl Root {
    fn new(token: &Token) -> Self {
        let mut root = [0; ROOT_BYTES];
        pbkdf2::derive(PBKDF2_HMAC_SHA256, ITERATIONS, SALT, token.secret().as_bytes(), &mut root);
        Self(root)
    }

    fn identity(&self, side: Side) -> Result<Identity, String> {
        let suite = TLS13_AES_128_GCM_SHA256.tls13().ok_or("no HKDF")?;
        let expander = suite.hkdf_provider.extract_from_secret(Some(SALT), &self.0);
        let mut seed = [0; SEED_BYTES];
        expander.expand_slice(&[side.name().as_bytes()], &mut seed).map_err(|_| "no HKDF")?;
        Identity::of_seed(&seed, side)
    }
}

/// Takes one certificate.
#[derive(Debug)]
struct Pinned {
    fingerprint: Fingerprint,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Pinned {
    fn new(fingerprint: Fingerprint) -> Self {
        Self { fingerprint, algorithms: default_provider().signature_verification_algorithms }
    }

    /// Anybody may show a certificate that was seen; that the peer has its key, the signature of the handshake proves.
    fn check(&self, shown: &CertificateDer<'_>) -> Result<(), Error> {
        if Fingerprint::of(shown) == self.fingerprint {
            return Ok(());
        }
        Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
    }

    fn check_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }
}

/// TLS 1.2 is not spoken.
fn old_version() -> Error {
    Error::General("TLS 1.2 is not spoken".into())
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(end_entity).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(old_version())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(end_entity).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(old_version())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::client::ResolvesClientCert;
    use rustls::crypto::ring::sign::any_supported_type;
    use rustls::sign::CertifiedKey;
    use rustls::{AlertDescription, ClientConnection, Connection, ServerConnection};

    fn token() -> Token {
        Token::random().expect("random numbers")
    }

    fn of(token: &Token, side: Side) -> Identity {
        Root::new(token).identity(side).expect("an identity")
    }

    /// Why the coordinator and the agent refuse each other, if they do.
    fn refusals(coordinator: Arc<ServerConfig>, agent: Arc<ClientConfig>) -> [Option<Error>; 2] {
        let name = ServerName::try_from("plimsoll").expect("a name");
        let mut ends: [Connection; 2] = [
            ServerConnection::new(coordinator).expect("a connection").into(),
            ClientConnection::new(agent, name).expect("a connection").into(),
        ];
        let mut why = [None, None];
        // The agent begins; a handshake takes less.
        for turn in 0..8 {
            let (from, to) = ((turn + 1) % 2, turn % 2);
            let mut bytes = Vec::new();
            while ends[from].wants_write() {
                ends[from].write_tls(&mut bytes).expect("a vector takes all");
            }
            let mut rest = &bytes[..];
            while !rest.is_empty() && why[to].is_none() {
                ends[to].read_tls(&mut rest).expect("it takes bytes");
                why[to] = ends[to].process_new_packets().err();
            }
        }
        assert!(why.iter().any(Option::is_some) || ends.iter().all(|end| !end.is_handshaking()), "no end");
        why
    }

    const WRONG: Error = Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure);
    const DENIED: Error = Error::AlertReceived(AlertDescription::AccessDenied);

    #[test]
    fn both_ends_make_the_same_certificates_of_a_token_and_agree() {
        let one = token();
        assert_eq!(of(&one, Side::Agent).certificate, of(&one, Side::Agent).certificate);
        assert_ne!(of(&one, Side::Agent).certificate, of(&one, Side::Coordinator).certificate);
        assert_eq!(refusals(coordinator(&one, "b").unwrap(), agent(&one, "b").unwrap()), [None, None]);
    }

    /// A guess costs as much as this test waits: with one hash a guess, words are found in seconds.
    #[test]
    fn a_token_is_stretched_before_it_is_a_key() {
        assert!(ITERATIONS.get() >= 600_000);
        let one = token();
        let mut once = [0; ROOT_BYTES];
        pbkdf2::derive(PBKDF2_HMAC_SHA256, NonZeroU32::MIN, SALT, one.secret().as_bytes(), &mut once);
        assert!(Root::new(&one).0 != once && Root::new(&one).0 == Root::new(&one).0);
    }

    #[test]
    fn an_agent_of_another_token_refuses_and_one_of_another_build_is_refused() {
        let (one, other) = (token(), token());
        let refused = refusals(coordinator(&one, "b").unwrap(), agent(&other, "b").unwrap());
        assert_eq!(refused, [Some(DENIED), Some(WRONG)]);
        let refused = refusals(coordinator(&one, "b").unwrap(), agent(&one, "c").unwrap());
        let told = Error::AlertReceived(AlertDescription::NoApplicationProtocol);
        assert_eq!(refused, [Some(Error::NoApplicationProtocol), Some(told)]);
    }

    #[test]
    fn ends_without_a_token_agree_if_each_was_told_the_fingerprint_of_the_other() {
        let new = |side| Identity::random(side).expect("random numbers");
        let (one, other, agent) = (new(Side::Coordinator), new(Side::Coordinator), new(Side::Agent));
        let meet = |coordinator: &Identity, of_agent, of_coordinator| {
            let coordinator = coordinator.coordinator_of(of_agent).expect("a configuration");
            refusals(Arc::new(coordinator), Arc::new(agent.agent_of(of_coordinator).expect("a configuration")))
        };
        assert_eq!(meet(&one, agent.fingerprint(), one.fingerprint()), [None, None]);
        // Another coordinator at the agent's port, and another program in the agent's place.
        assert_eq!(meet(&other, agent.fingerprint(), one.fingerprint()), [Some(DENIED), Some(WRONG)]);
        assert_eq!(meet(&one, other.fingerprint(), one.fingerprint())[0], Some(WRONG));
    }

    /// Shows whatever it has.
    #[derive(Debug)]
    struct Shows(Arc<CertifiedKey>);

    impl ResolvesClientCert for Shows {
        fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
            Some(Arc::clone(&self.0))
        }

        fn has_certs(&self) -> bool {
            true
        }
    }

    /// Takes the coordinator for what it is, and shows a certificate with a key.
    fn stranger(
        trusted: &Token,
        shown: CertificateDer<'static>,
        key: PrivatePkcs8KeyDer<'static>,
    ) -> Arc<ClientConfig> {
        let key = any_supported_type(&PrivateKeyDer::Pkcs8(key)).expect("a key");
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&TLS13])
            .expect("a version")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Pinned::new(of(trusted, Side::Coordinator).fingerprint())))
            .with_client_cert_resolver(Arc::new(Shows(Arc::new(CertifiedKey::new(vec![shown], key)))));
        Arc::new(config)
    }

    #[test]
    fn the_coordinator_refuses_another_certificate_the_right_one_without_its_key_and_none() {
        let (one, other) = (token(), token());
        let refuses = |stranger| {
            let [why, _] = refusals(coordinator(&one, "b").unwrap(), stranger);
            why
        };
        let Identity { certificate, key } = of(&other, Side::Agent);
        assert_eq!(refuses(stranger(&one, certificate, key)), Some(WRONG));
        let (shown, key) = (of(&one, Side::Agent).certificate, of(&other, Side::Agent).key);
        assert_eq!(
            refuses(stranger(&one, shown, key)),
            Some(Error::InvalidCertificate(CertificateError::BadSignature))
        );
        // Not even that of the coordinator, which whoever connects sees.
        let Identity { certificate, key } = of(&one, Side::Coordinator);
        assert_eq!(refuses(stranger(&one, certificate, key)), Some(WRONG));
        let bare = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(&[&TLS13])
            .expect("a version")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Pinned::new(of(&one, Side::Coordinator).fingerprint())))
            .with_no_client_auth();
        assert_eq!(refuses(Arc::new(bare)), Some(Error::NoCertificatesPresented));
    }
}
