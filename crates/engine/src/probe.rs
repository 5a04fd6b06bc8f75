//! Looks at the target before anything is measured: a few fetches, one after the other, over blocking sockets.

mod line;

use crate::clock::Clock;
use crate::fnv::Fnv1a;
use crate::source::{Scratch, Source, TemplateError};
use crate::tls::Config;
use line::Line;
use model::{Body, Fetch, Numbering, Probe, Request};
use std::io::ErrorKind;
use std::net::SocketAddr;
use thiserror::Error;
use wire::http1::{Client, ClientError, Expect, Limits, ResponseSink, write_request};
use wire::tls::TlsError;

/// Redirects followed to tell where they lead.
const REDIRECTS_MAX: usize = 5;
/// Bytes of a body the probe is willing to read; a larger one is the user's to declare.
const BODY_MAX_BYTES: u64 = 1 << 30;
/// First bytes of an answer that are shown when it is not HTTP.
const SHOWN_BYTES: usize = 24;

/// What to fetch, and how.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// Addresses to try, in order.
    pub addresses: &'a [SocketAddr],
    /// Value of the `Host` header.
    pub authority: &'a str,
    /// The request.
    pub request: &'a Request,
    /// What the fields of a template begin with.
    pub numbering: &'a Numbering,
    /// Seed of random fields.
    pub seed: u64,
    /// How to encrypt, if at all.
    pub tls: Option<&'a Config>,
    /// Number of fetches, above 0.
    pub fetches: usize,
    /// Deadline of connecting, and of each fetch as a whole; ns.
    pub timeout_ns: u64,
}

/// Why the target cannot be measured.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// No address accepts a connection.
    #[error("cannot connect to {address}: {reason}")]
    Connect {
        /// The last address tried.
        address: SocketAddr,
        /// Why not.
        reason: String,
    },
    /// TLS does not work.
    #[error("{address} cannot be measured with TLS: {error}{tip}")]
    Tls {
        /// The address.
        address: SocketAddr,
        /// Why not.
        error: TlsError,
        /// What can be done about it.
        tip: &'static str,
    },
    /// A field of a template cannot be filled in.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// The connection broke or stayed silent.
    #[error("{address} accepted the connection but {reason}")]
    Silent {
        /// The address.
        address: SocketAddr,
        /// What happened instead of an answer.
        reason: String,
    },
    /// Something else than HTTP/1 answers.
    #[error("{address} does not answer in HTTP/1 ({guess}); its first bytes are {shown}")]
    NotHttp {
        /// The address.
        address: SocketAddr,
        /// What it may be.
        guess: &'static str,
        /// The first bytes, printable.
        shown: String,
    },
    /// The answer breaks HTTP.
    #[error("{address} sent a broken response: {error}{detail}")]
    Broken {
        /// The address.
        address: SocketAddr,
        /// How.
        error: ClientError,
        /// What was announced and missing, if that is the trouble.
        detail: String,
    },
}

/// Fetches the target; returns the address that answered and what it said.
///
/// # Errors
/// If any fetch fails: what cannot be fetched once alone cannot be measured under load.
pub fn probe(settings: &Settings<'_>) -> Result<(SocketAddr, Probe), ProbeError> {
    let address = reachable(settings)?;
    let request = std::slice::from_ref(settings.request);
    let source = Source::of(request, settings.authority, true, settings.numbering.clone(), settings.seed)?;
    let mut scratch = Scratch::default();
    let mut fetches = Vec::with_capacity(settings.fetches);
    for number in 0..settings.fetches.max(1) as u64 {
        fetches.push(fetch(settings, address, source.bytes(0, number, &mut scratch))?);
    }
    let first = &fetches[0];
    let body = if fetches.iter().any(|f| f.size_bytes != first.size_bytes) {
        Body::ChangingSize
    } else if fetches.iter().any(|f| f.body_hash != first.body_hash) {
        Body::ChangingBytes
    } else {
        Body::Stable
    };
    let redirects = follow(settings, address, first.location.clone());
    Ok((address, Probe { fetches, body, redirects }))
}

