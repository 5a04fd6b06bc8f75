//! Looks at the target before anything is measured: a few fetches, one after the other, over blocking sockets.

mod advice;
mod burst;
mod dialogue;
mod error;
mod http_traits;
mod line;

use crate::fnv::Fnv1a;
use crate::source::{Scratch, Source, Style};
use crate::tls::Config;
pub use burst::burst;
use clock::Clock;
use dialogue::{Dialogue, Loss};
pub use error::ProbeError;
pub use http_traits::http_traits;
use model::{Address, Body, Coded, Fetch, Numbering, Probe, Protocol, Request};
use std::io::ErrorKind;
use std::time::Duration;
use wire::http1::{ClientError, Expect, ResponseSink};
use wire::tls::TlsError;

/// Redirects followed to tell where they lead.
const REDIRECTS_MAX: usize = 5;
/// A smaller body is in one packet with its headers, compressed or not.
const COMPRESSED_MIN_BYTES: u64 = 1400;
/// What all browsers take.
const TAKES_GZIP: (&str, &str) = ("Accept-Encoding", "gzip");
/// Parts of the content types that compress well.
const COMPRESSIBLE: [&str; 5] = ["text/", "json", "javascript", "xml", "svg"];
/// How long a body is awaited that may not come; ns.
const SURPLUS_WAIT_NS: u64 = 50_000_000;
/// Attempts to fetch something whose connection is refused, reset or closed without an answer: of a server that does so to
/// half of its connections, one fetch in 256 comes to nothing.
const FETCH_TRIES: u64 = 8;
/// Pause before the next of them.
const FETCH_PAUSE: Duration = Duration::from_millis(10);
/// First bytes of a body in which a refusal says why.
const TEXT_BYTES: usize = 1024;
/// How nginx (and the built-in target), Apache and Go say that their port speaks TLS.
const WANT_TLS: [&str; 3] = ["sent to HTTPS port", "speaking plain HTTP to an SSL-enabled", "HTTP request to an HTTPS"];
/// How nginx says that it wants to know who the client is.
const WANT_CLIENT_CERTIFICATE: &str = "No required SSL certificate was sent";

/// What to fetch, and how.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// Addresses to try, in order.
    pub addresses: &'a [Address],
    /// Value of the `Host` header.
    pub authority: &'a str,
    /// What is spoken there.
    pub protocol: Protocol,
    /// The request.
    pub request: &'a Request,
    /// What the fields of a template begin with.
    pub numbering: &'a Numbering,
    /// Seed of random fields.
    pub seed: u64,
    /// How to encrypt, if at all.
    pub tls: Option<&'a Config>,
    /// Requests that a connection is to carry at a time.
    pub streams: u32,
    /// True to ask once more as browsers do, which take a compressed body.
    pub asks_compressed: bool,
    /// Number of fetches, above 0.
    pub fetches: usize,
    /// Deadline of connecting, and of each fetch as a whole; ns.
    pub timeout_ns: u64,
}

/// What was done for a probe.
#[derive(Default)]
struct Tally {
    /// Requests that were sent.
    sent: u64,
    /// Fetches that were made again.
    again: u64,
}

