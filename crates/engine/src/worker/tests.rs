//! A load thread's loop, turn by turn, against sockets whose other end the test holds.

use super::*;
use crate::core::Pace;
use crate::schedule::Share;
use crate::source::{Source, Style};
use crate::window::UNDECIDED_NS;
use model::{Contract, NS_PER_S, Numbering, Protocol, Request};
use net::TlsStream;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::channel;
use wire::tls::{Connection, RECORD_BYTES, ServerConfig, ServerSettings, Settings};

/// What is to come on a loopback connection has come by then; ns.
const SOON_NS: u64 = 10 * NS_PER_S;

/// A load thread with `connections` to `listener`, in closed loop.
fn worker(listener: &TcpListener, connections: usize, tls: Option<Config>, request: &Request) -> Worker {
    let style = Style { protocol: Protocol::Http1, authority: "host", keepalive: true, streams: 1 };
    let source = Source::of(std::slice::from_ref(request), style, Numbering::default(), 1).unwrap();
    let job = Job {
        worker: 0,
        share: Share { index: 0, of: 1 },
        connections,
        beforehand: connections,
        source: Arc::new(source),
        pipeline: 1,
        pace: Pace::Closed,
        quota: None,
        warmup_quota: None,
        keepalive: true,
        timeout_ns: SOON_NS,
        slo_ns: None,
    };
    Worker::new(Setup {
        job,
        address: Address::Tcp(listener.local_addr().unwrap()),
        tls,
        cpu: None,
        open_timeout_ns: SOON_NS,
        spin_ns: 0,
        window: Arc::new(Window::new(0, UNDECIDED_NS)),
        opening: Arc::default(),
        marks: Arc::default(),
        progress: Arc::default(),
        out: channel().0,
        start: channel().1,
        used_ticks: channel().1,
    })
    .unwrap()
}

impl Worker {
    /// One turn that waits for something to happen.
    fn step(&mut self, clock: Clock) {
        let ready = self.sockets.wait(if self.unread.is_empty() { SOON_NS } else { 0 }).unwrap();
        self.handle_all(ready, clock);
    }
}

fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").unwrap()
}

/// Reads from `peer` up to the end of a request's head.
fn take_head(peer: &mut impl Read) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        peer.read_exact(&mut byte).unwrap();
        head.extend_from_slice(&byte);
    }
}

/// What `worker` has counted until now, and is to count until `until_ns`.
fn counted(worker: &mut Worker, until_ns: u64) -> Vec<WorkerTick> {
    worker.core.turn(until_ns, &mut worker.sockets);
    std::iter::from_fn(|| worker.core.take_tick().map(|tick| *tick)).collect()
}

fn failures(ticks: &[WorkerTick], failure: Failure) -> u64 {
    ticks.iter().map(|tick| tick.tally.failures[failure.index()]).sum()
}

/// As long as a server sent faster than the thread read, nothing else was looked at.
#[test]
fn a_body_without_end_holds_up_neither_the_timeout_nor_other_connections() {
    let (listener, clock) = (listener(), Clock::start());
    let mut worker = worker(&listener, 2, None, &Request::get("/"));
    worker.buffer = vec![0; 512].into();
    assert_eq!(worker.open_all(clock).unwrap().established, 2);
    let [mut endless, mut other] = [0, 1].map(|_| listener.accept().unwrap().0);
    worker.core.start(clock.now_ns(), &mut worker.sockets);
    take_head(&mut endless);
    take_head(&mut other);
    endless.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
    endless.write_all(&[b'x'; 60 * 1024]).unwrap();
    other.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
    let mut buffer = [0];
    while worker.core.good_so_far() == 0 {
        worker.step(clock);
        assert_eq!(worker.sockets.read(0, &mut buffer), Ok(Some(1)), "it has had its turn");
    }
    while !worker.unread.is_empty() {
        worker.step(clock);
    }
    assert_eq!(worker.sockets.read(0, &mut buffer), Ok(None), "all is read in the end");
    endless.write_all(&[b'x'; 60 * 1024]).unwrap();
    worker.step(clock);
    assert_eq!(worker.unread.len(), 1);
    let late_ns = clock.now_ns() + 2 * SOON_NS;
    worker.core.turn(late_ns, &mut worker.sockets);
    let ticks = counted(&mut worker, late_ns + NS_PER_S);
    assert_eq!(failures(&ticks, Failure::new(FailurePhase::Body, FailureKind::Timeout)), 1);
    assert!(worker.next_unread().is_none() && worker.unread.is_empty(), "its socket is closed");
}

