//! Looks whether a service is up.

mod fastcgi;
mod listener;

use crate::layout::{Body, Endpoint, Layout, Ready};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt};
use rustls::crypto::ring;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::tls::TlsConfig;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

/// An answer that takes longer is none.
const ANSWER: Duration = Duration::from_secs(5);
/// So much of a page is looked at.
const PAGE_BYTES_MAX: u64 = 8 << 20;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// It is up.
    Ready,
    /// It is not up, and may still come.
    NotYet(String),
    /// It answers, but not what it should.
    Wrong(String),
}

/// Asks servers whether they are up.
pub(crate) struct Asker {
    agent: Agent,
    /// Who may answer: the folder of Unix sockets is the server's, which can put a link to another's there, and any user can
    /// listen at a port.
    uid: u32,
    /// The process whose descendants are the server.
    keeper: i32,
}

/// Finds the address of a server on the thread that asks: its URL has an address of this machine, for which ureq itself starts
/// a thread at each question, and panics where none can be started.
#[derive(Debug)]
struct OnThisThread;

impl Resolver for OnThisThread {
    fn resolve(&self, uri: &Uri, config: &Config, _timeout: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        DefaultResolver::default().resolve(uri, config, NextTimeout::default())
    }
}

impl Asker {
    /// Asks servers that run as the user `uid`, below the process `keeper`.
    pub(crate) fn new(uid: u32, keeper: i32) -> Self {
        // The load checks certificates; here the question is whether anybody answers.
        let provider = Arc::new(ring::default_provider());
        let tls = TlsConfig::builder().disable_verification(true).unversioned_rustls_crypto_provider(provider).build();
        let config = Config::builder()
            .tls_config(tls)
            .proxy(None)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_idle_connections(0)
            .timeout_global(Some(ANSWER))
            .build();
        Self { agent: Agent::with_parts(config, DefaultConnector::default(), OnThisThread), uid, keeper }
    }

    pub(crate) fn look(&self, ready: &Ready, layout: &Layout) -> Look {
        match (self.ask(ready, layout), address(ready, layout)) {
            (Look::Ready, Some(address)) => match listener::stranger(address, self.uid, self.keeper) {
                None => Look::Ready,
                Some(uid) => {
                    Look::Wrong(format!("does not answer at {address}: another user (uid {uid}) listens there"))
                }
            },
            (look, _) => look,
        }
    }