/// Fetches the target; returns the address that answered and what it said.
///
/// # Errors
/// If any fetch fails: what cannot be fetched once alone cannot be measured under load.
pub fn probe(settings: &Settings<'_>) -> Result<(Address, Probe), ProbeError> {
    let address = reachable(settings)?;
    if settings.protocol == Protocol::FastCgi && settings.streams > 1 {
        check_multiplexing(settings, &address)?;
    }
    let request = std::slice::from_ref(settings.request);
    let source = Source::of(request, settings.style(), settings.numbering.clone(), settings.seed)?;
    let mut scratch = Scratch::default();
    let mut fetches = Vec::with_capacity(settings.fetches);
    let mut tally = Tally::default();
    for number in 0..settings.fetches.max(1) as u64 {
        fetches.push(fetch_again(settings, &address, source.bytes(0, number, &mut scratch), &mut tally)?);
    }
    let first = &fetches[0];
    let body = if fetches.iter().any(|f| f.size_bytes != first.size_bytes) {
        Body::ChangingSize
    } else if fetches.iter().any(|f| f.body_hash != first.body_hash) {
        Body::ChangingBytes
    } else {
        Body::Stable
    };
    let redirects = follow(settings, &address, first, &mut tally);
    let compressed = settings.asks_compressed_of(first).then(|| {
        let request = Request { headers: with_gzip(settings.request), ..settings.request.clone() };
        let request = std::slice::from_ref(&request);
        let source = Source::of(request, settings.style(), settings.numbering.clone(), settings.seed).ok()?;
        // Not the number of another fetch.
        let bytes = source.bytes(0, settings.fetches.max(1) as u64, &mut scratch);
        fetch_coded(settings, &address, bytes, &mut tally).ok().filter(|(fetch, _)| fetch.status == first.status)
    });
    let compressed = compressed.flatten().map(|(fetch, encoding)| Coded { encoding, size_bytes: fetch.size_bytes });
    Ok((address, Probe { fetches, body, redirects, compressed, sent: Some(tally.sent), again: tally.again }))
}

/// The headers of a request that takes what browsers take.
fn with_gzip(request: &Request) -> Vec<(String, String)> {
    let takes = (TAKES_GZIP.0.to_owned(), TAKES_GZIP.1.to_owned());
    request.headers.iter().cloned().chain([takes]).collect()
}

/// The first address that accepts a connection.
fn reachable(settings: &Settings<'_>) -> Result<Address, ProbeError> {
    let mut refusals = Vec::new();
    for address in settings.addresses {
        match Dialogue::connect(address, settings.style(), settings.timeout_ns) {
            Ok(_) => return Ok(address.clone()),
            Err(error) => refusals.push((address, plain(&error, address))),
        }
    }
    Err(if refusals.is_empty() { ProbeError::NoAddress } else { ProbeError::no_connection(&refusals) })
}

/// Refuses several requests at a time on a connection to an application that takes one.
fn check_multiplexing(settings: &Settings<'_>, address: &Address) -> Result<(), ProbeError> {
    let mut dialogue = connect(address, settings.style(), settings.timeout_ns)?;
    let multiplexes = dialogue.ask_multiplexing(settings.timeout_ns).map_err(|loss| match loss {
        Loss::Io(error) => no_answer(error, address, "did not say whether it multiplexes", settings.timeout_ns),
        Loss::Http(error) => broken(address, error, dialogue.first()),
    })?;
    let reason = "the application takes one request at a time on a connection (FCGI_MPXS_CONNS); leave out --pipeline";
    if multiplexes { Ok(()) } else { Err(ProbeError::Wants { address: address.clone(), reason }) }
}

/// Follows redirects as long as they stay on the same server; others are only named, and so is that of a request that may
/// change something, which nobody has asked for at another place.
fn follow(settings: &Settings<'_>, address: &Address, first: &Fetch, tally: &mut Tally) -> Vec<String> {
    let told = |fetch: &Fetch| fetch.redirect().map(str::to_owned);
    let mut hops = Vec::new();
    let mut next = told(first);
    while let Some(location) = next.take() {
        let scheme = if settings.tls.is_some() { "https://" } else { "http://" };
        let path = same_server_path(&location, scheme, settings.authority).filter(|_| settings.request.is_safe());
        hops.push(location);
        if hops.len() < REDIRECTS_MAX {
            next = path.and_then(|path| told(&fetch_again(settings, address, &get(settings, &path), tally).ok()?));
        }
    }
    hops
}

/// The request for another path, as a template would not be filled in for it.
fn get(settings: &Settings<'_>, path: &str) -> Vec<u8> {
    let request = Request { path: path.into(), ..settings.request.clone() };
    let mut bytes = Vec::new();
    settings.style().write(&mut bytes, &request, &request.headers, &request.body);
    bytes
}

