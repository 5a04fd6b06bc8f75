//! One request, one connection, and everything that comes back.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// A server that sends nothing for this long hangs.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Where a server listens, and how it is spoken to.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) address: SocketAddr,
    /// Of a server that speaks TLS.
    trusting: Option<Arc<ClientConfig>>,
}

/// A connection, encrypted or not.
pub(crate) trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

impl Endpoint {
    pub(crate) fn plain(address: SocketAddr) -> Self {
        Self { address, trusting: None }
    }

    /// Of a server that shows this certificate (PEM).
    #[allow(dead_code, reason = "not every program of tests speaks TLS by itself")]
    #[track_caller]
    pub(crate) fn tls(address: SocketAddr, certificate: &str) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(certificate.as_bytes()).expect("PEM")).expect("it can be trusted");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = versions.expect("versions").with_root_certificates(roots).with_no_client_auth();
        Self { address, trusting: Some(Arc::new(config)) }
    }

    #[allow(dead_code, reason = "not every program of tests speaks TLS by itself")]
    pub(crate) fn scheme(&self) -> &'static str {
        if self.trusting.is_some() { "https" } else { "http" }
    }

    #[track_caller]
    pub(crate) fn open(&self) -> Box<dyn Stream> {
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(TIMEOUT)).expect("a socket option");
        let Some(config) = &self.trusting else { return Box::new(stream) };
        let name = self.address.ip().into();
        Box::new(StreamOwned::new(ClientConnection::new(Arc::clone(config), name).expect("it begins"), stream))
    }
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    /// Its chunks joined.
    pub(crate) body: Vec<u8>,
}

/// Sends `request`, which asks for the connection to be closed, and reads to its end.
#[track_caller]
pub(crate) fn exchange(endpoint: &Endpoint, request: &[u8]) -> Answer {
    let mut stream = endpoint.open();
    stream.write_all(request).expect("it reads");
    let mut bytes = Vec::new();
    // A server that refuses what is still being sent may reset the connection behind its answer.
    let _ = stream.read_to_end(&mut bytes);
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(300)]).into_owned();
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { panic!("no answer: {shown:?}") };
    let head = String::from_utf8_lossy(&bytes[..end + 2]).into_owned();
    let status = head.get(9..12).and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("no status: {shown:?}"));
    let body = bytes.split_off(end + 4);
    let mut answer = Answer { status, head, body };
    if answer.is_chunked() {
        answer.body = joined(&answer.body).unwrap_or_else(|| panic!("broken chunks: {shown:?}"));
    }
    answer
}

impl Answer {
    /// The value of a header, whose name is in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn is_chunked(&self) -> bool {
        self.header("transfer-encoding") == Some("chunked")
    }
}

/// The body in chunks that end as they should.
fn joined(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).ok()?, 16).ok()?;
        rest = &rest[end + 2..];
        let (chunk, after) = rest.split_at_checked(size)?;
        body.extend_from_slice(chunk);
        rest = after.strip_prefix(b"\r\n")?;
        if size == 0 {
            return rest.is_empty().then_some(body);
        }
    }
}