/// 2026-01-01; certificates made in tests are valid much longer.
const NOW_S: u64 = 1_767_225_600;

/// How a client and a server speak TLS to each other.
fn tls() -> (Config, ServerConfig) {
    let rcgen::CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed(["host".to_owned()]).unwrap();
    let (chain, key_pem) = ([cert.der().to_vec()], signing_key.serialize_pem());
    let server = ServerSettings { chain: &chain, key_pem: key_pem.as_bytes(), alpn: &[], now_s: NOW_S };
    let client = Settings { host: "host", roots: None, alpn: &[], resumption: true, now_s: NOW_S };
    (Config::new(&client).unwrap(), ServerConfig::new(&server).unwrap())
}

/// `send.reset` was told in place of 413, which had come.
#[test]
fn an_early_answer_to_an_upload_is_heard_over_tls_too() {
    const TOO_LARGE: &[u8] = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let (listener, clock) = (listener(), Clock::start());
    let (client, server) = tls();
    let body = vec![b'x'; 16 * 1024 * 1024];
    let contract = Contract { status: Some(413), ..Contract::default() };
    let upload = Request { method: "POST".into(), body_bytes: body.len() as u64, body, contract, ..Request::get("/") };
    let mut worker = worker(&listener, 1, Some(client), &upload);
    let (refuse, refused) = channel();
    let serving = std::thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        // Else the answer waits for the receipt of the session tickets, and is dropped with the connection.
        socket.set_nodelay(true).unwrap();
        let mut stream = TlsStream::new(Connection::accept(&server).unwrap());
        let (mut incoming, mut plain) = ([0; 4096], [0; 4096 + RECORD_BYTES]);
        while !matches!(stream.read(&socket, &mut incoming, &mut plain).unwrap(), Some(1..)) {}
        // The client has sent what it can: the rest of the upload is unread when the connection is closed.
        refused.recv().unwrap();
        assert_eq!(stream.send(&socket, TOO_LARGE, false).unwrap(), TOO_LARGE.len());
        listener
    });
    assert_eq!(worker.open_all(clock).unwrap().established, 1);
    worker.core.start(clock.now_ns(), &mut worker.sockets);
    refuse.send(()).unwrap();
    let _listener = serving.join().unwrap();
    // A kernel that has other things to do brings the answer and the end after one another.
    for _ in 0..3 {
        if worker.core.good_so_far() == 0 {
            worker.step(clock);
        }
    }
    assert_eq!(worker.core.good_so_far(), 1);
}

/// Such connections were counted as open, and each failed a request.
#[test]
fn a_connection_closed_before_the_start_is_opened_again_and_fails_no_request() {
    let (listener, clock) = (listener(), Clock::start());
    let mut worker = worker(&listener, 2, None, &Request::get("/"));
    assert_eq!(worker.open_all(clock).unwrap().established, 2);
    let [kept, closed] = [0, 1].map(|_| listener.accept().unwrap().0);
    drop(closed);
    worker.forget_lost().unwrap();
    worker.core.start(clock.now_ns(), &mut worker.sockets);
    listener.set_nonblocking(true).unwrap();
    let (opened, _) = listener.accept().unwrap();
    for mut peer in [&kept, &opened] {
        take_head(&mut peer);
        peer.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
    }
    while worker.core.good_so_far() < 2 {
        worker.step(clock);
    }
    let ticks = counted(&mut worker, clock.now_ns() + 2 * NS_PER_S);
    assert_eq!(ticks.iter().map(|tick| tick.flow.failed).sum::<u64>(), 0);
}

#[test]
fn a_connection_closed_while_others_open_is_not_counted_as_open() {
    let (listener, clock) = (listener(), Clock::start());
    let mut worker = worker(&listener, 2, None, &Request::get("/"));
    let mut opening = OpenPhase::new(2);
    while let Some(conn) = opening.next(0) {
        assert_eq!(worker.core.open(conn, 0, &mut worker.sockets), Ok(Opening::Done));
        opening.succeeded(conn);
    }
    let [_kept, closed] = [0, 1].map(|_| listener.accept().unwrap().0);
    drop(closed);
    for i in 0..worker.sockets.wait(SOON_NS).unwrap() {
        let event = worker.sockets.event(i).unwrap();
        worker.handle_opening(event, &mut opening, clock);
    }
    assert_eq!((opening.established, opening.take_change()), (1, 1));
    assert_eq!(opening.failure.unwrap().to_string(), "connect.closed");
    assert!(!opening.is_over() && opening.next(u64::MAX) == Some(1), "it is opened again");
}
