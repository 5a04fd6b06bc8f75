//! The kernel's counters, as this test moves and reads them itself.

use model::{Address, Phase};
use observe::Observer;
use rustix::net::{AddressFamily, SocketType, bind, listen, socket};
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// A counter of `/proc/net/netstat`.
#[track_caller]
fn tcp_ext(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/net/netstat").expect("this kernel counts");
    let mut lines = text.lines().filter(|line| line.starts_with("TcpExt:"));
    let (names, values) = (lines.next().expect("names"), lines.next().expect("values"));
    let pair = names.split_whitespace().zip(values.split_whitespace()).find(|(theirs, _)| *theirs == name);
    pair.expect("it is counted").1.parse().expect("a number")
}

#[test]
fn a_full_accept_queue_is_seen_and_what_it_drops_is_counted() {
    let backlog = 2;
    let (listener, address) = listening_with(backlog);
    let mut observer = Observer::new(address, true, &[]);
    let before = tcp_ext("ListenOverflows");
    observer.start(0);
    // The kernel lets one more in than the backlog says. Who comes then gets no answer.
    let open = || TcpStream::connect_timeout(&address, Duration::from_millis(200));
    let inside: Vec<_> = (0..=backlog).map(|_| open().expect("there is room")).collect();
    assert!(open().is_err(), "the queue is full");
    let sample = observer.sample(1, Phase::Measure);
    let sockets = sample.sockets.expect("they are here");
    assert_eq!(sockets.accept_queue, Some(inside.len() as u64));
    assert_eq!((sockets.accept_backlog, sockets.accept_fullest), (Some(backlog as u64), Some(1.5)));
    let told = sample.kernel.counters["tcp"]["ListenOverflows"];
    assert!(told >= 1 && told <= tcp_ext("ListenOverflows") - before, "{told}");
    drop(listener);
    let own = sample.kernel.counters["listener"]["dropped_connects"];
    assert!(own >= 1 && own <= tcp_ext("ListenDrops"), "{own}");
}

/// Another server's queue that overflowed was held against the target, whose own was never full.
#[test]
fn what_the_queue_of_another_server_drops_is_not_counted_for_the_target() {
    let (target, address) = listening_with(16);
    let (other, crowded) = listening_with(1);
    let mut observer = Observer::new(address, true, &[]);
    observer.start(0);
    let open = |address| TcpStream::connect_timeout(&address, Duration::from_millis(200));
    let inside: Vec<_> = (0..=1).map(|_| open(crowded).expect("there is room")).collect();
    assert!(open(crowded).is_err(), "the other's queue is full");
    let sample = observer.sample(1, Phase::Measure);
    assert!(sample.kernel.counters["tcp"]["ListenOverflows"] >= 1);
    assert_eq!(sample.kernel.counters["listener"]["dropped_connects"], 0);
    drop((target, other, inside));
}

fn listening_with(backlog: i32) -> (TcpListener, SocketAddr) {
    let endpoint = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
    bind(&endpoint, &SocketAddr::from(([127, 0, 0, 1], 0))).expect("a free port");
    listen(&endpoint, backlog).expect("it listens");
    let listener = TcpListener::from(endpoint);
    let address = listener.local_addr().expect("it is bound");
    (listener, address)
}

#[test]
fn bytes_through_an_interface_are_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let mut client = TcpStream::connect(address).expect("it listens");
    let (mut server, _) = listener.accept().expect("one has connected");
    let mut observer = Observer::new(address, true, &[]);
    observer.start(0);
    let reader = std::thread::spawn(move || std::io::copy(&mut server, &mut std::io::sink()).expect("it reads"));
    client.write_all(&vec![b'x'; 3_000_000]).expect("it is read");
    drop(client);
    assert_eq!(reader.join().expect("it has read"), 3_000_000);
    let sample = observer.sample(1, Phase::Measure);
    let loopback = &sample.kernel.counters["nic/lo"];
    assert!(loopback["received_bytes"] >= 3_000_000 && loopback["sent_bytes"] >= 3_000_000, "{loopback:?}");
    assert!(sample.kernel.counters["tcp"]["InSegs"] > 40, "at most 64 KiB each: {:?}", sample.kernel.counters["tcp"]);
    assert!(sample.kernel.counters["softnet"]["processed"] > 40);
}

#[test]
fn every_part_has_figures_or_a_reason() {
    let mut observer = Observer::new(Address::Unix("/nothing/listens/here".into()), true, &[]);
    observer.start(0);
    let sample = observer.sample(1, Phase::Measure);
    let has = |part: &str| {
        let is_of = |name: &&String| name.split('/').next() == part.split('/').next() && name.starts_with(part);
        let known = sample.kernel.counters.keys().chain(sample.kernel.gauges.keys()).find(is_of).is_some();
        known != sample.unavailable.contains_key(part)
    };
    let parts =
        ["tcp", "udp", "ip", "sockstat", "softnet", "conntrack", "pressure/cpu", "pressure/memory", "pressure/io"];
    let more = ["memory", "paging", "cgroup/generator", "cgroup/server", "frequency", "throttling", "nic", "disk"];
    for part in parts.into_iter().chain(more) {
        assert!(has(part), "{part}: {:?} {:?}", sample.kernel, sample.unavailable);
    }
}
