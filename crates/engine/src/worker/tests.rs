//! A load thread's loop, turn by turn, against sockets whose other end the test holds.

use super::*;
use crate::core::Pace;
use crate::schedule::Share;
use crate::source::{Source, Style};
use crate::window::UNDECIDED_NS;
use model::{NS_PER_S, Numbering, Protocol, Request};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::channel;

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
        keepalive: true,
        timeout_ns: SOON_NS,
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
fn counted(worker: &mut Worker, until_ns: u64) -> Vec<Box<WorkerTick>> {
    worker.core.turn(until_ns, &mut worker.sockets);
    std::iter::from_fn(|| worker.core.take_tick()).collect()
}

fn failures(ticks: &[Box<WorkerTick>], failure: Failure) -> u64 {
    ticks.iter().map(|tick| tick.tally.failures[failure.index()]).sum()
}

/// As long as a server sent faster than the thread read, nothing else was looked at.
#[test]
fn a_body_without_end_holds_up_neither_the_timeout_nor_other_connections() {
    let (listener, clock) = (listener(), Clock::start());
    let mut worker = worker(&listener, 2, None, &Request::get("/"));
    worker.buffer = vec![0; 512].into();
    assert_eq!(worker.open_all(clock).unwrap().0, 2);
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