/// The first address that accepts a connection.
fn reachable(settings: &Settings<'_>) -> Result<SocketAddr, ProbeError> {
    let mut last = None;
    for &address in settings.addresses {
        match connect(address, settings.timeout_ns) {
            Ok(_) => return Ok(address),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| ProbeError::Connect {
        address: SocketAddr::from(([0, 0, 0, 0], 0)),
        reason: "the name has no address".into(),
    }))
}

/// Follows redirects as long as they stay on the same server; others are only named.
fn follow(settings: &Settings<'_>, address: SocketAddr, mut next: Option<String>) -> Vec<String> {
    let mut hops = Vec::new();
    while let Some(location) = next.take() {
        let scheme = if settings.tls.is_some() { "https://" } else { "http://" };
        let path = same_server_path(&location, scheme, settings.authority);
        hops.push(location);
        if hops.len() < REDIRECTS_MAX {
            next = path.and_then(|path| fetch(settings, address, &get(settings, &path)).ok()).and_then(|f| f.location);
        }
    }
    hops
}

/// The request for another path, as a template would not be filled in for it.
fn get(settings: &Settings<'_>, path: &str) -> Vec<u8> {
    let Request { method, headers, body, .. } = settings.request;
    let mut bytes = Vec::new();
    write_request(&mut bytes, method, path, settings.authority, headers, true, body);
    bytes
}

fn same_server_path(location: &str, scheme: &str, authority: &str) -> Option<String> {
    if location.starts_with('/') && !location.starts_with("//") {
        return Some(location.into());
    }
    let rest = location.strip_prefix(scheme)?.strip_prefix(authority)?;
    match rest.chars().next() {
        None => Some("/".into()),
        Some('/') => Some(rest.into()),
        Some(_) => None,
    }
}

fn connect(address: SocketAddr, timeout_ns: u64) -> Result<Line, ProbeError> {
    Line::connect(address, timeout_ns).map_err(|e| ProbeError::Connect { address, reason: plain(&e) })
}

fn fetch(settings: &Settings<'_>, address: SocketAddr, request: &[u8]) -> Result<Fetch, ProbeError> {
    let clock = Clock::start();
    let mut line = connect(address, settings.timeout_ns)?;
    let connect_ns = clock.now_ns();
    let failed = |e| no_answer(e, address, settings.timeout_ns);
    if let Some(config) = settings.tls {
        line.secure(config, settings.timeout_ns).map_err(failed)?;
    }
    let ready_ns = clock.now_ns();
    line.write_all(request).map_err(failed)?;

    let mut client = Client::new(Limits { body_bytes: BODY_MAX_BYTES, ..Limits::default() });
    client.request_sent(if settings.request.method == "HEAD" { Expect::NoBody } else { Expect::Body });
    let mut seen = Seen::default();
    let response = loop {
        // Of the whole fetch: a server that drips its answer meets the deadline of no single read.
        let left_ns = settings.timeout_ns.saturating_sub(clock.now_ns() - ready_ns);
        let bytes = line.read(left_ns).map_err(failed)?;
        if seen.first.is_empty() {
            seen.first = bytes[..bytes.len().min(SHOWN_BYTES)].to_vec();
        }
        let outcome = match bytes {
            [] => client.receive_eof(),
            _ => client.receive(bytes, &mut seen).map(|received| received.response),
        };
        match outcome {
            Ok(Some(response)) => break response,
            Ok(None) => {}
            Err(error) => return Err(broken(address, error, &seen.first)),
        }
    };
    Ok(Fetch {
        status: response.status,
        size_bytes: response.body_bytes,
        content_type: seen.content_type,
        server: seen.server,
        location: seen.location,
        body_hash: seen.hash.0,
        keepalive: response.keepalive,
        connect_ns,
        response_ns: clock.now_ns() - ready_ns,
    })
}

