//! Sockets of this very process, which are counted by the kernel.

use lab::decide::decide_watched;
use model::{Address, Phase, Sample};
use observe::Observer;
use rustix::time::{ClockId, clock_gettime};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixListener};

/// CPU time a sample may take in a test build: one a second then costs 1 % of one CPU. Half of it is the kernel's, which
/// walks through a table of sockets as large as the machine's memory allows; `cargo xtask sampler` measures the program itself.
const LOOK_CPU_NS: u64 = 10_000_000;

fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    (listener, address)
}

fn connect(address: SocketAddr, n: usize) -> Vec<TcpStream> {
    (0..n).map(|_| TcpStream::connect(address).expect("it listens")).collect()
}

#[track_caller]
fn states(sample: &Sample) -> (u64, u64, u64) {
    let sockets = sample.sockets.as_ref().unwrap_or_else(|| panic!("{:?}", sample.unavailable));
    let server = sockets.server.as_ref().expect("it is here");
    let of = |states: &std::collections::BTreeMap<String, u64>| states.get("established").copied().unwrap_or(0);
    (of(server), of(&sockets.client), sockets.accept_queue.expect("it listens here"))
}

#[test]
fn both_ends_and_the_queue_before_them_are_counted() {
    let (listener, address) = listener();
    let mut observer = Observer::new(address, true, &[]);
    observer.start(0);
    // Connections of another server, whose ports are below and above.
    let others = [self::listener(), self::listener()];
    let _others: Vec<_> = others.iter().flat_map(|(_, address)| connect(*address, 2)).collect();
    let clients = connect(address, 5);
    let accepted: Vec<_> = (0..2).map(|_| listener.accept().expect("five have connected")).collect();
    assert_eq!(states(&observer.sample(1, Phase::Measure)), (5, 5, 3));
    drop(clients);
    let after = observer.sample(2, Phase::Measure);
    let server = after.sockets.as_ref().and_then(|sockets| sockets.server.as_ref()).expect("it is here");
    assert_eq!(server.get("close_wait"), Some(&5), "{after:?}");
    assert_eq!((after.from_ns, after.to_ns, accepted.len()), (1, 2, 2));
}

#[test]
fn connections_of_ipv4_to_a_listener_of_ipv6_are_counted() {
    let listener = TcpListener::bind("[::]:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let mut observer = Observer::new(address, true, &[]);
    let _clients = connect(address, 2);
    assert_eq!(states(&observer.sample(1, Phase::Measure)), (2, 2, 2));
}

#[test]
fn the_own_process_is_no_server() {
    let (_listener, address) = listener();
    let sample = Observer::new(address, true, &[]).sample(1, Phase::Measure);
    assert_eq!(sample.server, None);
    assert!(sample.unavailable["server"].contains("cannot be seen"), "{:?}", sample.unavailable);
}

#[test]
fn a_unix_socket_is_found_by_its_file_whatever_the_path() {
    let directory = tempfile::tempdir().expect("a directory");
    let [path, link] = ["a.sock", "b.sock"].map(|name| directory.path().join(name));
    let unix_listener = UnixListener::bind(&path).expect("a free path");
    std::os::unix::fs::symlink(&path, &link).expect("a link");
    let mut observer = Observer::new(Address::Unix(link), true, &[]);
    let sample = observer.sample(1, Phase::Measure);
    // It listens, in this very process, which is no server.
    let why = &sample.unavailable["server"];
    assert!(why.contains("b.sock") && why.contains("cannot be seen"), "{why}");
    assert_eq!(sample.sockets, None);
    assert!(sample.unavailable["sockets"].contains("Unix socket"), "{:?}", sample.unavailable);
    assert!(sample.machine.is_some() && sample.generator.is_some());
    drop(unix_listener);
    let sample = observer.sample(2, Phase::Measure);
    assert!(sample.unavailable["server"].contains("no process"), "{:?}", sample.unavailable);
}

#[test]
fn a_socket_in_the_abstract_namespace_is_found_by_its_name() {
    let name = format!("plimsoll-observed-{}", std::process::id());
    let at = UnixAddress::from_abstract_name(&name).expect("a short name");
    let listener = UnixListener::bind_addr(&at).expect("nobody else has the name");
    let mut observer = Observer::new(Address::Unix(format!("@{name}").into()), true, &[]);
    let why = observer.sample(1, Phase::Measure).unavailable["server"].clone();
    // It listens, in this very process, which is no server.
    assert!(why.contains(&name) && why.contains("cannot be seen"), "{why}");
    drop(listener);
    let why = observer.sample(2, Phase::Measure).unavailable["server"].clone();
    assert!(why.contains("no process"), "{why}");
}

#[test]
fn what_is_not_there_is_none_with_a_reason_that_is_said_once() {
    let (listener, address) = listener();
    drop(listener);
    let mut observer = Observer::new(address, true, &[]);
    let sample = observer.sample(1, Phase::Warmup);
    assert_eq!(sample.server, None);
    let why = &sample.unavailable["server"];
    assert!(
        why.contains("no process in this network namespace listens") && why.contains(&address.to_string()),
        "{why}"
    );
    assert!(observer.sample(2, Phase::Warmup).unavailable.is_empty());

    let mut remote = Observer::new(address, false, &[]);
    let sample = remote.sample(1, Phase::Measure);
    assert_eq!(sample.unavailable["server"], "the server is not on this machine");
    let sockets = sample.sockets.expect("the clients' ends are here");
    assert_eq!((sockets.server, sockets.accept_queue), (None, None));
    assert!(sample.machine.is_some() && sample.generator.is_some());
}

#[test]
fn a_look_is_cheap() {
    decide_watched(|| {
        let (_listener, address) = listener();
        let _clients = connect(address, 64);
        let mut observer = Observer::new(address, true, &[]);
        observer.start(0);
        let cpu_ns = || {
            let time = clock_gettime(ClockId::ThreadCPUTime);
            time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
        };
        // The least of a few, as others share this machine's caches.
        let least = (1..=10).map(|i| {
            let before = cpu_ns();
            assert!(observer.sample(i, Phase::Measure).sockets.is_some());
            cpu_ns() - before
        });
        let least = least.min().expect("ten looks");
        assert!(least < LOOK_CPU_NS, "a look took {least} ns of CPU");
    });
}