/// Path and query of a place on the same server; none of another server, and of what would not stay in a request line.
fn same_server_path(location: &str, scheme: &str, authority: &str) -> Option<String> {
    if location.contains(|c: char| c.is_ascii_control() || c == ' ') {
        return None;
    }
    // A part of the page is of no concern to the server.
    let location = location.split('#').next().unwrap_or_default();
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

impl Settings<'_> {
    const fn style(&self) -> Style<'_> {
        Style { protocol: self.protocol, authority: self.authority, keepalive: true, streams: 1 }
    }

    /// True if a browser may be sent another body than `first`, and asking harms nobody.
    fn asks_compressed_of(&self, first: &Fetch) -> bool {
        let kind = first.content_type.as_deref().unwrap_or_default().to_ascii_lowercase();
        let has_own = self.request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(TAKES_GZIP.0));
        self.asks_compressed
            && self.protocol != Protocol::FastCgi
            && self.request.method == "GET"
            && !has_own
            && first.status == 200
            && first.size_bytes >= COMPRESSED_MIN_BYTES
            && COMPRESSIBLE.iter().any(|part| kind.contains(part))
    }
}

fn connect(address: &Address, style: Style<'_>, timeout_ns: u64) -> Result<Dialogue, ProbeError> {
    Dialogue::connect(address, style, timeout_ns)
        .map_err(|error| ProbeError::no_connection(&[(address, plain(&error, address))]))
}

/// Fetches on one connection after the other, until one has an answer or is no reason to try another.
fn fetch_again(
    settings: &Settings<'_>,
    address: &Address,
    request: &[u8],
    tally: &mut Tally,
) -> Result<Fetch, ProbeError> {
    for _ in 1..FETCH_TRIES {
        match fetch(settings, address, request, tally) {
            Err(error) if error.is_worth_another_try() => tally.again += 1,
            outcome => return outcome,
        }
        std::thread::sleep(FETCH_PAUSE);
    }
    fetch(settings, address, request, tally)
}

fn fetch(settings: &Settings<'_>, address: &Address, request: &[u8], tally: &mut Tally) -> Result<Fetch, ProbeError> {
    fetch_coded(settings, address, request, tally).map(|(fetch, _)| fetch)
}

/// A response and its `Content-Encoding`.
fn fetch_coded(
    settings: &Settings<'_>,
    address: &Address,
    request: &[u8],
    tally: &mut Tally,
) -> Result<(Fetch, Option<String>), ProbeError> {
    let clock = Clock::start();
    let mut dialogue = connect(address, settings.style(), settings.timeout_ns)?;
    let connect_ns = clock.now_ns();
    let failed = |e, omitted| no_answer(e, address, omitted, settings.timeout_ns);
    dialogue.start_tls(settings.tls, settings.timeout_ns).map_err(|e| failed(e, "did not finish the TLS handshake"))?;
    let ready_ns = clock.now_ns();
    let mut seen = Seen::default();
    let expect = if settings.request.method == "HEAD" { Expect::NoBody } else { Expect::Body };
    tally.sent += 1;
    let outcome = dialogue.exchange(request, expect, settings.timeout_ns, &mut seen);
    let response = outcome.map_err(|loss| lost(loss, &mut dialogue, address, settings.timeout_ns))?;
    if response.status == 400
        && let Some(reason) = wanted(&seen.text, settings.tls.is_some())
    {
        return Err(ProbeError::Wants { address: address.clone(), reason });
    }
    let response_ns = clock.now_ns() - ready_ns;
    // Where a server may send none and has one, it often comes a moment later.
    let has_no_body = expect == Expect::NoBody || matches!(response.status, 204 | 304);
    let surplus_bytes = dialogue.surplus_bytes(if has_no_body { SURPLUS_WAIT_NS } else { 0 });
    let fetch = Fetch {
        status: response.status,
        size_bytes: response.body_bytes,
        content_type: seen.content_type,
        server: seen.server,
        location: seen.location,
        received_bytes: dialogue.received_bytes(),
        surplus_bytes,
        cached: seen.cached,
        body_hash: seen.hash.0,
        keepalive: response.keepalive,
        connect_ns,
        response_ns,
    };
    Ok((fetch, seen.encoding))
}

/// Longer headers are kept by their begin alone.
const HEADER_BYTES_MAX: usize = 2_000;

