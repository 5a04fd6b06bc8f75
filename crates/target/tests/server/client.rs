//! A small blocking client that trusts nobody: it reads by the framing the answer declares.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use target::{Certificate, HANDSHAKE_MAX_NS, Running, TargetConfig, Tls, start};

/// A test that waits this long has failed.
const TIMEOUT: Duration = Duration::from_secs(60);

/// One response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) chunked: bool,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// One connection.
pub(crate) struct Client {
    stream: BufReader<Box<dyn Stream>>,
    socket: TcpStream,
}

pub(crate) trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

pub(crate) fn serve(config: TargetConfig) -> Running {
    start(config).expect("the target starts")
}

/// The same with TLS.
pub(crate) fn serve_tls(config: TargetConfig) -> Running {
    serve(TargetConfig { tls: Some(Tls { certificate: certificate(), handshake_ns: HANDSHAKE_MAX_NS }), ..config })
}

/// That of all targets here.
pub(crate) fn certificate() -> Certificate {
    static MADE: OnceLock<Certificate> = OnceLock::new();
    let made = || Certificate::self_signed(&TargetConfig::default().listen).expect("a certificate");
    MADE.get_or_init(made).clone()
}

/// A client that trusts the targets here; the versions of TLS that it speaks are up to it.
pub(crate) fn trusting(versions: &[&'static rustls::SupportedProtocolVersion]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    let der = CertificateDer::from_pem_slice(certificate().chain_pem.as_bytes()).expect("PEM");
    roots.add(der).expect("it can be trusted");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(versions).expect("versions");
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Arc::new(config)
}

/// A TCP connection to it.
pub(crate) fn connect(server: &Running) -> TcpStream {
    let socket = TcpStream::connect(server.address().tcp().expect("TCP")).expect("the target listens");
    socket.set_read_timeout(Some(TIMEOUT)).expect("a timeout can be set");
    socket.set_nodelay(true).expect("a socket option can be set");
    socket
}

/// A TCP connection from this address of loopback.
pub(crate) fn connect_from(server: &Running, from: Ipv4Addr) -> TcpStream {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).expect("a socket");
    rustix::net::bind(&socket, &SocketAddr::from((from, 0))).expect("an address of loopback");
    rustix::net::connect(&socket, &server.address().tcp().expect("TCP")).expect("the target listens");
    let socket = TcpStream::from(socket);
    socket.set_read_timeout(Some(TIMEOUT)).expect("a timeout can be set");
    socket
}

/// GET on a connection of its own.
pub(crate) fn get(server: &Running, path: &str) -> Response {
    Client::new(server).get(path)
}

impl Client {
    pub(crate) fn new(server: &Running) -> Self {
        Self::over(connect(server))
    }

    /// On a connection that is there.
    pub(crate) fn over(socket: TcpStream) -> Self {
        let stream = socket.try_clone().expect("a socket can be cloned");
        Self { stream: BufReader::new(Box::new(stream)), socket }
    }

    /// True if the target answers, and closes as it is asked to; false if it closes without an answer.
    pub(crate) fn finds_a_place(mut self) -> bool {
        // A target that has closed already takes nothing, or resets.
        let _ = self.try_send(b"GET /bytes/1 HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n");
        let answer = self.rest();
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&answer));
        !answer.is_empty()
    }

    /// With TLS.
    pub(crate) fn secure(server: &Running, config: &Arc<ClientConfig>) -> Self {
        let (socket, stream) = sockets(server);
        let name = "127.0.0.1".try_into().expect("a name");
        let tls = ClientConnection::new(Arc::clone(config), name).expect("a connection");
        Self { stream: BufReader::new(Box::new(StreamOwned::new(tls, stream))), socket }
    }

    pub(crate) fn get(&mut self, path: &str) -> Response {
        self.request(path);
        self.response()
    }

    pub(crate) fn request(&mut self, path: &str) {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: t\r\n\r\n"));
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.stream.get_mut().write_all(text.as_bytes()).expect("the target takes what is sent");
    }

    /// Sends as far as the target lets it.
    pub(crate) fn try_send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// The sending side, for a thread of its own.
    pub(crate) fn clone_sending(&self) -> TcpStream {
        self.socket.try_clone().expect("a socket can be cloned")
    }

    pub(crate) fn close_sending(&mut self) {
        self.socket.shutdown(Shutdown::Write).expect("a connection can be half closed");
    }

    /// The next head, its empty line included.
    pub(crate) fn read_head(&mut self) -> String {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(self.stream.read_line(&mut head).expect("a head is sent") > 0, "the head is complete: {head:?}");
        }
        head
    }

    /// The next response to a GET.
    pub(crate) fn response(&mut self) -> Response {
        let head = self.read_head();
        let status: u16 = head[9..12].parse().expect("a status line");
        let length = head.split("\r\n").find_map(|line| line.strip_prefix("Content-Length: "));
        let chunked = head.contains("\r\nTransfer-Encoding: chunked\r\n");
        let mut body = Vec::new();
        if let Some(length) = length {
            body.resize(length.parse().expect("a length is a number"), 0);
            self.stream.read_exact(&mut body).expect("the body is complete");
        } else if chunked {
            while self.chunk(&mut body) {}
        } else if !matches!(status, 204 | 304) {
            self.stream.read_to_end(&mut body).expect("the connection is closed");
        }
        Response { status, head, chunked, body }
    }

    /// Everything up to the end of the connection; a reset also ends one.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        self.rest_and_end().0
    }

    /// Everything up to the end of the connection, and whether that came in good order.
    pub(crate) fn rest_and_end(&mut self) -> (Vec<u8>, bool) {
        let mut rest = Vec::new();
        let end = self.stream.read_to_end(&mut rest);
        (rest, end.is_ok())
    }

    /// Appends the next chunk; whether there are more.
    fn chunk(&mut self, body: &mut Vec<u8>) -> bool {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("a chunk is announced");
        let size = usize::from_str_radix(line.trim_end(), 16).expect("a chunk size is hexadecimal");
        let begin = body.len();
        body.resize(begin + size, 0);
        self.stream.read_exact(&mut body[begin..]).expect("the chunk is complete");
        let mut end = [0; 2];
        self.stream.read_exact(&mut end).expect("the chunk is ended");
        assert_eq!(&end, b"\r\n");
        size > 0
    }
}

/// A connection, and another handle on it.
fn sockets(server: &Running) -> (TcpStream, TcpStream) {
    let stream = connect(server);
    (stream.try_clone().expect("a socket can be cloned"), stream)
}
