//! Who calls whom, by the sockets of a moment: pure.
//!
//! Direction decides. A process that connects to the server's listening socket is a client of it; one to whose listening socket
//! the server connects works for it.

use crate::sockets::{Connection, UnixConnection};
use std::collections::BTreeSet;
use std::net::SocketAddr;

/// The sockets of a moment: all of this network namespace, whoever has them.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    /// Listening sockets for TCP, and where.
    pub(super) tcp_listeners: Vec<(u64, SocketAddr)>,
    /// Listening Unix sockets, and where.
    pub(super) unix_listeners: Vec<(u64, String)>,
    /// Both ends of each TCP connection.
    pub(super) tcp: Vec<Connection>,
    /// The accepted ends of connections over Unix sockets.
    pub(super) unix: Vec<UnixConnection>,
}

/// Listening sockets that somebody is connected to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Called {
    /// Where they listen.
    pub(super) at: String,
    /// The sockets; several where workers listen together.
    pub(super) listeners: BTreeSet<u64>,
}

impl Links {
    /// The listening sockets that the holder of the sockets `held` has connected to; those that it holds itself left out.
    pub(super) fn called_by(&self, held: &BTreeSet<u64>) -> BTreeSet<Called> {
        let outgoing =
            self.tcp.iter().filter(|one| held.contains(&one.inode) && self.listeners_at(one.here).is_empty());
        let by_tcp = outgoing.filter(|one| self.is_here(one)).map(|one| Called {
            at: SocketAddr::new(one.there.ip().to_canonical(), one.there.port()).to_string(),
            listeners: self.listeners_at(one.there),
        });
        let by_unix = self.unix.iter().filter(|one| held.contains(&one.client)).map(|one| {
            let listeners = self.unix_listeners.iter().filter(|(_, path)| *path == one.at);
            Called { at: format!("unix:{}", one.at), listeners: listeners.map(|(inode, _)| *inode).collect() }
        });
        let all = by_tcp.chain(by_unix);
        all.filter(|called| !called.listeners.is_empty() && called.listeners.is_disjoint(held)).collect()
    }

    /// True if the other end of a connection is on this machine too.
    fn is_here(&self, one: &Connection) -> bool {
        one.there.ip().to_canonical().is_loopback()
            || self.tcp.iter().any(|other| (other.here, other.there) == (one.there, one.here))
    }

    /// The sockets that get the connections to an address: the most specific ones.
    fn listeners_at(&self, address: SocketAddr) -> BTreeSet<u64> {
        let wanted = address.ip().to_canonical();
        let rank = |listener: SocketAddr| match listener.ip() {
            _ if listener.port() != address.port() => None,
            ip if ip.to_canonical() == wanted => Some(0),
            ip if ip.is_unspecified() && ip.is_ipv4() == wanted.is_ipv4() => Some(1),
            ip if ip.is_unspecified() && ip.is_ipv6() => Some(2),
            _ => None,
        };
        let Some(best) = self.tcp_listeners.iter().filter_map(|(_, at)| rank(*at)).min() else {
            return BTreeSet::new();
        };
        self.tcp_listeners.iter().filter(|(_, at)| rank(*at) == Some(best)).map(|(inode, _)| *inode).collect()
    }
}

/// True if a process that nobody but init has started is part of the server's service: both are in one unit of systemd, which
/// plimsoll is not in. What a terminal or a cron job has started there is no part of it.
pub(super) fn is_same_service(server: Option<&str>, own: Option<&str>, process: Option<&str>, ppid: i32) -> bool {
    let is_service = |path: &str| path.ends_with(".service");
    ppid == 1 && server.is_some_and(is_service) && process == server && own != server
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    /// Both ends of a connection.
    fn connection(client: (u64, &str), server: (u64, &str)) -> [Connection; 2] {
        let (near, far) = (at(client.1), at(server.1));
        [Connection { inode: client.0, here: near, there: far }, Connection { inode: server.0, here: far, there: near }]
    }

    /// A load generator (1) on a server (socket 10, connection 11), which calls one backend over TCP (socket 20) and one over a
    /// Unix socket (30). The first of these calls a database (40).
    fn links() -> Links {
        let tcp = [
            connection((1, "127.0.0.1:50001"), (11, "127.0.0.1:80")),
            connection((12, "127.0.0.1:50002"), (21, "127.0.0.1:9000")),
            connection((22, "[::ffff:127.0.0.1]:50003"), (41, "[::ffff:127.0.0.1]:3306")),
        ];
        let listeners = [(10, "0.0.0.0:80"), (20, "127.0.0.1:9000"), (29, "0.0.0.0:9000"), (40, "[::]:3306")];
        Links {
            tcp_listeners: listeners.map(|(inode, text)| (inode, at(text))).into(),
            unix_listeners: vec![(30, "/run/app.sock".into()), (31, "/run/other.sock".into())],
            tcp: tcp.concat(),
            unix: vec![UnixConnection { at: "/run/app.sock".into(), client: 13 }],
        }
    }

    #[track_caller]
    fn called(held: &[u64]) -> Vec<(String, Vec<u64>)> {
        let all = links().called_by(&held.iter().copied().collect());
        all.into_iter().map(|called| (called.at, called.listeners.into_iter().collect())).collect()
    }

    #[test]
    fn who_is_connected_to_works_for_the_server_and_who_connects_to_it_does_not() {
        let server = [10, 11, 12, 13];
        let expected = [("127.0.0.1:9000".to_owned(), vec![20]), ("unix:/run/app.sock".to_owned(), vec![30])];
        assert_eq!(called(&server), expected, "neither the load generator nor the one who listens there less exactly");
        assert_eq!(called(&[20, 21, 22]), [("127.0.0.1:3306".to_owned(), vec![40])], "the backend's own");
        assert_eq!(called(&[40, 41]), [], "the database calls nobody");
        assert_eq!(called(&[]), []);
    }

    #[test]
    fn who_calls_itself_is_no_other_program() {
        assert_eq!(called(&[10, 11, 12, 20, 21]), []);
    }

    #[test]
    fn a_connection_to_another_machine_is_none_to_who_listens_on_that_port_here() {
        let mut links = links();
        links.tcp.push(Connection { inode: 14, here: at("10.0.0.1:50004"), there: at("10.0.0.2:80") });
        assert_eq!(links.called_by(&[14].into()), BTreeSet::new());
    }

    #[test]
    fn workers_that_listen_together_are_called_together() {
        let mut links = links();
        links.tcp_listeners.push((24, at("127.0.0.1:9000")));
        let called = links.called_by(&[12].into());
        assert_eq!(called.into_iter().next().unwrap().listeners, [20, 24].into());
    }

    #[test]
    fn a_service_has_what_init_alone_has_started_in_it() {
        let (web, cron) = (Some("/system.slice/web.service"), Some("/system.slice/cron.service"));
        assert!(is_same_service(web, cron, web, 1));
        assert!(!is_same_service(web, cron, web, 7), "it has a parent: a job of cron beside a server of cron");
        assert!(!is_same_service(web, cron, cron, 1));
        assert!(!is_same_service(web, web, web, 1), "plimsoll is in it too: it tells nothing apart");
        let session = Some("/user.slice/session-3.scope");
        assert!(!is_same_service(session, cron, session, 1) && !is_same_service(None, None, None, 1));
    }
}