/// What the probe wants to know of a response beyond its frame.
#[derive(Default)]
struct Seen {
    content_type: Option<String>,
    server: Option<String>,
    location: Option<String>,
    encoding: Option<String>,
    /// The header by which a cache says that it has answered.
    cached: Option<String>,
    hash: Fnv1a,
    /// The first [`TEXT_BYTES`] of the body.
    text: Vec<u8>,
}

impl ResponseSink for Seen {
    const HEADERS: bool = true;

    fn header(&mut self, name: &[u8], value: &[u8]) {
        let field = match name {
            n if n.eq_ignore_ascii_case(b"content-type") => &mut self.content_type,
            n if n.eq_ignore_ascii_case(b"server") => &mut self.server,
            n if n.eq_ignore_ascii_case(b"location") => &mut self.location,
            n if n.eq_ignore_ascii_case(b"content-encoding") => &mut self.encoding,
            n if is_cache_hit(n, value) => {
                self.cached = Some(format!("{}: {}", kept(name), kept(value)));
                return;
            }
            _ => return,
        };
        *field = Some(kept(value));
    }

    fn body(&mut self, bytes: &[u8]) {
        self.hash.add(bytes);
        let room = TEXT_BYTES.saturating_sub(self.text.len());
        self.text.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

/// The text of a header, which goes into results, pages and messages. The blank behind a long one keeps it from being taken for
/// a place that could be gone to.
fn kept(value: &[u8]) -> String {
    match value.get(..HEADER_BYTES_MAX) {
        None => String::from_utf8_lossy(value).into_owned(),
        Some(begin) => format!("{} ... ({} bytes)", String::from_utf8_lossy(begin), value.len()),
    }
}

/// True if a header says that the answer was kept by a cache: `Age` above 0, two numbers in `X-Varnish`, or a hit in
/// a header with `cache` in its name (`X-Cache`, `CF-Cache-Status`, `Cache-Status`, `X-FastCGI-Cache` ...).
fn is_cache_hit(name: &[u8], value: &[u8]) -> bool {
    let (name, value) = (name.to_ascii_lowercase(), String::from_utf8_lossy(value).to_ascii_lowercase());
    match name.as_slice() {
        b"age" => value.trim().parse::<u64>().is_ok_and(|age_s| age_s > 0),
        b"x-varnish" => value.split_whitespace().count() > 1,
        name => name.windows(5).any(|part| part == b"cache") && value.contains("hit"),
    }
}

/// Why there was no answer.
fn no_answer(error: std::io::Error, address: &Address, omitted: &str, timeout_ns: u64) -> ProbeError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<TlsError>()) {
        Some(tls) => {
            let tip = match tls {
                TlsError::UnknownIssuer => "; trust it with --ca-cert FILE, or measure it all the same with -k",
                other if other.is_certificate() => "; to measure it all the same, add -k",
                _ => "",
            };
            ProbeError::Tls { address: address.clone(), error: tls.clone(), tip }
        }
        None => ProbeError::Silent {
            address: address.clone(),
            reason: silence(&error, address, omitted, timeout_ns),
            is_dropped: matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe),
        },
    }
}

/// Why there was no answer to a request that was sent.
fn lost(loss: Loss, dialogue: &mut Dialogue, address: &Address, timeout_ns: u64) -> ProbeError {
    match loss {
        Loss::Http(error) => broken(address, error, dialogue.first()),
        Loss::Io(error) => {
            let is_late = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
            match no_answer(error, address, "sent no complete answer", timeout_ns) {
                ProbeError::Silent { address, reason, is_dropped } if is_late => {
                    let missing = advice::missing(dialogue.end());
                    ProbeError::Silent { address, reason: reason + &missing, is_dropped }
                }
                other => other,
            }
        }
    }
}

