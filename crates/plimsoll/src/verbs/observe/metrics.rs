//! The figures of now for Prometheus, over HTTP on loopback.
//!
//! One thread serves one connection after the other, each within a time: whoever else is on the machine can neither make it
//! start threads nor keep it for long.

use crate::exit::CommandError;
use crate::lock::hold;
use clock::monotonic_ns;
use model::NS_PER_S;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use wire::http1::{Length, Limits, Method, RequestSink, ResponseHead, Server, write_response_head};

const PATH: &str = "/metrics";
/// A connection is closed that has not asked, and taken its answer, within this time; ns.
const EXCHANGE_NS: u64 = NS_PER_S;
/// Requests are this short, and have no body.
const LIMITS: Limits = Limits { head_bytes: 16 << 10, headers: 100, body_bytes: 0, informational: 0 };
/// Pause when no connection can be accepted, such as without descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers until it is dropped.
pub(super) struct Metrics {
    address: SocketAddr,
    text: Arc<Mutex<String>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Metrics {
    /// Begins to answer at `address`, with nothing until there is something.
    pub(super) fn serve(address: SocketAddr) -> Result<Self, CommandError> {
        if !address.ip().is_loopback() {
            return Err(CommandError::usage(format!(
                "--prometheus {address} is not an address of loopback, and anybody could read what is there; write \
                 127.0.0.1:{} and let a proxy or Prometheus itself fetch it from there",
                address.port()
            )));
        }
        let listener = TcpListener::bind(address).and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) = listener
            .map_err(|error| CommandError::usage(format!("--prometheus: cannot listen on {address}: {error}")))?;
        let (text, stop) = (Arc::new(Mutex::new(String::new())), Arc::new(AtomicBool::new(false)));
        let thread = {
            let (text, stop) = (Arc::clone(&text), Arc::clone(&stop));
            Builder::new().name("prometheus".into()).spawn(move || answer_all(&listener, &text, &stop))
        };
        let thread =
            thread.map_err(|error| CommandError::usage(format!("--prometheus: cannot start a thread: {error}")))?;
        Ok(Self { address, text, stop, thread: Some(thread) })
    }

    pub(super) fn set(&self, text: String) {
        *hold(&self.text) = text;
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // A connection ends the wait for one. Without it, as others fill the queue, the thread ends with the program.
        if TcpStream::connect_timeout(&self.address, Duration::from_nanos(EXCHANGE_NS)).is_ok()
            && let Some(thread) = self.thread.take()
        {
            // One that has panicked has nothing more to say.
            let _ = thread.join();
        }
    }
}

fn answer_all(listener: &TcpListener, text: &Mutex<String>, stop: &AtomicBool) {
    loop {
        let accepted = listener.accept();
        if stop.load(Ordering::Relaxed) {
            return;
        }
        match accepted {
            // Who asked may have gone, or be too slow.
            Ok((mut stream, _)) => drop(exchange(&mut stream, text)),
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

/// Reads one request and answers it.
fn exchange(stream: &mut TcpStream, text: &Mutex<String>) -> io::Result<()> {
    let until_ns = monotonic_ns().saturating_add(EXCHANGE_NS);
    let (mut server, mut host) = (Server::new(LIMITS), Host::default());
    let mut buffer = [0; 4096];
    let answer = loop {
        stream.set_read_timeout(Some(left(until_ns)?))?;
        let n = match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => n,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        match server.receive(&buffer[..n], &mut host) {
            Ok(received) => {
                if let Some(request) = received.request {
                    break answer(request.method, server.target(), &host.0, text);
                }
            }
            Err(error) => break said(error.status(), &error.to_string()),
        }
    };
    let mut rest = &answer[..];
    while !rest.is_empty() {
        stream.set_write_timeout(Some(left(until_ns)?))?;
        match stream.write(rest) {
            Ok(n) => rest = &rest[n..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    stream.shutdown(Shutdown::Write)
}

/// The time left, never 0.
fn left(until_ns: u64) -> io::Result<Duration> {
    clock::left_until(until_ns).ok_or_else(|| ErrorKind::TimedOut.into())
}

/// Host of a request.
#[derive(Default)]
struct Host(Vec<u8>);

impl RequestSink for Host {
    const HEADERS: bool = true;

    fn header(&mut self, name: &[u8], value: &[u8]) {
        if name.eq_ignore_ascii_case(b"host") {
            self.0 = value.to_vec();
        }
    }
}

/// True if a request to this host means this machine by an address or as `localhost`. A browser that was led here by the name of
/// a site (DNS rebinding) sends that name, and a page of the site would read the answer.
fn is_this_machine(host: &[u8]) -> bool {
    let Ok(host) = str::from_utf8(host) else { return false };
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    }
    let name = host.split(':').next().unwrap_or_default();
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

fn answer(method: Method, target: &str, host: &[u8], text: &Mutex<String>) -> Vec<u8> {
    if !is_this_machine(host) {
        return said(421, &format!("this is not the host of the request; ask 127.0.0.1 or localhost for {PATH}"));
    }
    if !matches!(method, Method::Get | Method::Head) {
        return said(405, "there is nothing to change here");
    }
    if target.split('?').next() != Some(PATH) {
        return said(404, &format!("there is only {PATH}"));
    }
    let text = hold(text);
    let mut answer = head(200, report::CONTENT_TYPE, text.len());
    if method == Method::Get {
        answer.extend_from_slice(text.as_bytes());
    }
    answer
}

fn said(status: u16, line: &str) -> Vec<u8> {
    let mut answer = head(status, "text/plain; charset=utf-8", line.len() + 1);
    answer.extend_from_slice(line.as_bytes());
    answer.push(b'\n');
    answer
}

fn head(status: u16, content_type: &str, bytes: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let length = Length::Exact(bytes as u64);
    write_response_head(&mut out, &ResponseHead { status, content_type, length, keepalive: false, headers: &[] });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_leads_its_own_name_here_reads_nothing() {
        let text = Mutex::new("plimsoll_secret 1\n".to_owned());
        for host in ["127.0.0.1:9101", "127.0.0.1", "[::1]:9101", "[::1]", "localhost:9101", "LOCALHOST"] {
            let answer = String::from_utf8(answer(Method::Get, PATH, host.as_bytes(), &text)).unwrap();
            assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("plimsoll_secret 1\n"), "{host}: {answer}");
        }
        for host in ["evil.example:9101", "localhost.evil.example", "127.0.0.1.evil.example", "[evil", "", "\u{e9}"] {
            let answer = String::from_utf8(answer(Method::Get, PATH, host.as_bytes(), &text)).unwrap();
            assert!(answer.starts_with("HTTP/1.1 421 ") && !answer.contains("plimsoll_secret"), "{host}: {answer}");
        }
    }

    /// Each connection had a thread of its own, without an end.
    #[test]
    fn who_says_nothing_holds_up_the_others_for_a_bounded_time() {
        let metrics = Metrics::serve(([127, 0, 0, 1], 0).into()).map_err(|error| error.message).unwrap();
        metrics.set("a 1\n".into());
        let silent: Vec<_> = (0..2).map(|_| TcpStream::connect(metrics.address).unwrap()).collect();
        let mut asking = TcpStream::connect(metrics.address).unwrap();
        asking.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        // Without an end of the others' time it never came.
        asking.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\na 1\n"), "{answer}");
        drop((silent, metrics));
    }
}