    fn ask(&self, ready: &Ready, layout: &Layout) -> Look {
        match ready {
            Ready::Endpoint => match &layout.endpoint {
                Some(Endpoint::Http { url }) => self.http(url, layout.body.as_ref()),
                Some(Endpoint::FastCgi { url, socket, script }) => {
                    self.fastcgi(url, socket, script, layout.body.as_ref())
                }
                Some(Endpoint::Socket { path }) => not_yet(self.connect(path).map(drop)),
                None => Look::Ready,
            },
            Ready::Page(url) => self.http(url, None),
            Ready::Port(port) => not_yet(TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).map(drop)),
            Ready::Socket(path) => not_yet(self.connect(path).map(drop)),
            Ready::Redis(path) => self.said(path, b"PING\r\n", |answer| answer.starts_with(b"+PONG")),
            // The first packet of a server is its greeting: three bytes of length, a number, and version 10 of the protocol.
            Ready::Mysql(path) => self.said(path, b"", |answer| answer.get(4) == Some(&10)),
        }
    }

    /// A connection to a Unix socket of the server. It does not wait for a place in a queue that is full.
    fn connect(&self, path: &Path) -> io::Result<UnixStream> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect(&socket, &SocketAddrUnix::new(path)?)?;
        if sockopt::socket_peercred(&socket)?.uid.as_raw() != self.uid {
            return Err(io::Error::other("another user than the server's answers there"));
        }
        let stream = UnixStream::from(socket);
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(ANSWER))?;
        stream.set_write_timeout(Some(ANSWER))?;
        Ok(stream)
    }

    fn said(&self, path: &Path, question: &[u8], is_right: impl Fn(&[u8]) -> bool) -> Look {
        let ask = || -> io::Result<Vec<u8>> {
            let mut stream = self.connect(path)?;
            stream.write_all(question)?;
            let mut buffer = [0; 64];
            let length = stream.read(&mut buffer)?;
            Ok(buffer[..length].to_vec())
        };
        match ask() {
            Ok(answer) if is_right(&answer) => Look::Ready,
            Ok(answer) => Look::NotYet(format!("it says {:?}", String::from_utf8_lossy(&answer))),
            Err(error) => Look::NotYet(error.to_string()),
        }
    }

    /// The answer of a FastCGI application to a GET of `script`.
    fn fastcgi(&self, url: &str, socket: &Path, script: &str, body: Option<&Body>) -> Look {
        let answer = self.connect(socket).and_then(|stream| fastcgi::get(stream, script, PAGE_BYTES_MAX));
        match answer {
            Err(error) => Look::NotYet(error.to_string()),
            Ok((200, found)) => body.map_or(Look::Ready, |body| of_body(url, &found, body)),
            Ok((status, _)) if status >= 500 => Look::NotYet(format!("answers {status}")),
            Ok((status, _)) => Look::Wrong(format!("answers {status} for {url}")),
        }
    }

    fn http(&self, url: &str, body: Option<&Body>) -> Look {
        let mut answer = match self.agent.get(url).call() {
            Ok(answer) => answer,
            Err(error) => return Look::NotYet(error.to_string()),
        };
        let status = answer.status().as_u16();
        if status >= 500 {
            return Look::NotYet(format!("answers {status}"));
        }
        if status != 200 {
            let location = answer.headers().get("location").and_then(|value| value.to_str().ok());
            let to = location.map(|location| format!(", a redirect to {location}")).unwrap_or_default();
            return Look::Wrong(format!("answers {status} for {url}{to}"));
        }
        let Some(body) = body else { return Look::Ready };
        let most = match body {
            Body::Is(bytes) => bytes.len() as u64 + 1,
            Body::Holds(_) => PAGE_BYTES_MAX,
        };
        let mut found = Vec::new();
        match answer.body_mut().as_reader().take(most).read_to_end(&mut found) {
            Err(error) => Look::NotYet(error.to_string()),
            Ok(_) => of_body(url, &found, body),
        }
    }
}

/// The address of this machine that is asked; none of a Unix socket.
fn address(ready: &Ready, layout: &Layout) -> Option<SocketAddr> {
    let of_url = |url: &str| {
        let uri: Uri = url.parse().ok()?;
        let ip: IpAddr = uri.host()?.trim_matches(['[', ']']).parse().ok()?;
        let by_scheme = if uri.scheme_str() == Some("https") { 443 } else { 80 };
        Some(SocketAddr::new(ip, uri.port_u16().unwrap_or(by_scheme)))
    };
    match (ready, &layout.endpoint) {
        (Ready::Endpoint, Some(Endpoint::Http { url })) | (Ready::Page(url), _) => of_url(url),
        (Ready::Port(port), _) => Some(SocketAddr::from((Ipv4Addr::LOCALHOST, *port))),
        _ => None,
    }
}

/// What the body of an answer with status 200 says.
fn of_body(url: &str, found: &[u8], expected: &Body) -> Look {
    match expected {
        Body::Is(bytes) if found == bytes => Look::Ready,
        Body::Is(bytes) => {
            Look::Wrong(format!("serves another body for {url} than it was given: {}", differs(found, bytes)))
        }
        Body::Holds(texts) => {
            let page = String::from_utf8_lossy(found);
            match texts.iter().find(|text| !page.contains(text.as_str())) {
                None => Look::Ready,
                Some(text) => Look::Wrong(format!("answers 200 for {url} without {text:?} in it: {}", excerpt(&page))),
            }
        }
    }
}

