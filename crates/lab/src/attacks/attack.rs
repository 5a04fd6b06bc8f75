//! The attacks.

/// Twice as many as the server may have files open.
const ALL: usize = 20_000;
/// Addresses of many clients.
const MANY: usize = 20;

/// Connections that are held open and never read.
#[derive(Debug)]
pub(super) struct Attack {
    pub(super) name: &'static str,
    /// What each of them does, for the page.
    pub(super) does: &'static str,
    pub(super) connections: usize,
    /// Client addresses that they come from, in equal parts.
    pub(super) addresses: usize,
    /// Sent once.
    pub(super) first: &'static str,
    /// Sent each second after that, as far as it is taken.
    pub(super) then: &'static str,
    /// Opened again when the server ends it.
    pub(super) comes_back: bool,
}

const NONE: Attack =
    Attack { name: "", does: "", connections: ALL, addresses: 1, first: "", then: "", comes_back: false };
const HEAD: Attack = Attack { first: "GET /bytes/64 HTTP/1.1\r\nHost: t\r\n", then: "X", ..NONE };
const BODY: Attack =
    Attack { first: "POST /upload HTTP/1.1\r\nHost: t\r\nContent-Length: 1000000\r\n\r\n", then: "x", ..NONE };

pub(super) const ATTACKS: [Attack; 8] = [
    Attack { name: "silence", does: "sends nothing", ..NONE },
    Attack { name: "silence of many", does: "sends nothing", addresses: MANY, ..NONE },
    Attack { name: "slow head", does: "sends a byte of its request head each second (slowloris)", ..HEAD },
    Attack { name: "slow head of many", does: "sends a byte of its request head each second", addresses: MANY, ..HEAD },
    Attack {
        name: "slow head, again",
        does: "the same, and connects again when it is closed",
        comes_back: true,
        ..HEAD
    },
    Attack { name: "slow body", does: "sends a byte of its request body each second", ..BODY },
    Attack {
        name: "unread pipeline",
        does: "sends requests for 8 kB, as many as are taken, and reads nothing",
        connections: 1_000,
        first: "GET /bytes/8000 HTTP/1.1\r\nHost: t\r\n\r\n",
        then: "GET /bytes/8000 HTTP/1.1\r\nHost: t\r\n\r\n",
        ..NONE
    },
    Attack {
        name: "unread body",
        does: "asks for 1 GiB and reads nothing",
        connections: 1_000,
        first: "GET /bytes/1GiB HTTP/1.1\r\nHost: t\r\n\r\n",
        ..NONE
    },
];
