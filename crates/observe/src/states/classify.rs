//! Classification of a worker's state: running, waiting for work, or waiting for something else.

use super::call::{Call, NO_CALL};
use model::{FULL_PIPE, STOPPED};

/// What a moment counts as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Free to take work.
    Idle,
    /// Kept from going on, and by what.
    Blocked(String),
}

/// What a descriptor leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A socket on which connections come in.
    Listener,
    /// A connection that was accepted, and who made it.
    Client(String),
    /// A connection that was made, and to whom.
    Peer(String),
    /// A socket whose other end is not known.
    Unknown,
    Pipe,
    /// Something of the process's own that wakes it: a timer, a signal, a counter.
    Own,
    File,
}

/// How the workers of a program wait for work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Style {
    /// On a listening socket, or on many things at a time.
    #[default]
    Any,
    /// A child of php-fpm: in `accept` only; whatever else it waits for, it has a request in hand.
    Fpm,
    /// One for each connection, without an end to them: on its client. A database.
    Connection,
    /// The same, and waits for its client and for all else in `epoll_wait`: what is watched tells them apart. PostgreSQL.
    Backend,
    /// A child of Apache: also on the lock that decides which of them may accept.
    Apache,
}

impl Style {
    /// True of workers that serve one connection each.
    pub(super) const fn is_of_connections(self) -> bool {
        matches!(self, Self::Connection | Self::Backend)
    }
}

/// What is known of the thread besides its call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Worker {
    pub(super) style: Style,
    /// True if it is the first thread of a process that has more.
    pub(super) leads: bool,
    /// True if it was found with a client of its own.
    pub(super) talks: bool,
}

/// What has to be looked up, only where it matters.
pub(super) trait Lookup {
    /// What a descriptor of the process leads to.
    fn end(&mut self, fd: i32) -> End;
    /// The program that reads from the pipe at a descriptor; none when no other one is seen to.
    fn reader(&mut self, fd: i32) -> Option<String>;
    /// The descriptors that `poll` or `select` waits for; none when the process's memory is not shown.
    fn polled(&mut self, call: &Call) -> Option<Vec<i32>>;
    /// The descriptors that an epoll instance, which the call names, watches; none when they are not shown.
    fn watched(&mut self, call: &Call) -> Option<Vec<i32>>;
    /// The kernel's letter for the state.
    fn letter(&mut self) -> char;
    /// True if an address is that of a variable of the program itself, on neither heap nor stack.
    fn is_static(&mut self, address: u64) -> bool;
}

/// What a thread that waits in `call` counts as, with the kernel's letter.
pub(super) fn classify(call: &Call, worker: Worker, lookup: &mut impl Lookup) -> (State, char) {
    let named = |on: &str| (State::Blocked(on.to_owned()), SLEEPS);
    let idle = (State::Idle, SLEEPS);
    match call.name {
        "accept" | "accept4" => idle,
        "epoll_wait" | "epoll_pwait" | "epoll_pwait2" => match worker.style {
            Style::Fpm => named("events"),
            // It waits for another one, or for a time.
            Style::Backend if watches_no_client(call, lookup) => named(CONDITION),
            _ => idle,
        },
        "poll" | "ppoll" | "select" | "pselect6" => match lookup.polled(call) {
            Some(fds) if fds.is_empty() => named("sleep"),
            Some(fds) => {
                let ends = fds.into_iter().map(|fd| lookup.end(fd)).collect();
                (most_telling(ends, worker), SLEEPS)
            }
            None => named("socket"),
        },
        "read" | "readv" | "pread64" | "preadv" | "preadv2" | "recvfrom" | "recvmsg" | "recvmmsg" | "write"
        | "writev" | "pwrite64" | "pwritev" | "pwritev2" | "sendto" | "sendmsg" | "sendmmsg" | "sendfile"
        | "connect" => match lookup.end(call.descriptor(0)) {
            End::File => on_disk(lookup, "file"),
            End::Pipe if WRITES.contains(&call.name) => (full_pipe(lookup.reader(call.descriptor(0))), SLEEPS),
            end => (at(end, worker), SLEEPS),
        },
        "futex" => (futex(call, worker, lookup), SLEEPS),
        // Which of them may accept is a lock between processes.
        "semop" | "semtimedop" if worker.style == Style::Apache => idle,
        "semop" | "semtimedop" | "flock" | "fcntl" => named("lock"),
        "nanosleep" | "clock_nanosleep" => named("sleep"),
        "wait4" | "waitid" | "vfork" => named("child"),
        "rt_sigsuspend" | "rt_sigtimedwait" | "pause" => idle,
        "io_getevents" | "io_pgetevents" | "io_uring_enter" => match lookup.letter() {
            DISK => (State::Blocked("disk".to_owned()), DISK),
            letter => (State::Idle, letter),
        },
        // What cannot be woken here waits for the lock on its own address space.
        "mmap" | "munmap" | "mprotect" | "mremap" | "madvise" | "brk" => {
            (State::Blocked("memory".to_owned()), lookup.letter())
        }
        NO_CALL => on_disk(lookup, STOPPED),
        other => on_disk(lookup, other),
    }
}

