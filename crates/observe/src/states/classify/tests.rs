//! Calls and what they count as, with descriptors made up.

use super::*;
use std::collections::BTreeMap;

/// A process of which all that is looked up is given.
#[derive(Default)]
struct Given {
    ends: BTreeMap<i32, End>,
    polled: Option<Vec<i32>>,
    watched: Option<Vec<i32>>,
    letter: Option<char>,
    reader: Option<String>,
}

impl Lookup for Given {
    fn end(&mut self, fd: i32) -> End {
        self.ends.get(&fd).cloned().unwrap_or(End::Unknown)
    }

    fn reader(&mut self, _: i32) -> Option<String> {
        self.reader.clone()
    }

    fn polled(&mut self, _: &Call) -> Option<Vec<i32>> {
        self.polled.clone()
    }

    fn watched(&mut self, _: &Call) -> Option<Vec<i32>> {
        self.watched.clone()
    }

    fn letter(&mut self) -> char {
        self.letter.unwrap_or(SLEEPS)
    }

    fn is_static(&mut self, address: u64) -> bool {
        address < 0x1000
    }
}

/// Where the stacks of all threads end.
const STACK: u64 = 0x7fff_0000;

const ANY: Worker = Worker { style: Style::Any, leads: false, talks: false };
const FPM: Worker = Worker { style: Style::Fpm, leads: false, talks: false };
const DATABASE: Worker = Worker { style: Style::Connection, leads: false, talks: false };

const BACKEND: Worker = Worker { style: Style::Backend, leads: false, talks: false };

fn given() -> Given {
    let ends = [
        (3, End::Listener),
        (4, End::Client("nginx".into())),
        (5, End::Peer("mariadbd".into())),
        (6, End::Own),
        (7, End::Pipe),
        (8, End::File),
        (9, End::Client(String::new())),
    ];
    Given { ends: ends.into(), ..Given::default() }
}

fn call(name: &'static str, arguments: &[u64]) -> Call {
    let mut call = Call { name, arguments: [0; 6], stack: STACK };
    call.arguments[..arguments.len()].copy_from_slice(arguments);
    call
}

/// `idle`, or what it waits for.
#[track_caller]
fn told(worker: Worker, name: &'static str, arguments: &[u64]) -> String {
    words(classify(&call(name, arguments), worker, &mut given()).0)
}

fn words(state: State) -> String {
    match state {
        State::Idle => "idle".to_owned(),
        State::Blocked(on) => on,
    }
}

fn polling(worker: Worker, fds: &[i32]) -> String {
    let mut given = Given { polled: Some(fds.to_vec()), ..given() };
    words(classify(&call("poll", &[]), worker, &mut given).0)
}

/// All backends waited for one row, and their pool was idle.
#[test]
fn a_backend_that_watches_no_client_waits_for_another() {
    let epoll = |worker, watched: Option<&[i32]>| {
        let mut given = Given { watched: watched.map(<[i32]>::to_vec), ..given() };
        words(classify(&call("epoll_wait", &[10]), worker, &mut given).0)
    };
    assert_eq!(epoll(BACKEND, Some(&[6, 7, 4])), "idle", "its client, the latch and the postmaster");
    assert_eq!(epoll(BACKEND, Some(&[6, 7])), CONDITION);
    assert_eq!(epoll(BACKEND, None), "idle", "it is not shown");
    assert_eq!(epoll(ANY, Some(&[6, 7])), "idle", "the checkpointer");
    assert_eq!(epoll(DATABASE, Some(&[6, 7])), "idle", "MariaDB's pool of threads");
}

#[test]
fn who_waits_for_a_connection_is_idle() {
    for worker in [ANY, FPM, DATABASE] {
        assert_eq!(told(worker, "accept4", &[3]), "idle");
    }
    assert_eq!(told(ANY, "epoll_wait", &[6]), "idle", "an event loop");
    assert_eq!(polling(ANY, &[6, 3]), "idle");
    assert_eq!(polling(ANY, &[4, 5, 3]), "idle", "a new connection would wake it");
    assert_eq!(polling(ANY, &[6]), "idle", "only what is its own");
    assert_eq!(told(ANY, "rt_sigsuspend", &[]), "idle");
}

#[test]
fn a_child_of_php_fpm_is_idle_in_accept_only() {
    assert_eq!(told(FPM, "epoll_wait", &[6]), "events");
    assert_eq!(told(FPM, "read", &[4]), "client nginx", "it has a connection and waits for its request");
    assert_eq!(told(FPM, "recvfrom", &[5]), "mariadbd");
    assert_eq!(polling(FPM, &[5]), "mariadbd");
    assert_eq!(told(FPM, "clock_nanosleep", &[]), "sleep");
    assert_eq!(told(FPM, "wait4", &[]), "child");
    assert_eq!(told(FPM, "read", &[7]), "pipe");
    assert_eq!(told(FPM, "futex", &[0x7f00_0000, 128, 2]), "lock");
}