fn broken(address: &Address, error: ClientError, first: &[u8]) -> ProbeError {
    let address = address.clone();
    match error {
        ClientError::NotHttp => ProbeError::NotHttp { address, guess: guess(first), shown: printable(first) },
        ClientError::ClosedBeforeResponse => {
            ProbeError::Silent { address, reason: "closed it without an answer".into(), is_dropped: true }
        }
        _ => ProbeError::Broken { address, error, detail: advice::of(error) },
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

/// What a server that answers 400 wants instead, if it says so.
fn wanted(body: &[u8], tls: bool) -> Option<&'static str> {
    let text = String::from_utf8_lossy(body);
    if tls {
        let certificate = text.contains(WANT_CLIENT_CERTIFICATE);
        return certificate.then_some("it demands a client certificate, and plimsoll has none to show");
    }
    let https = WANT_TLS.iter().any(|words| text.contains(words));
    https.then_some("this port wants https; write https:// in the URL")
}

fn printable(bytes: &[u8]) -> String {
    format!("\"{}\"", bytes.escape_ascii())
}

fn silence(error: &std::io::Error, address: &Address, omitted: &str, timeout_ns: u64) -> String {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            format!("{omitted} within {}", model::Duration { ns: timeout_ns })
        }
        ErrorKind::ConnectionReset => "reset it".into(),
        _ => plain(error, address),
    }
}