/// Calls that wait at a pipe only while it is full.
const WRITES: [&str; 3] = ["write", "writev", "sendmsg"];

/// A pipe that is full waits for its reader, which is the program to look at.
pub(super) fn full_pipe(reader: Option<String>) -> State {
    State::Blocked(reader.map_or_else(|| FULL_PIPE.to_owned(), |reader| format!("{FULL_PIPE} to {reader}")))
}

/// True if it is known of an epoll instance that no client is among what it watches.
fn watches_no_client(call: &Call, lookup: &mut impl Lookup) -> bool {
    let watched = lookup.watched(call);
    watched.is_some_and(|fds| !fds.into_iter().any(|fd| matches!(lookup.end(fd), End::Client(_))))
}

/// Can be woken, which all are that wait for others than a disk.
const SLEEPS: char = 'S';
/// Cannot be woken: on its way to or from a disk.
const DISK: char = 'D';

/// The disk where the kernel says so, and something `else` otherwise.
fn on_disk(lookup: &mut impl Lookup, otherwise: &str) -> (State, char) {
    let letter = lookup.letter();
    (State::Blocked(if letter == DISK { "disk" } else { otherwise }.to_owned()), letter)
}

/// A thread that waits at one descriptor.
fn at(end: End, worker: Worker) -> State {
    match end {
        End::Listener | End::Own => State::Idle,
        // The first thread of many reads what tells it to stop.
        End::Pipe if worker.leads => State::Idle,
        End::Client(_) if worker.style.is_of_connections() => State::Idle,
        End::Client(name) if name.is_empty() => State::Blocked("client".to_owned()),
        End::Client(name) => State::Blocked(format!("client {name}")),
        End::Peer(name) => State::Blocked(name),
        End::Unknown => State::Blocked("socket".to_owned()),
        End::Pipe => State::Blocked("pipe".to_owned()),
        End::File => State::Blocked("file".to_owned()),
    }
}

/// A thread that waits at several: it is free when a new connection would wake it, and otherwise waits for another
/// program rather than for what it holds for its own use.
fn most_telling(ends: Vec<End>, worker: Worker) -> State {
    let rank = |end: &End| match end {
        End::Listener => 0,
        End::Peer(_) => 1,
        End::Client(_) => 2,
        End::Unknown => 3,
        End::Pipe | End::File => 4,
        End::Own => 5,
    };
    ends.into_iter().min_by_key(rank).map_or(State::Idle, |end| at(end, worker))
}

/// As much of its stack as a thread has used since it began to wait.
const FRAMES_BYTES: u64 = 16 * 1024;
/// What a thread waits for that another one does.
pub(super) const CONDITION: &str = "condition";

/// A thread that waits for another one: parked until there is work, or kept out by a lock.
fn futex(call: &Call, worker: Worker, lookup: &mut impl Lookup) -> State {
    const PRIVATE: u64 = 128;
    let [address, operation, value, ..] = call.arguments;
    let value = value as u32;
    let condition = || State::Blocked(CONDITION.to_owned());
    // Taken, with others waiting: 2 in glibc, Go and Rust; the highest bit in locks of glibc that name their owner, and in
    // those of InnoDB. All bits are a parked thread of Rust.
    let is_lock = value == 2 || value & 0x8000_0000 != 0 && value != u32::MAX;
    match worker.style {
        Style::Apache if operation & PRIVATE == 0 => State::Idle,
        _ if is_lock => State::Blocked("lock".to_owned()),
        // A database's thread waits for a time or for an answer at a place on its own stack, and for a row at one on the
        // heap. Where threads without a connection are kept is one place for all of them, a variable of the program; those
        // that write to disks or wait for the time of day are on the heap too, and have never had a client.
        Style::Connection if worker.leads => State::Idle,
        style if style.is_of_connections() && (call.stack..call.stack + FRAMES_BYTES).contains(&address) => condition(),
        style if style.is_of_connections() && worker.talks && !lookup.is_static(address) => condition(),
        _ => State::Idle,
    }
}

#[cfg(test)]
mod tests;