#[test]
fn clients_occupy_workers_but_no_threads_of_a_database() {
    assert_eq!(told(ANY, "recvfrom", &[9]), "client", "a client that cannot be named");
    assert_eq!(told(ANY, "sendto", &[4]), "client nginx");
    assert_eq!(told(DATABASE, "recvfrom", &[4]), "idle");
    assert_eq!(polling(DATABASE, &[4]), "idle");
    assert_eq!(told(DATABASE, "recvfrom", &[5]), "mariadbd", "but what it asks others for does");
}

#[test]
fn waiting_for_other_threads_is_idle_where_it_is_for_work() {
    let parked = [0x7f00_0000, 137, 0];
    assert_eq!(told(ANY, "futex", &parked), "idle");
    assert_eq!(told(ANY, "futex", &[0x7f00_0000, 128, u64::from(u32::MAX)]), "idle", "parked, in Rust");
    let talks = Worker { talks: true, ..DATABASE };
    assert_eq!(told(talks, "futex", &parked), "condition", "another has the row");
    assert_eq!(told(DATABASE, "futex", &parked), "idle", "one that never had a client");
    assert_eq!(told(talks, "futex", &[0x800, 137, 0]), "idle", "kept for the next connection");
    assert_eq!(told(DATABASE, "futex", &[STACK + 0x200, 137, 0]), "condition", "a time is to pass");
    assert_eq!(told(ANY, "futex", &[STACK + 0x200, 137, 0]), "idle", "parked by its runtime");
    assert_eq!(told(Worker { leads: true, ..talks }, "futex", &parked), "idle");
    assert_eq!(told(DATABASE, "futex", &[0x800, 128, 0x8000_0001]), "lock");
    let apache = Worker { style: Style::Apache, leads: false, talks: false };
    assert_eq!(told(apache, "futex", &[0x7f00_0000, 0, 0x8000_0123]), "idle", "its turn to accept will come");
    assert_eq!(told(apache, "futex", &[0x7f00_0000, 128, 2]), "lock");
    assert_eq!((told(apache, "semop", &[]), told(ANY, "semop", &[])), ("idle".into(), "lock".into()));
}

#[test]
fn disks_are_told_by_the_letter() {
    let mut disk = Given { letter: Some('D'), ..given() };
    for (name, arguments) in [("pread64", &[8][..]), ("openat", &[]), (NO_CALL, &[]), ("io_getevents", &[])] {
        let seen = classify(&call(name, arguments), ANY, &mut disk);
        assert_eq!(seen, (State::Blocked("disk".into()), 'D'), "{name}");
    }
    let mapping = classify(&call("mmap", &[]), ANY, &mut disk);
    assert_eq!(mapping, (State::Blocked("memory".into()), 'D'), "that is a lock");
    assert_eq!(told(ANY, "read", &[8]), "file");
    assert_eq!(told(ANY, "openat", &[]), "openat", "a call that is not known to wait is told by its name");
    assert_eq!(told(ANY, "io_getevents", &[]), "idle");
}

#[test]
fn what_cannot_be_told_apart_is_not_idle() {
    assert_eq!(told(ANY, "recvfrom", &[99]), "socket");
    assert_eq!(told(ANY, "poll", &[]), "socket", "its memory is not shown");
    assert_eq!(polling(ANY, &[]), "sleep", "a time is all it waits for");
}

#[test]
fn the_first_of_many_threads_waits_for_its_orders() {
    assert_eq!(told(Worker { leads: true, ..ANY }, "read", &[7]), "idle");
}

/// gunicorn's access log went to a pipe that was read at 20 kB/s: its workers waited for "pipe", and nobody said whose.
#[test]
fn a_pipe_that_is_full_is_told_with_its_reader() {
    assert_eq!(told(ANY, "write", &[7]), "full pipe");
    let mut read = Given { reader: Some("logger".into()), ..given() };
    assert_eq!(words(classify(&call("writev", &[7]), ANY, &mut read).0), "full pipe to logger");
    assert_eq!(words(classify(&call("read", &[7]), ANY, &mut read).0), "pipe", "who reads waits for its writer");
    let leads = Worker { leads: true, ..ANY };
    assert_eq!(words(classify(&call("write", &[7]), leads, &mut read).0), "full pipe to logger");
}