/// What a page says, for people: the error in it, if it has one that PHP has written, or else its end, or its begin where it
/// is whole.
fn excerpt(page: &str) -> String {
    const SHOWN_CHARS: usize = 200;
    const ERRORS: [&str; 3] = ["Fatal error", "Parse error", "Error establishing"];
    let text = text_of(page);
    if text.is_empty() {
        return format!("it has {} bytes and no text", page.len());
    }
    if let Some(at) = ERRORS.iter().find_map(|error| text.find(error)) {
        return format!("it says {:?}", text[at..].chars().take(SHOWN_CHARS).collect::<String>());
    }
    if page.contains("</html>") {
        return format!("it begins with {:?}", text.chars().take(SHOWN_CHARS).collect::<String>());
    }
    let from = text.char_indices().rev().nth(SHOWN_CHARS).map_or(0, |(at, _)| at);
    format!("it ends with {:?}", &text[from..])
}

/// The text of a page without its elements, scripts and styles, on one line.
fn text_of(page: &str) -> String {
    let mut text = String::new();
    let mut rest = page;
    while let Some((before, element)) = rest.split_once('<') {
        text.push_str(before);
        let ends =
            ["script", "style"].iter().find(|name| element.starts_with(**name)).map_or(">", |name| match *name {
                "script" => "</script>",
                _ => "</style>",
            });
        rest = element.split_once(ends).map_or("", |(_, rest)| rest);
    }
    text.push_str(rest);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Where two bodies part, for people.
fn differs(found: &[u8], expected: &[u8]) -> String {
    let same = found.iter().zip(expected).take_while(|(a, b)| a == b).count();
    let more = if found.len() > expected.len() { "more than " } else { "" };
    let (length, begin) = (found.len().min(expected.len()), String::from_utf8_lossy(&found[..found.len().min(40)]));
    format!("{more}{length} bytes instead of {}, other from byte {same} on, beginning with {begin:?}", expected.len())
}

fn not_yet(result: io::Result<()>) -> Look {
    result.map_or_else(|error| Look::NotYet(error.to_string()), |()| Look::Ready)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::geteuid;
    use std::os::unix::net::UnixListener;

    #[test]
    fn an_error_of_php_with_status_200_is_told() {
        let expected = Body::Holds(vec!["</html>".into(), "Post 50".into()]);
        let of = |page: &str| of_body("/", page.as_bytes(), &expected);
        assert_eq!(of("<html><h2>Post 50</h2></html>"), Look::Ready);
        let broken = "<html><title>Site</title>\n<br />\n<b>Fatal error</b>:  Uncaught Error: no\n such thing in a.php";
        let said = "answers 200 for / without \"</html>\" in it: it says \"Fatal error: Uncaught Error: no such thing in a.php\"";
        assert_eq!(of(broken), Look::Wrong(said.into()));
        let Look::Wrong(said) = of("<html><script>a < b;</script><p>half a page</p>") else { panic!("it has no end") };
        assert!(said.ends_with("it ends with \"half a page\""), "{said}");
        let Look::Wrong(said) = of("<html><body></body></html>") else { panic!("an empty page") };
        assert!(said.ends_with("without \"Post 50\" in it: it has 26 bytes and no text"), "{said}");
    }

    #[test]
    fn a_socket_of_another_user_is_not_written_to() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("redis.sock");
        let listener = UnixListener::bind(&path).expect("a socket");
        let ready = Ready::Redis(path);
        let other = Asker::new(geteuid().as_raw() + 1, 0).look(&ready, &Layout::default());
        assert_eq!(other, Look::NotYet("another user than the server's answers there".into()));
        let (mut stream, _) = listener.accept().expect("it was connected to");
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).expect("it was closed");
        assert_eq!(heard, b"");
        let answers = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("it is connected to");
            let mut question = [0; 6];
            stream.read_exact(&mut question).expect("it is asked");
            stream.write_all(b"+PONG\r\n").expect("it is read");
        });
        assert_eq!(Asker::new(geteuid().as_raw(), 0).look(&ready, &Layout::default()), Look::Ready);
        answers.join().expect("it has answered");
    }
}