/// The error in words, without the number the operating system gives it.
fn plain(error: &std::io::Error, address: &Address) -> String {
    let unix = matches!(address, Address::Unix(_));
    match error.kind() {
        ErrorKind::NotFound => "there is no such socket; has the server been started?".into(),
        ErrorKind::PermissionDenied if unix => "this user may not write to the socket".into(),
        ErrorKind::WouldBlock if unix => "its accept queue is full".into(),
        ErrorKind::ConnectionRefused => "connection refused; nothing listens there".into(),
        ErrorKind::TimedOut | ErrorKind::WouldBlock => "no answer within the timeout".into(),
        ErrorKind::NetworkUnreachable => "network unreachable".into(),
        ErrorKind::HostUnreachable => "host unreachable".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;
    use std::sync::mpsc::{Receiver, channel};

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
        assert_eq!([path("/x?y#part"), path("http://host:80#part")], [Some("/x?y".into()), Some("/".into())]);
        assert_eq!(path("#part"), None);
    }

    /// A server that answers `answer` to each request and tells its first line.
    fn answering(answer: &'static str) -> (Address, Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        let (tell, told) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut reader = BufReader::new(stream.unwrap());
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                // The first connection only finds out whether there is anybody.
                if line.is_empty() {
                    continue;
                }
                tell.send(line).unwrap();
                reader.get_mut().write_all(answer.as_bytes()).unwrap();
            }
        });
        (address, told)
    }

    /// Redirects that are found with `method`, and the first lines that the server has seen.
    fn followed(method: &str, answer: &'static str) -> (Probe, Vec<String>) {
        let (address, told) = answering(answer);
        let request = Request { method: method.into(), ..Request::get("/posts/5") };
        let settings = Settings {
            addresses: &[address],
            authority: "host",
            protocol: Protocol::Http1,
            request: &request,
            numbering: &Numbering::default(),
            seed: 1,
            tls: None,
            streams: 1,
            asks_compressed: false,
            fetches: 1,
            timeout_ns: 10 * model::NS_PER_S,
        };
        let (_, seen) = probe(&settings).unwrap();
        (seen, told.try_iter().collect())
    }

    /// `DELETE /posts` was sent where `DELETE /posts/5` was asked for, and `POST /items/42`.
    #[test]
    fn a_location_is_told_and_not_followed_for_requests_that_change_something() {
        const OTHER: &str = "HTTP/1.1 303 See Other\r\nLocation: /posts#top\r\nContent-Length: 0\r\n\r\n";
        const CREATED: &str = "HTTP/1.1 201 Created\r\nLocation: /items/42\r\nContent-Length: 0\r\n\r\n";
        let (seen, lines) = followed("DELETE", OTHER);
        assert_eq!((seen.redirects, lines), (vec!["/posts#top".into()], vec!["DELETE /posts/5 HTTP/1.1\r\n".into()]));
        let (seen, lines) = followed("POST", CREATED);
        assert_eq!(seen.fetches[0].location.as_deref(), Some("/items/42"));
        assert_eq!((seen.redirects.len(), lines), (0, vec!["POST /posts/5 HTTP/1.1\r\n".into()]));
        let (seen, lines) = followed("GET", OTHER);
        assert_eq!((seen.redirects.len(), lines.len()), (REDIRECTS_MAX, REDIRECTS_MAX));
        assert_eq!(lines[1], "GET /posts HTTP/1.1\r\n");
    }

    /// 60 kB of it were printed four times, and stored six times.
    #[test]
    fn a_location_without_an_end_is_cut_and_not_followed() {
        let long = format!("/{}", "x".repeat(60_000));
        let answer = format!("HTTP/1.1 302 Found\r\nLocation: {long}\r\nContent-Length: 0\r\n\r\n");
        let (seen, lines) = followed("GET", answer.leak());
        assert_eq!((seen.redirects.len(), lines.len()), (1, 1));
        assert!(seen.redirects[0].ends_with("x ... (60001 bytes)") && seen.redirects[0].len() < 2_100);
    }

    /// A bare carriage return ends no header line here, and for others a request line.
    #[test]
    fn a_location_does_not_get_out_of_the_request_line() {
        for location in ["/a\rX-Evil: 1", "/a\r", "/a b", "/a\tb", "/a\0", "http://host:80/x\r", "/\u{7f}"] {
            assert_eq!(same_server_path(location, "http://", "host:80"), None, "{location:?}");
        }
        assert_eq!(same_server_path("/ä", "http://", "host:80").as_deref(), Some("/ä"));
    }

    #[test]
    fn caches_say_so_in_several_ways() {
        let hit = |name: &str, value: &str| is_cache_hit(name.as_bytes(), value.as_bytes());
        for (name, value) in [
            ("Age", "12"),
            ("X-Varnish", "32770 3"),
            ("X-Cache", "HIT from proxy"),
            ("CF-Cache-Status", "HIT"),
            ("Cache-Status", "nginx; hit"),
        ] {
            assert!(hit(name, value), "{name}: {value}");
        }
        for (name, value) in
            [("Age", "0"), ("X-Varnish", "32770"), ("X-Cache", "MISS"), ("Cache-Control", "max-age=60"), ("Via", "hit")]
        {
            assert!(!hit(name, value), "{name}: {value}");
        }
    }

    #[test]
    fn a_server_that_says_what_it_wants_is_understood() {
        let nginx = b"<center>The plain HTTP request was sent to HTTPS port</center>";
        let apache = b"Reason: You're speaking plain HTTP to an SSL-enabled server port.<br />";
        let go = b"Client sent an HTTP request to an HTTPS server.\n";
        for text in [&nginx[..], apache, go] {
            assert!(wanted(text, false).is_some_and(|reason| reason.contains("this port wants https")));
            assert_eq!(wanted(text, true), None);
        }
        let unknown = b"<center>No required SSL certificate was sent</center>";
        assert!(wanted(unknown, true).is_some_and(|reason| reason.contains("client certificate")));
        assert_eq!(wanted(b"bad request", false), None);
    }

    #[test]
    fn trouble_with_a_unix_socket_is_told_in_its_own_words() {
        let unix = Address::Unix("/x".into());
        for (kind, words) in [
            (ErrorKind::NotFound, "no such socket"),
            (ErrorKind::PermissionDenied, "may not write"),
            (ErrorKind::WouldBlock, "queue is full"),
            (ErrorKind::ConnectionRefused, "nothing listens"),
        ] {
            assert!(plain(&kind.into(), &unix).contains(words), "{kind:?}");
        }
        assert!(plain(&ErrorKind::WouldBlock.into(), &Address::Tcp(([127, 0, 0, 1], 1).into())).contains("timeout"));
    }

    #[test]
    fn other_protocols_are_guessed_from_their_first_bytes() {
        assert!(guess(&[0x15, 3, 1, 0, 2]).contains("TLS"));
        assert!(guess(b"SSH-2.0-x").contains("SSH"));
        assert!(guess(b"220 mail").contains("other"));
    }
}
