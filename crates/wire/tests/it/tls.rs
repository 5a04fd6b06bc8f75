//! The TLS client against a rustls server in memory, and against our own, however the bytes are cut.

use proptest::prelude::*;
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::{ServerConnection, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion, version};
use std::io::{Read, Write};
use std::sync::Arc;
use wire::tls::{Config, Connection, RECORD_BYTES, ServerSettings, Settings, TlsError, certificates};

/// 2026-01-01, inside the life of the certificates.
const NOW_S: u64 = 1_767_225_600;

/// A self-signed certificate, and a server that has it.
struct Site {
    der: Vec<u8>,
    server: Arc<ServerConfig>,
}

impl Site {
    fn new(names: &[&str], until_year: i32, versions: &[&'static SupportedProtocolVersion]) -> Self {
        let mut params = CertificateParams::new(names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>()).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, names[0]);
        (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(until_year, 1, 1));
        let key = KeyPair::generate().unwrap();
        Self::with(params.self_signed(&key).unwrap().der().to_vec(), &key, versions)
    }

    /// With a certificate that may sign others.
    fn that_may_sign(names: &[&str], until_year: i32) -> Self {
        let mut params = CertificateParams::new(names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>()).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(until_year, 1, 1));
        let key = KeyPair::generate().unwrap();
        Self::with(params.self_signed(&key).unwrap().der().to_vec(), &key, rustls::ALL_VERSIONS)
    }

    fn with(der: Vec<u8>, key: &KeyPair, versions: &[&'static SupportedProtocolVersion]) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![der.clone().into()], PrivateKeyDer::Pkcs8(key.serialize_der().into()))
            .unwrap();
        server.alpn_protocols = vec![b"http/1.1".to_vec()];
        Self { der, server: Arc::new(server) }
    }

    fn usual() -> Self {
        Self::new(&["plimsoll.test", "127.0.0.1"], 2040, rustls::ALL_VERSIONS)
    }

    fn config(&self, host: &str, resumption: bool) -> Config {
        config(host, Some(std::slice::from_ref(&self.der)), resumption)
    }

    fn server(&self) -> ServerConnection {
        ServerConnection::new(Arc::clone(&self.server)).unwrap()
    }
}

fn config(host: &str, roots: Option<&[Vec<u8>]>, resumption: bool) -> Config {
    Config::new(&Settings { host, roots, alpn: &["http/1.1".into()], resumption, now_s: NOW_S }).unwrap()
}

/// Carries bytes both ways, to the client in pieces of at most `piece`, until neither has anything to say. Returns
/// the plaintext that reached the client.
fn settle(client: &mut Connection, server: &mut ServerConnection, piece: usize) -> Result<Vec<u8>, TlsError> {
    let (mut plain, mut buffer) = (Vec::new(), vec![0; piece + RECORD_BYTES]);
    loop {
        let mut out = Vec::new();
        client.transmit(&mut out);
        let mut rest = out.as_slice();
        while !rest.is_empty() {
            server.read_tls(&mut rest).unwrap();
            // A server that gives up sends an alert, which the client is to see.
            let _ = server.process_new_packets();
        }
        let mut back = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut back).unwrap();
        }
        if out.is_empty() && back.is_empty() {
            return Ok(plain);
        }
        for piece in back.chunks(piece) {
            let n = client.receive(piece, &mut buffer)?;
            plain.extend_from_slice(&buffer[..n]);
        }
    }
}

/// How a first connection ends.
fn first_meeting(site: &Site, config: &Config) -> Result<Connection, TlsError> {
    let mut client = Connection::new(config)?;
    settle(&mut client, &mut site.server(), 4096)?;
    Ok(client)
}