/// What the probe wants to know of a response beyond its frame.
#[derive(Default)]
struct Seen {
    first: Vec<u8>,
    content_type: Option<String>,
    server: Option<String>,
    location: Option<String>,
    hash: Fnv1a,
}

impl ResponseSink for Seen {
    const HEADERS: bool = true;

    fn header(&mut self, name: &[u8], value: &[u8]) {
        let field = match name {
            n if n.eq_ignore_ascii_case(b"content-type") => &mut self.content_type,
            n if n.eq_ignore_ascii_case(b"server") => &mut self.server,
            n if n.eq_ignore_ascii_case(b"location") => &mut self.location,
            _ => return,
        };
        *field = Some(String::from_utf8_lossy(value).into_owned());
    }

    fn body(&mut self, bytes: &[u8]) {
        self.hash.add(bytes);
    }
}

/// Why there was no answer.
fn no_answer(error: std::io::Error, address: SocketAddr, timeout_ns: u64) -> ProbeError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<TlsError>()) {
        Some(tls) => {
            let tip = if tls.is_certificate() { "; to measure it all the same, add -k" } else { "" };
            ProbeError::Tls { address, error: tls.clone(), tip }
        }
        None => ProbeError::Silent { address, reason: silence(&error, timeout_ns) },
    }
}

fn broken(address: SocketAddr, error: ClientError, first: &[u8]) -> ProbeError {
    match error {
        ClientError::NotHttp => ProbeError::NotHttp { address, guess: guess(first), shown: printable(first) },
        ClientError::ClosedBeforeResponse => {
            ProbeError::Silent { address, reason: "closed it without an answer".into() }
        }
        ClientError::ClosedInBody { missing: Some(missing) } => {
            ProbeError::Broken { address, error, detail: format!(" ({missing} announced bytes never came)") }
        }
        _ => ProbeError::Broken { address, error, detail: String::new() },
    }
}

fn guess(first: &[u8]) -> &'static str {
    match first {
        [0x14..=0x17, 3, ..] => "it speaks TLS: this port wants https",
        [b'S', b'S', b'H', b'-', ..] => "it is an SSH server",
        [0, 0, _, 4, ..] => "it speaks HTTP/2",
        _ => "it is some other protocol",
    }
}

fn printable(bytes: &[u8]) -> String {
    format!("\"{}\"", bytes.escape_ascii())
}

fn silence(error: &std::io::Error, timeout_ns: u64) -> String {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            format!("sent no complete answer within {}", model::Duration { ns: timeout_ns })
        }
        ErrorKind::ConnectionReset => "reset it".into(),
        _ => plain(error),
    }
}

/// The error in words, without the number the operating system gives it.
fn plain(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::ConnectionRefused => "connection refused; nothing listens there".into(),
        ErrorKind::TimedOut => "no answer within the timeout".into(),
        ErrorKind::NetworkUnreachable => "network unreachable".into(),
        ErrorKind::HostUnreachable => "host unreachable".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_are_followed_on_the_same_server_only() {
        let path = |location| same_server_path(location, "http://", "host:80");
        assert_eq!(path("/home").as_deref(), Some("/home"));
        assert_eq!(path("http://host:80/x?y").as_deref(), Some("/x?y"));
        assert_eq!(path("http://host:80").as_deref(), Some("/"));
        assert_eq!(path("//other/x"), None);
        assert_eq!(path("http://host:8080/x"), None);
        assert_eq!(path("https://host:80/x"), None);
        assert_eq!(same_server_path("https://host/x", "https://", "host").as_deref(), Some("/x"));
    }

    #[test]
    fn other_protocols_are_guessed_from_their_first_bytes() {
        assert!(guess(&[0x15, 3, 1, 0, 2]).contains("TLS"));
        assert!(guess(b"SSH-2.0-x").contains("SSH"));
        assert!(guess(b"220 mail").contains("other"));
    }
}