fn read_all(server: &mut ServerConnection) -> Vec<u8> {
    let (mut got, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(n) = server.reader().read(&mut buffer) {
        got.extend_from_slice(&buffer[..n]);
    }
    got
}

#[test]
fn both_versions_are_agreed_on_and_told() {
    for (version, name) in [(&version::TLS12, "TLSv1.2"), (&version::TLS13, "TLSv1.3")] {
        let site = Site::new(&["plimsoll.test"], 2040, &[version]);
        let client = first_meeting(&site, &site.config("plimsoll.test", true)).unwrap();
        let session = client.session().unwrap();
        assert_eq!((session.version.as_str(), session.resumed), (name, false));
        assert!(session.cipher.starts_with("TLS_"), "{session:?}");
    }
}

#[test]
fn alpn_and_the_name_are_sent_but_no_name_for_an_address() {
    let site = Site::usual();
    for (host, sni) in [("plimsoll.test", Some("plimsoll.test")), ("127.0.0.1", None)] {
        let mut server = site.server();
        let mut client = Connection::new(&site.config(host, true)).unwrap();
        settle(&mut client, &mut server, 4096).unwrap();
        assert_eq!(server.alpn_protocol(), Some(&b"http/1.1"[..]));
        assert_eq!(server.server_name(), sni);
    }
}

#[test]
fn sessions_are_resumed_only_when_asked_to() {
    for version in rustls::ALL_VERSIONS {
        let site = Site::new(&["plimsoll.test"], 2040, &[version]);
        for resumption in [true, false] {
            let config = site.config("plimsoll.test", resumption);
            first_meeting(&site, &config).unwrap();
            assert_eq!(first_meeting(&site, &config).unwrap().is_resumed(), resumption, "{version:?}");
        }
    }
}

#[test]
fn certificates_that_cannot_be_trusted_are_told_apart() {
    let site = Site::usual();
    let expired = Site::new(&["plimsoll.test"], 2021, rustls::ALL_VERSIONS);
    let stranger = Site::new(&["stranger.test"], 2040, rustls::ALL_VERSIONS);
    let told = |site: &Site, config: &Config| first_meeting(site, config).map(|_| ()).unwrap_err();
    assert_eq!(told(&expired, &expired.config("plimsoll.test", true)), TlsError::Expired);
    let other = told(&site, &site.config("other.test", true));
    assert_eq!(other, TlsError::WrongName(": plimsoll.test".into()));
    assert_eq!(told(&site, &stranger.config("plimsoll.test", true)), TlsError::UnknownIssuer);
    assert!([&TlsError::Expired, &other, &TlsError::UnknownIssuer].iter().all(|error| error.is_certificate()));
    let early = Config::new(&Settings {
        host: "plimsoll.test",
        roots: Some(std::slice::from_ref(&site.der)),
        alpn: &[],
        resumption: false,
        now_s: 1_000_000_000,
    });
    assert_eq!(told(&site, &early.unwrap()), TlsError::NotYetValid);
}

/// What `openssl req -x509` makes: it may sign others, and is a server's own all the same.
#[test]
fn a_certificate_that_may_sign_others_is_trusted_only_by_itself() {
    let site = Site::that_may_sign(&["plimsoll.test"], 2040);
    for host in ["plimsoll.test", "PLIMSOLL.test"] {
        assert!(first_meeting(&site, &site.config(host, true)).is_ok());
    }
    let told = |site: &Site, config: &Config| first_meeting(site, config).map(|_| ()).unwrap_err();
    assert_eq!(told(&site, &site.config("other.test", true)), TlsError::WrongName(": plimsoll.test".into()));
    let expired = Site::that_may_sign(&["plimsoll.test"], 2021);
    assert_eq!(told(&expired, &expired.config("plimsoll.test", true)), TlsError::Expired);
    // The same name and another key.
    let other = Site::that_may_sign(&["plimsoll.test"], 2040);
    assert_eq!(told(&site, &other.config("plimsoll.test", true)), TlsError::UnknownIssuer);
}

#[test]
fn a_certificate_whose_issuer_is_unknown_is_trusted_by_itself() {
    let (issuer_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let mut issuer = CertificateParams::new(vec!["issuer.test".to_owned()]).unwrap();
    issuer.distinguished_name.push(rcgen::DnType::CommonName, "issuer.test");
    let issuer = rcgen::Issuer::new(issuer, issuer_key);
    let params = CertificateParams::new(vec!["plimsoll.test".to_owned()]).unwrap();
    let site = Site::with(params.signed_by(&key, &issuer).unwrap().der().to_vec(), &key, rustls::ALL_VERSIONS);
    assert!(first_meeting(&site, &site.config("plimsoll.test", true)).is_ok());
    let stranger = Site::usual();
    let told = first_meeting(&site, &stranger.config("plimsoll.test", true)).map(|_| ()).unwrap_err();
    assert_eq!(told, TlsError::UnknownIssuer);
}

#[test]
fn a_server_that_demands_a_certificate_is_understood() {
    for version in rustls::ALL_VERSIONS {
        let mut site = Site::usual();
        let mut roots = RootCertStore::empty();
        roots.add(site.der.clone().into()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
        let key = KeyPair::generate().unwrap();
        let der = CertificateParams::new(vec!["a.test".to_owned()]).unwrap().self_signed(&key).unwrap().der().to_vec();
        let server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .unwrap()
            .with_client_cert_verifier(verifier.unwrap())
            .with_single_cert(vec![der.into()], PrivateKeyDer::Pkcs8(key.serialize_der().into()));
        site.server = Arc::new(server.unwrap());
        let told = first_meeting(&site, &config("plimsoll.test", None, true)).map(|_| ()).unwrap_err();
        assert_eq!(told, TlsError::ClientCertificate, "{version:?}");
    }
}

/// Our two ends with each other, however the bytes are cut: what the client sends reaches the server, and back.
#[test]
fn our_server_and_our_client_understand_each_other() {
    let key = KeyPair::generate().unwrap();
    let made = CertificateParams::new(vec!["plimsoll.test".to_owned()]).unwrap().self_signed(&key).unwrap();
    let (chain, alpn, key_pem) = ([made.der().to_vec()], ["http/1.1".to_owned()], key.serialize_pem());
    let settings = ServerSettings { chain: &chain, key_pem: key_pem.as_bytes(), alpn: &alpn, now_s: NOW_S };
    let server_config = wire::tls::ServerConfig::new(&settings).unwrap();
    let client_config = config("plimsoll.test", Some(&[made.der().to_vec()]), true);
    for (round, piece) in [1, 7, 1000, 100_000].into_iter().enumerate() {
        let mut client = Connection::new(&client_config).unwrap();
        let mut server = Connection::accept(&server_config).unwrap();
        assert_eq!(carry(&mut client, &mut server, piece), (Vec::new(), Vec::new()));
        assert!(!client.is_handshaking() && !server.is_handshaking());
        assert_eq!((client.is_resumed(), server.is_resumed()), (round > 0, round > 0));
        let (request, answer) = (vec![b'q'; 40_000], vec![b'a'; 60_000]);
        assert_eq!((client.send(&request), server.send(&answer)), (request.len(), answer.len()));
        server.close();
        assert!(carry(&mut client, &mut server, piece) == (answer, request));
        assert!(client.is_closed() && !server.is_closed());
    }
    let stranger = KeyPair::generate().unwrap().serialize_pem();
    let other = ServerSettings { key_pem: stranger.as_bytes(), ..settings };
    assert!(wire::tls::ServerConfig::new(&other).unwrap_err().to_string().contains("cannot be used together"));
}

/// Carries bytes both ways in pieces until nobody has any more; what reached the client and the server.
fn carry(client: &mut Connection, server: &mut Connection, piece: usize) -> (Vec<u8>, Vec<u8>) {
    let mut buffer = vec![0; piece + RECORD_BYTES];
    let mut got = (Vec::new(), Vec::new());
    loop {
        let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
        client.transmit(&mut to_server);
        server.transmit(&mut to_client);
        if to_server.is_empty() && to_client.is_empty() {
            return got;
        }
        for piece in to_server.chunks(piece) {
            let n = server.receive(piece, &mut buffer).unwrap();
            got.1.extend_from_slice(&buffer[..n]);
        }
        for piece in to_client.chunks(piece) {
            let n = client.receive(piece, &mut buffer).unwrap();
            got.0.extend_from_slice(&buffer[..n]);
        }
    }
}

#[test]
fn any_certificate_passes_without_roots() {
    let expired = Site::new(&["other.test"], 2021, rustls::ALL_VERSIONS);
    let client = first_meeting(&expired, &config("plimsoll.test", None, true)).unwrap();
    assert!(!client.is_handshaking());
}

#[test]
fn a_server_without_a_common_protocol_says_so() {
    let site = Site::usual();
    let offers =
        Settings { host: "plimsoll.test", roots: None, alpn: &["gopher".into()], resumption: false, now_s: NOW_S };
    let told = first_meeting(&site, &Config::new(&offers).unwrap()).map(|_| ()).unwrap_err();
    assert_eq!(told, TlsError::Refused("alert no application protocol".into()));
}

#[test]
fn other_protocols_and_early_ends_are_recognised() {
    let mut buffer = vec![0; 4096 + RECORD_BYTES];
    for answer in ["HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-x\r\n"] {
        let mut client = Connection::new(&config("plimsoll.test", None, true)).unwrap();
        assert_eq!(client.receive(answer.as_bytes(), &mut buffer), Err(TlsError::NotTls), "{answer}");
    }
    let mut client = Connection::new(&config("plimsoll.test", None, true)).unwrap();
    assert_eq!(client.receive_eof(), Some(TlsError::Closed));
    let broken = client.receive(b"\x16\x03\x03\x00\x04\xff\x00\x00\x00", &mut buffer).unwrap_err();
    assert!(matches!(broken, TlsError::Protocol(_)), "{broken:?}");
}

#[test]
fn nothing_is_sent_before_the_handshake_and_the_end_is_told_after_it() {
    let site = Site::usual();
    let mut server = site.server();
    let mut client = Connection::new(&site.config("plimsoll.test", true)).unwrap();
    assert_eq!((client.send(b"too early"), client.session()), (0, None));
    settle(&mut client, &mut server, 4096).unwrap();
    assert!(!client.is_closed() && client.receive_eof().is_none());
    server.writer().write_all(b"last words").unwrap();
    server.send_close_notify();
    assert_eq!(settle(&mut client, &mut server, 4096).unwrap(), b"last words");
    assert!(client.is_closed());
}

#[test]
fn hosts_and_pem_texts_are_checked() {
    let wrong = Settings { host: "a b", roots: None, alpn: &[], resumption: true, now_s: NOW_S };
    assert!(Config::new(&wrong).unwrap_err().to_string().contains("\"a b\""));
    let untrusting = Settings { host: "a", roots: Some(&[]), ..wrong };
    assert!(Config::new(&untrusting).unwrap_err().to_string().contains("no usable"));
    assert!(certificates(b"nothing").is_err());
    let made = rcgen::generate_simple_self_signed(vec!["a".to_owned()]).unwrap();
    assert_eq!(certificates(made.cert.pem().as_bytes()).unwrap(), [made.cert.der().to_vec()]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_cut_gives_the_same_plaintext(piece in 1_usize..40_000, answer_bytes in 0_usize..100_000, tls13: bool) {
        let version = if tls13 { &version::TLS13 } else { &version::TLS12 };
        let site = Site::new(&["plimsoll.test"], 2040, &[version]);
        let mut server = site.server();
        server.set_buffer_limit(None);
        let mut client = Connection::new(&site.config("plimsoll.test", true)).unwrap();
        settle(&mut client, &mut server, piece).unwrap();
        prop_assert_eq!(client.send(b"GET / HTTP/1.1\r\n\r\n"), 18);
        settle(&mut client, &mut server, piece).unwrap();
        prop_assert_eq!(read_all(&mut server), b"GET / HTTP/1.1\r\n\r\n");
        let answer: Vec<u8> = (0..answer_bytes).map(|i| i as u8).collect();
        server.writer().write_all(&answer).unwrap();
        prop_assert!(settle(&mut client, &mut server, piece).unwrap() == answer);
    }
}
